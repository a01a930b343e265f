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
import { jsonObjects } from './json-stream.ts'
import { LIMITS } from '../limits.ts'
import { Retries, type RetryOptions } from '../retry.ts'
import { splitLines } from './splitters.ts'

type TopicName = EventTopic | keyof typeof EVENT_TOPIC_ALIASES | typeof ANY_TOPIC

/** `Job`, or `Job:web` for the events of one key. */
export type TopicFilter = TopicName | `${TopicName}:${string}`

export interface EventsRequest extends RetryOptions {
  /** All topics when absent. */
  readonly topics?: readonly TopicFilter[] | undefined
  readonly namespace?: string | undefined
  readonly region?: string | undefined
  /** Where to begin; 0 or absent sends all that the server keeps. */
  readonly index?: number | undefined
  /** Connects again when the stream ends or breaks, and goes on after the last index it read. */
  readonly reconnect?: boolean | undefined
  /** Also gives the empty lines that only say that the connection lives. */
  readonly heartbeats?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One line of the stream: the events of one commit. `Gap` names commits that are lost, `Closed`
 * says why the server ends the stream; its `Index` is where to begin the next one.
 */
export type EventStreamLine = EventLine & { readonly Closed?: string }

/** The lines of the event stream. Ends when the server ends it, or never with `reconnect`. */
export async function* followEvents(
  connection: Connection,
  request: EventsRequest,
): AsyncGenerator<EventStreamLine> {
  const retries = new Retries(connection, request)
  const position: Position = { index: request.index ?? 0, hasBegun: false }
  for (;;) {
    let failure: unknown
    try {
      yield* linesOnce(connection, request, { position, retries })
    } catch (error) {
      if (request.reconnect !== true || !position.hasBegun) throw error
      failure = error
    }
    if (request.reconnect !== true) return
    await retries.failed(failure ?? endedError(connection))
  }
}

interface Position {
  /** The first index that has not been read. */
  index: number
  /** A wrong address or token looks like a server that is away, until one connection has worked. */
  hasBegun: boolean
}

interface Progress {
  readonly position: Position
  readonly retries: Retries
}

async function* linesOnce(
  connection: Connection,
  request: EventsRequest,
  { position, retries }: Progress,
): AsyncGenerator<EventStreamLine> {
  const splitter = splitLines(LIMITS.eventLineCharsMax)
  let count = 0
  for await (const value of jsonObjects(connection, callOf(request, position.index), splitter)) {
    // Lines are made by the contract that this package is made from.
    const line = value as EventStreamLine
    position.index = nextIndexAfter(line, position.index)
    position.hasBegun = true
    count += 1
    // A server greets with a heartbeat at once: only the second line is a sign of health.
    if (count > 1 && line.Closed === undefined) retries.succeeded()
    if (request.heartbeats === true || !isHeartbeat(line)) yield line
  }
}

function callOf(request: EventsRequest, index: number): Call {
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

/** Whether the event is of this topic; then its payload is known. */
export function isEventOf<T extends EventTopic>(event: Event, topic: T): event is EventOf<T> {
  return event.Topic === topic
}
