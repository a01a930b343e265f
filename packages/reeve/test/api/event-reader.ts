import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { EventLine, EventPayloads, type Event, type EventTopic } from '@reeve/contract'
import { schemaErrors } from '../build/schema-errors.ts'
import type { CallOptions, TestServer } from './harness.ts'

/** A stream that is read over a real connection, line by line, each held against the contract. */
export interface EventReader {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly response: IncomingMessage
  readonly lines: readonly EventLine[]
  /** The events so far, in order. */
  readonly events: () => readonly Event[]
  /** The first line that is wanted, whether it came already or not. */
  readonly line: (isWanted: (line: EventLine) => boolean) => Promise<EventLine>
  /** Waits for so many events, and fails when more come with them. */
  readonly take: (count: number) => Promise<readonly Event[]>
  /** Waits for so many heartbeats in all: whatever was sent before the last has come then. */
  readonly heartbeats: (count: number) => Promise<void>
  /** Why the server ended it. */
  readonly closed: () => Promise<string | undefined>
  /** The reader goes. */
  readonly leave: () => void
}

export interface StreamOptions {
  readonly topics?: readonly string[]
  readonly query?: Readonly<Record<string, string | number>>
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Reads nothing until `response.resume()`. */
  readonly isPaused?: boolean
}

/** A server that listens, and is closed with its streams when the test ends. */
export async function aListening(t: TestContext, server: TestServer) {
  const address = await server.listen()
  const readers: EventReader[] = []
  t.after(async () => {
    for (const reader of readers) reader.leave()
    await server.close()
  })
  return {
    address,
    server,
    /** Opens a stream and waits for its first line. */
    open: async (options: StreamOptions = {}): Promise<EventReader> => {
      const reader = await openStream(address, options)
      readers.push(reader)
      if (reader.status === 200 && options.isPaused !== true) await reader.line(() => true)
      return reader
    },
    /** Sends on what streams gather; they wait a millisecond for more. */
    flush: (): void => server.clock.advance(1),
  }
}

async function openStream(address: string, options: StreamOptions): Promise<EventReader> {
  const search = new URLSearchParams(
    (options.topics ?? []).map((topic): [string, string] => ['topic', topic]),
  )
  for (const [name, value] of Object.entries(options.query ?? {})) search.set(name, String(value))
  const token: CallOptions['headers'] =
    options.token === undefined ? {} : { 'x-service-token': options.token }
  const request = get(`${address}/v1/event/stream?${search.toString()}`, {
    agent: false,
    headers: { ...options.headers, ...token },
  })
  request.on('error', () => undefined)
  // The answer was held against the contract; this names the part that is looked at.
  const response = await responseTo(request)
  const reader = readLines(response, () => request.destroy())
  if (options.isPaused !== true) response.resume()
  return reader
}

/** The answer to a request, as soon as its headers are there. */
export async function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  // The one argument of this event.
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** The payload of an event of the topic. */
export function payloadOf<T extends EventTopic>(
  event: Event | undefined,
  topic: T,
): EventPayloads[T] {
  assert.equal(event?.Topic, topic)
  const payload: unknown = event.Payload
  assert.deepEqual(schemaErrors(EventPayloads[topic], payload), [])
  // Held against the schema that the type is made from.
  return payload as EventPayloads[T]
}

function readLines(response: IncomingMessage, leave: () => void): EventReader {
  const lines: EventLine[] = []
  let rest = ''
  const over = { isSo: false }
  let wake = Promise.withResolvers<void>()
  const notify = (): void => {
    wake.resolve()
    wake = Promise.withResolvers<void>()
  }
  const isStream = response.statusCode === 200
  response.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    if (isStream) for (const part of parts) lines.push(parseLine(part))
    notify()
  })
  response.pause()
  for (const end of ['end', 'close', 'error'])
    response.on(end, () => {
      over.isSo = true
      notify()
    })
  const line: EventReader['line'] = async (isWanted) => {
    for (;;) {
      const found = lines.find(isWanted)
      if (found !== undefined) return found
      assert.equal(over.isSo, false, `the stream ended without it: ${rest}`)
      await wake.promise
    }
  }
  const events = (): readonly Event[] => lines.flatMap((one) => one.Events ?? [])
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    response,
    lines,
    events,
    line,
    async take(count) {
      while (events().length < count) {
        assert.equal(over.isSo, false, 'the stream ended before')
        await wake.promise
      }
      assert.equal(events().length, count, JSON.stringify(events().slice(count)))
      return events()
    },
    async heartbeats(count) {
      const isHeartbeat = (one: EventLine): boolean => one.Index === undefined
      while (lines.filter(isHeartbeat).length < count) {
        assert.equal(over.isSo, false, 'the stream ended before')
        await wake.promise
      }
    },
    async closed() {
      while (!over.isSo) await wake.promise
      assert.equal(rest, '', 'no line is cut')
      return lines.at(-1)?.Closed
    },
    leave,
  }
}

function parseLine(text: string): EventLine {
  const line: unknown = JSON.parse(text)
  assert.deepEqual(schemaErrors(EventLine, line), [], text.slice(0, 300))
  // Held against the schema that the type is made from.
  return line as EventLine
}
