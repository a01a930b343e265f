import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { EventMark } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { Authenticator } from '../acl/authenticate.ts'
import type { EventHub, Sink } from './hub.ts'
import { mayRead, mayStream, parseTopics, selects, type TopicSelector } from './topics.ts'

export interface StreamRequest {
  readonly topics: readonly string[] | undefined
  readonly namespace: string
  readonly fromIndex: number
  readonly secret: string | undefined
}

/** An authorised stream that is not open yet: headers go out between the two. */
export interface ReadyStream {
  /**
   * Sends the backlog and then what happens. Returns the way to close it from the reader's side.
   */
  readonly open: (sink: Sink) => () => void
}

export interface EventStreams {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly hub: EventHub
  /** Streams open per accessor. */
  readonly openByAccessor: Map<string, number>
}

/**
 * Spec W: Event stream. Authorises first, so that a refusal is a status and not a broken stream.
 */
export function prepareStream(
  streams: EventStreams,
  request: StreamRequest,
): Result<ReadyStream, Refusal> {
  const selectors = parseTopics(request.topics)
  if (!selectors.ok) return selectors
  const caller = streams.authenticator.authenticate(request.secret)
  // Reference §5.1: an expired token is told apart from an unknown one only when a stream ends.
  if (!caller.ok) return err(PERMISSION_DENIED)
  const namespaces = namespacesOf(streams.context, request.namespace)
  if (!mayStream(caller.value, selectors.value, namespaces)) return err(PERMISSION_DENIED)
  const { accessorId } = caller.value
  // Without ACLs there are no tokens to tell readers apart by.
  const isLimited = caller.value.type !== 'disabled'
  if (isLimited && (streams.openByAccessor.get(accessorId) ?? 0) >= LIMITS.streamsPerTokenMax)
    return err(
      refusal(
        'too-many-streams',
        `this token has ${LIMITS.streamsPerTokenMax} event streams open; close one first`,
      ),
    )
  return ok({
    open: (sink) =>
      openStream(streams, {
        request,
        selectors: selectors.value,
        namespaces,
        caller: caller.value,
        sink,
      }),
  })
}

interface Opening {
  readonly request: StreamRequest
  readonly selectors: readonly TopicSelector[]
  /** Those that were asked for; with `*`, those that existed then (reference §5.5). */
  readonly namespaces: readonly string[]
  readonly caller: Caller
  readonly sink: Sink
}

function openStream(streams: EventStreams, opening: Opening): () => void {
  const { request, selectors, caller, sink } = opening
  const { openByAccessor } = streams
  const { accessorId } = caller
  openByAccessor.set(accessorId, (openByAccessor.get(accessorId) ?? 0) + 1)
  let open = true
  const closed = (): void => {
    if (!open) return
    open = false
    const left = (openByAccessor.get(accessorId) ?? 1) - 1
    if (left > 0) openByAccessor.set(accessorId, left)
    else openByAccessor.delete(accessorId)
  }
  const drop = streams.hub.open(
    {
      signature: JSON.stringify([selectors, request.namespace, rightsKey(caller)]),
      wants: (event) => wants(opening, event),
      refusalNow: () => refusalNow(streams, opening),
      expiresMs: caller.expiresMs,
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

/** Callers with the same rights may share lines; a client token shares only with itself. */
function rightsKey(caller: Caller): string {
  return caller.grants.isManagement ? 'management' : caller.accessorId
}

function wants({ request, selectors, caller }: Opening, event: EventMark): boolean {
  if (event.Namespace !== '') {
    if (request.namespace !== '*' && request.namespace !== event.Namespace) return false
    if (!mayRead(caller, event.Topic, [event.Namespace])) return false
    if (event.Topic === 'Variable' && !caller.grants.variable(event.Namespace, event.Key, 'list'))
      return false
  }
  return selectors.some((selector) => selects(selector, event))
}

/** Reference §5.5: a deleted, expired or weakened token ends its streams. */
function refusalNow(streams: EventStreams, opening: Opening): string | undefined {
  const { request, selectors, namespaces } = opening
  const caller = streams.authenticator.authenticate(request.secret)
  if (!caller.ok) return caller.error.message
  if (mayStream(caller.value, selectors, namespaces)) return undefined
  return 'subscription closed by server, client should resubscribe'
}

function namespacesOf(context: WorkloadContext, namespace: string): readonly string[] {
  return namespace === '*' ? [...context.store.tables.namespaces.keys()] : [namespace]
}
