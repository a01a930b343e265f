import { GOVERNANCE_TOPICS, type EventTopic } from '@reeve/contract'
import type { Caller } from '../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../model/index.ts'
import { organizationOfEvent, type EventRef } from '../state/index.ts'
import type { WorkloadContext } from '../workload/index.ts'
import type { Authenticator } from '../workload/index.ts'
import type { EventBroker, EventSink } from './event-broker.ts'

interface EventStreamRequest {
  readonly topics: readonly string[] | undefined
  readonly namespace: string
  readonly fromIndex: number
  readonly secret: string | undefined
  /** Yields the event loop while the backlog is read. */
  readonly yieldToEventLoop: () => Promise<void>
}

/** An authorized stream that is not open yet: headers are sent in between. */
interface PreparedStream {
  /**
   * Sends the backlog and then new events. Returns the function that closes the stream for the
   * reader.
   */
  readonly open: (sink: EventSink) => () => void
}

export interface EventStreams {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly broker: EventBroker
  /** Open streams by accessor. */
  readonly slots: TenantSlots
  /** Finds the organization of an organization token, which follows that organization only. */
  readonly findOrganization: (secret: string) => OrganizationSubscriber | undefined
}

/** Holder of an organization token of the governance API. */
interface OrganizationSubscriber {
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
  request: EventStreamRequest,
): Result<PreparedStream, Refusal> {
  const selectors = parseTopics(request.topics)
  if (!selectors.ok) return selectors
  const namespaces = requestedNamespaces(streams.context, request.namespace)
  const reader = authorizeReader(streams, request, { selectors: selectors.value, namespaces })
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
interface EventReader {
  readonly accessorId: string
  /** Readers with the same permissions share lines. */
  readonly permissionsKey: string
  readonly isLimited: boolean
  readonly expiresMs: number | undefined
  readonly mayRead: (event: EventRef) => boolean
}

interface StreamSelection {
  readonly selectors: readonly TopicSelector[]
  /** The requested namespaces; with `*`, those that existed when the stream was opened. */
  readonly namespaces: readonly string[]
}

/**
 * Finds the reader by a token of `/v1`, or of an organization of `/api/v2`. The error text is the
 * reason for ending the stream.
 */
function authorizeReader(
  streams: EventStreams,
  { secret, namespace }: EventStreamRequest,
  { selectors, namespaces }: StreamSelection,
): Result<EventReader, string> {
  const caller = streams.authenticator.authenticate(secret)
  const organization =
    !caller.ok && secret !== undefined ? streams.findOrganization(secret) : undefined
  if (organization !== undefined)
    return mayOrganizationStream(selectors)
      ? ok(organizationReader(organization))
      : err(ACCESS_REVOKED)
  if (!caller.ok) return err(caller.error.message)
  if (!mayStream(caller.value, selectors, namespaces)) return err(ACCESS_REVOKED)
  const { accessorId, expiresMs, grants, type } = caller.value
  return ok({
    accessorId,
    // A client token shares lines only with streams of the same token.
    permissionsKey: grants.isManagement ? 'management' : accessorId,
    isLimited: type !== 'disabled',
    expiresMs,
    mayRead: (event) => mayReadEvent(caller.value, namespace, event),
  })
}

const ACCESS_REVOKED = 'subscription closed by server, client should resubscribe'

function organizationReader(reader: OrganizationSubscriber): EventReader {
  const { organizationId, tokenId, expiresMs } = reader
  return {
    accessorId: tokenId,
    permissionsKey: organizationId,
    isLimited: true,
    expiresMs,
    mayRead: (event) => organizationOfEvent(event) === organizationId,
  }
}

interface StreamOpening extends StreamSelection {
  readonly request: EventStreamRequest
  readonly reader: EventReader
  readonly sink: EventSink
}

function openStream(streams: EventStreams, opening: StreamOpening): () => void {
  const { request, selectors, reader, sink } = opening
  const { accessorId } = reader
  streams.slots.acquire(accessorId)
  let open = true
  const releaseSlot = (): void => {
    if (!open) return
    open = false
    streams.slots.release(accessorId)
  }
  const closeStream = streams.broker.open(
    {
      groupKey: JSON.stringify([selectors, request.namespace, reader.permissionsKey]),
      matches: (event) => matches(opening, event),
      recheckAccess: () => recheckAccess(streams, opening),
      expiresMs: reader.expiresMs,
      yieldToEventLoop: request.yieldToEventLoop,
      sink: {
        ...sink,
        end: (lastLine) => {
          releaseSlot()
          sink.end(lastLine)
        },
      },
    },
    request.fromIndex,
  )
  return () => {
    releaseSlot()
    closeStream()
  }
}

function matches({ reader, selectors }: StreamOpening, event: EventRef): boolean {
  return reader.mayRead(event) && selectors.some((selector) => matchesSelector(selector, event))
}

function mayReadEvent(caller: Caller, namespace: string, event: EventRef): boolean {
  if (event.Namespace === '') return true
  if (namespace !== '*' && namespace !== event.Namespace) return false
  if (!mayRead(caller, event.Topic, [event.Namespace])) return false
  return event.Topic !== 'Variable' || caller.grants.variable(event.Namespace, event.Key, 'list')
}

/**
 * Returns the reason for ending a stream: its token was deleted, has expired, or lost a permission.
 */
function recheckAccess(streams: EventStreams, opening: StreamOpening): string | undefined {
  const reader = authorizeReader(streams, opening.request, opening)
  return reader.ok ? undefined : reader.error
}

function requestedNamespaces(context: WorkloadContext, namespace: string): readonly string[] {
  return namespace === '*' ? [...context.store.tables.namespaces.keys()] : [namespace]
}

/** One `topic` parameter: a topic and a key, each possibly `*`. */
interface TopicSelector {
  readonly topic: string
  readonly key: string
  /** Restricts a topic to one event type, for topics that are types of another topic. */
  readonly type?: string
}

const ALL_TOPICS: TopicSelector = { topic: '*', key: '*' }

/** Topic names that are accepted on subscribing only. */
const TOPIC_ALIASES: Readonly<Record<string, Omit<TopicSelector, 'key'>>> = {
  NodeDrain: { topic: 'Node', type: 'NodeDrain' },
  ACLRoles: { topic: 'ACLRole' },
}

/** Parses repeated `Topic` or `Topic:key` parameters; none selects everything. */
function parseTopics(
  topics: readonly string[] | undefined,
): Result<readonly TopicSelector[], Refusal> {
  if (topics === undefined || topics.length === 0) return ok([ALL_TOPICS])
  const selectors: TopicSelector[] = []
  for (const text of topics) {
    const [topic = '', key = '*', ...rest] = text.split(':')
    if (rest.length > 0)
      return err(
        refusal(
          'invalid-input',
          'Invalid topic query: error parsing topics: ' +
            `Invalid key value pair for topic, topic: ${text}`,
        ),
      )
    const alias = Object.hasOwn(TOPIC_ALIASES, topic) ? TOPIC_ALIASES[topic] : undefined
    selectors.push({ ...(alias ?? { topic }), key })
  }
  return ok(selectors)
}

/** Matches a key against an event's `Key` and `FilterKeys`, exactly. */
function matchesSelector(selector: TopicSelector, event: EventRef): boolean {
  if (selector.topic !== '*' && selector.topic !== event.Topic) return false
  if (selector.type !== undefined && selector.type !== event.Type) return false
  if (selector.key === '*' || selector.key === event.Key) return true
  return event.FilterKeys?.includes(selector.key) ?? false
}

type TopicPermission = 'read-job' | 'host-volume-read' | 'node-read' | 'variables' | 'management'

/** Required capability by topic. Topics that are not listed require a management token. */
const TOPIC_PERMISSIONS: { readonly [T in EventTopic]?: TopicPermission } = {
  Allocation: 'read-job',
  Deployment: 'read-job',
  Evaluation: 'read-job',
  HostVolume: 'host-volume-read',
  Job: 'read-job',
  Service: 'read-job',
  Node: 'node-read',
  Variable: 'variables',
  PolicyVerdict: 'read-job',
}

function permissionFor(topic: string): TopicPermission {
  // An unknown topic is not in the table and so requires management.
  return (
    (Object.hasOwn(TOPIC_PERMISSIONS, topic)
      ? TOPIC_PERMISSIONS[topic as EventTopic]
      : undefined) ?? 'management'
  )
}

/**
 * Reports whether the caller may follow these topics in these namespaces. All or nothing: the
 * capability is required in every requested namespace.
 */
function mayStream(
  caller: Caller,
  selectors: readonly TopicSelector[],
  namespaces: readonly string[],
): boolean {
  return selectors.every(({ topic }) => mayRead(caller, topic, namespaces))
}

const ORGANIZATION_TOPICS: ReadonlySet<string> = new Set([...GOVERNANCE_TOPICS, ALL_TOPICS.topic])

/**
 * Reports whether an organization token may follow these topics. `*` selects the events of the
 * organization and its objects.
 */
function mayOrganizationStream(selectors: readonly TopicSelector[]): boolean {
  return selectors.every(({ topic }) => ORGANIZATION_TOPICS.has(topic))
}

/**
 * Applies the same rule to one event, so that a stream opened with `*` never shows a namespace
 * added later.
 */
function mayRead(caller: Caller, topic: string, namespaces: readonly string[]): boolean {
  const { grants } = caller
  if (grants.isManagement) return true
  const rule = permissionFor(topic)
  if (rule === 'management') return false
  if (rule === 'node-read') return grants.node('read')
  // Access to any variable opens the stream; each event is checked by its own path.
  if (rule === 'variables')
    return namespaces.every((namespace) => grants.allowsAnyVariable(namespace, 'list'))
  return namespaces.every((namespace) => grants.allows(namespace, rule))
}
