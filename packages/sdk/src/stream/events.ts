import type {
  ANY_TOPIC,
  Event,
  EventLine,
  EventOf,
  EventTopic,
  EVENT_TOPIC_ALIASES,
} from '@reeve/contract'
import type { Call, Connection } from '../call/connection.ts'
import { streamEvents } from '../called-routes.ts'
import { ConnectionError } from '../errors.ts'
import { jsonObjects, splitLines } from './json-stream.ts'
import { LIMITS } from '../limits.ts'
import { Retries, type RetryOptions } from '../retry.ts'

type TopicName = EventTopic | keyof typeof EVENT_TOPIC_ALIASES | typeof ANY_TOPIC

/** `Job`, or `Job:web` for the events of one key. */
export type TopicFilter = TopicName | `${TopicName}:${string}`

export interface EventsRequest extends RetryOptions {
  /** All topics if absent. */
  readonly topics?: readonly TopicFilter[] | undefined
  readonly namespace?: string | undefined
  readonly region?: string | undefined
  /** Index of the first event; 0 or absent for all buffered events. */
  readonly index?: number | undefined
  /** Reconnects when the stream ends or breaks, and resumes after the last index. */
  readonly reconnect?: boolean | undefined
  /** Also yields heartbeats: empty lines that keep the connection alive. */
  readonly heartbeats?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One line of the stream: the events of one commit. `Gap` reports missed commits. `Closed` is the
 * reason why the server ends the stream; `Index` is where to resume then.
 */
export type EventStreamLine = EventLine & { readonly Closed?: string }

/** Yields the lines of the event stream. With `reconnect` it never ends. */
export async function* followEvents(
  connection: Connection,
  request: EventsRequest,
): AsyncGenerator<EventStreamLine> {
  const retries = new Retries(connection, request)
  const position: StreamPosition = { index: request.index ?? 0, hasConnected: false }
  for (;;) {
    let failure: unknown
    try {
      yield* readLines(connection, request, { position, retries })
    } catch (error) {
      if (request.reconnect !== true || !position.hasConnected) throw error
      failure = error
    }
    if (request.reconnect !== true) return
    await retries.waitForRetry(failure ?? endedError(connection))
  }
}

interface StreamPosition {
  /** Index at which to resume. */
  index: number
  /** Whether a connection has succeeded; before that, errors are not retried. */
  hasConnected: boolean
}

interface StreamProgress {
  readonly position: StreamPosition
  readonly retries: Retries
}

async function* readLines(
  connection: Connection,
  request: EventsRequest,
  { position, retries }: StreamProgress,
): AsyncGenerator<EventStreamLine> {
  const splitter = splitLines(LIMITS.eventLineCharsMax)
  let count = 0
  for await (const value of jsonObjects(
    connection,
    eventsCall(request, position.index),
    splitter,
  )) {
    // The server serializes lines by the same contract.
    const line = value as EventStreamLine
    position.index = nextIndexAfter(line, position.index)
    position.hasConnected = true
    count += 1
    // The first line is an immediate heartbeat; only the second one proves a working stream.
    if (count > 1 && line.Closed === undefined) retries.reset()
    if (request.heartbeats === true || !isHeartbeat(line)) yield line
  }
}

function eventsCall(request: EventsRequest, index: number): Call {
  const { topics, namespace, region, signal } = request
  const query = { topic: topics, namespace, region, index }
  return { route: streamEvents, request: { query, signal } }
}

function nextIndexAfter({ Index }: EventStreamLine, index: number): number {
  return Index !== undefined && Number.isSafeInteger(Index) ? Index + 1 : index
}

function isHeartbeat({ Events, Gap, Closed }: EventStreamLine): boolean {
  return Closed === undefined && Gap === undefined && (Events ?? []).length === 0
}

function endedError({ address }: Connection): ConnectionError {
  const message = `${address} ended the event stream.`
  return new ConnectionError({ reason: 'cut', address, message })
}

/** Reports whether the event has this topic, which determines the type of its payload. */
export function isEventOf<T extends EventTopic>(event: Event, topic: T): event is EventOf<T> {
  return event.Topic === topic
}
