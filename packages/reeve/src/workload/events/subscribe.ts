import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { organizationOfEvent, type EventMark } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { Authenticator } from '../acl/authenticate.ts'
import type { EventHub, Sink } from './hub.ts'
import {
  mayRead,
  mayStream,
  mayStreamGoverned,
  parseTopics,
  selects,
  type TopicSelector,
} from './topics.ts'

export interface StreamRequest {
  readonly topics: readonly string[] | undefined
  readonly namespace: string
  readonly fromIndex: number
  readonly secret: string | undefined
  /** Yields the event loop while the backlog is read. */
  readonly yieldTurn: () => Promise<void>
}

/** An authorized stream that is not open yet: headers are sent in between. */
export interface ReadyStream {
  /**
   * Sends the backlog and then new events. Returns the function that closes the stream for the
   * reader.
   */
  readonly open: (sink: Sink) => () => void
}

export interface EventStreams {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly hub: EventHub
  /** Open streams by accessor. */
  readonly slots: TenantSlots
  /** Finds the organization of an organization token, which follows that organization only. */
  readonly findOrganization: (secret: string) => OrganizationReader | undefined
}

/** Holder of an organization token of the governance API. */
export interface OrganizationReader {
  readonly organizationId: string
  readonly tokenId: string
  /** Expiration time of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}

/**
 * Authorizes a stream before it is opened, so that a refusal is an HTTP status instead of a broken
 * stream.
 */
export function prepareStream(
  streams: EventStreams,
  request: StreamRequest,
): Result<ReadyStream, Refusal> {
  const selectors = parseTopics(request.topics)
  if (!selectors.ok) return selectors
  const namespaces = namespacesOf(streams.context, request.namespace)
  const reader = findReader(streams, request, { selectors: selectors.value, namespaces })
  // Expired and unknown tokens are distinguished only when a stream ends.
  if (!reader.ok) return err(PERMISSION_DENIED)
  const { accessorId } = reader.value
  // Without ACLs there are no tokens to distinguish readers.
  const isLimited = reader.value.isLimited
  if (isLimited && streams.slots.isFull(accessorId))
    return err(tooManyEventStreams(streams.slots.perTenantMax))
  return ok({
    open: (sink) =>
      openStream(streams, {
        request,
        selectors: selectors.value,
        namespaces,
        reader: reader.value,
        sink,
      }),
  })
}

function tooManyEventStreams(max: number): Refusal {
  return refusal(
    'too-many-streams',
    `${max} event streams of this token are open (limits.event_streams_per_token); close one first`,
  )
}

/** The reader of a stream, with its selection. */
interface StreamReader {
  readonly accessorId: string
  /** Readers with the same permissions share lines. */
  readonly rightsKey: string
  readonly isLimited: boolean
  readonly expiresMs: number | undefined
  readonly mayRead: (event: EventMark) => boolean
}

interface Asked {
  readonly selectors: readonly TopicSelector[]
  /** The requested namespaces; with `*`, those that existed when the stream was opened. */
  readonly namespaces: readonly string[]
}

/**
 * Finds the reader by a token of `/v1`, or of an organization of `/api/v2`. The error text is the
 * reason for ending the stream.
 */
function findReader(
  streams: EventStreams,
  { secret, namespace }: StreamRequest,
  { selectors, namespaces }: Asked,
): Result<StreamReader, string> {
  const caller = streams.authenticator.authenticate(secret)
  const organization =
    !caller.ok && secret !== undefined ? streams.findOrganization(secret) : undefined
  if (organization !== undefined)
    return mayStreamGoverned(selectors) ? ok(organizationReader(organization)) : err(LOST)
  if (!caller.ok) return err(caller.error.message)
  if (!mayStream(caller.value, selectors, namespaces)) return err(LOST)
  const { accessorId, expiresMs, grants, type } = caller.value
  return ok({
    accessorId,
    // A client token shares lines only with streams of the same token.
    rightsKey: grants.isManagement ? 'management' : accessorId,
    isLimited: type !== 'disabled',
    expiresMs,
    mayRead: (event) => mayReadEvent(caller.value, namespace, event),
  })
}

const LOST = 'subscription closed by server, client should resubscribe'

function organizationReader(reader: OrganizationReader): StreamReader {
  const { organizationId, tokenId, expiresMs } = reader
  return {
    accessorId: tokenId,
    rightsKey: organizationId,
    isLimited: true,
    expiresMs,
    mayRead: (event) => organizationOfEvent(event) === organizationId,
  }
}

interface Opening extends Asked {
  readonly request: StreamRequest
  readonly reader: StreamReader
  readonly sink: Sink
}

function openStream(streams: EventStreams, opening: Opening): () => void {
  const { request, selectors, reader, sink } = opening
  const { accessorId } = reader
  streams.slots.acquire(accessorId)
  let open = true
  const closed = (): void => {
    if (!open) return
    open = false
    streams.slots.release(accessorId)
  }
  const drop = streams.hub.open(
    {
      signature: JSON.stringify([selectors, request.namespace, reader.rightsKey]),
      wants: (event) => wants(opening, event),
      refusalNow: () => refusalNow(streams, opening),
      expiresMs: reader.expiresMs,
      yieldTurn: request.yieldTurn,
      sink: {
        ...sink,
        end: (lastLine) => {
          closed()
          sink.end(lastLine)
        },
      },
    },
    request.fromIndex,
  )
  return () => {
    closed()
    drop()
  }
}

function wants({ reader, selectors }: Opening, event: EventMark): boolean {
  return reader.mayRead(event) && selectors.some((selector) => selects(selector, event))
}

function mayReadEvent(caller: Caller, namespace: string, event: EventMark): boolean {
  if (event.Namespace === '') return true
  if (namespace !== '*' && namespace !== event.Namespace) return false
  if (!mayRead(caller, event.Topic, [event.Namespace])) return false
  return event.Topic !== 'Variable' || caller.grants.variable(event.Namespace, event.Key, 'list')
}

/**
 * Returns the reason for ending a stream: its token was deleted, has expired, or lost a permission.
 */
function refusalNow(streams: EventStreams, opening: Opening): string | undefined {
  const reader = findReader(streams, opening.request, opening)
  return reader.ok ? undefined : reader.error
}

function namespacesOf(context: WorkloadContext, namespace: string): readonly string[] {
  return namespace === '*' ? [...context.store.tables.namespaces.keys()] : [namespace]
}
