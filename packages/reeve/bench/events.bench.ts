/**
 * From a commit to the readers of the event stream, compared with a bare server that writes as many
 * lines to as many connections. `node packages/reeve/bench/events.bench.ts [--quick]`
 *
 * The server is a child process that commits by itself (event-server.ts); this process has all
 * readers. A token may have 64 streams, so the readers share several tokens.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@reeve/sdk'
import { LIMITS } from '../src/model/index.ts'
import type { Emission, Emitted, Listening } from './event-server.ts'
import { HttpConnection, requestText, sendOk } from './http-connection.ts'
import { fixed, isQuick, printTable, summary, whole, type Rate } from './measure.ts'
import { startBareServer } from './program.ts'
import { StreamEnded, StreamReader, type StreamRequest } from './stream-reader.ts'

const READERS = [1, 50, 500]
const EVENTS_PER_SECOND = 1_000
const MEASURE_MS = isQuick ? 700 : 5_000
const WARM_UP_MS = isQuick ? 300 : 1_000
/** Approximate length of the smallest event's line. */
const LINE_BYTES = 330
const DRAIN_MS_MAX = 20_000

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const child = fork(fileURLToPath(new URL('./event-server.ts', import.meta.url)), [home])
child.once('exit', (code) => {
  if (code !== 0) throw new Error(`the server ended with ${code}`)
})
const bare = await startBareServer()
try {
  const listening = await answerOf<Listening>(child)
  const tokens = await createTokens(listening.address)
  await benchRate({ listening, tokens, perSecond: EVENTS_PER_SECOND })
  await benchRate({ listening, tokens, perSecond: undefined })
} finally {
  await bare.stop()
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
  await rm(home, { recursive: true })
}

interface RateOptions {
  readonly listening: Listening
  readonly tokens: readonly string[]
  readonly perSecond: number | undefined
}

async function benchRate(options: RateOptions): Promise<void> {
  const table: string[][] = []
  for (const count of READERS) {
    const ours = await measureOurs(options, count).catch(ifTooMuch(options))
    if (ours === undefined) {
      table.push([whole(count), 'cut off'])
      continue
    }
    const theirs =
      options.perSecond === undefined ? undefined : await measureBare(count, options.perSecond)
    table.push(tableRow(count, ours, theirs))
  }
  const rate =
    options.perSecond === undefined
      ? 'as many events as the storage takes'
      : `${whole(options.perSecond)} events/s`
  process.stdout.write(`Commit to reader, ${rate}\n`)
  printTable(
    [
      'readers',
      'events/s',
      'read/s',
      'p50 ms',
      'p99 ms',
      'max ms',
      'durable p50',
      'durable p99',
      'bare p50',
      'bare p99',
      'ratio p50',
      'cores',
      'cpu µs/read',
    ],
    table,
  )
  process.stdout.write(`durable: from the commit until it may be shown; part of the first figures
bare: a server that writes each line to each connection at once, from making it to reading it
ratio: p50, to durable and bare together; cores, cpu: what the server used
cut off: readers that were too slow for all that, as the server found

`)
}

interface Measured extends Emitted {
  readonly readers: Rate
}

function tableRow(count: number, ours: Measured, theirs: Rate | undefined): string[] {
  const { readers, durable } = ours
  const floor = theirs === undefined ? undefined : durable.p50 + theirs.p50
  return [
    whole(count),
    whole(readers.perSecond / count),
    whole(readers.perSecond),
    fixed(readers.p50),
    fixed(readers.p99),
    fixed(readers.max),
    fixed(durable.p50),
    fixed(durable.p99),
    theirs === undefined ? '' : fixed(theirs.p50),
    theirs === undefined ? '' : fixed(theirs.p99),
    floor === undefined ? '' : fixed(readers.p50 / floor),
    fixed(ours.cpuSeconds / (MEASURE_MS / 1_000)),
    fixed((ours.cpuSeconds * 1_000_000) / (ours.events * count)),
  ]
}

async function measureOurs(options: RateOptions, count: number): Promise<Measured> {
  const { listening, tokens, perSecond } = options
  const { index } = await emit({ durationMs: 0, perSecond })
  const readers = await openReaders(count, (at) => ({
    port: listening.port,
    path: `/v1/event/stream?topic=NodePool&index=${index + 1}`,
    headers: { 'x-service-token': tokens[Math.floor(at / LIMITS.eventStreamsPerToken)] ?? '' },
  }))
  try {
    const warm = await emit({ durationMs: WARM_UP_MS, perSecond })
    await takeAges(readers, warm.events)
    const emitted = await emit({ durationMs: MEASURE_MS, perSecond })
    const ages = await takeAges(readers, emitted.events)
    return { ...emitted, readers: summary(ages, MEASURE_MS) }
  } finally {
    for (const reader of readers) reader.close()
  }
}

/** If the storage is faster than this process can read, streams are closed as intended. */
function ifTooMuch({ perSecond }: RateOptions) {
  return (thrown: unknown): undefined => {
    if (perSecond !== undefined || !(thrown instanceof StreamEnded)) throw thrown
  }
}

async function measureBare(count: number, perSecond: number): Promise<Rate> {
  const readers = await openReaders(count, () => ({ port: bare.port, path: '/stream' }))
  const control = await HttpConnection.open(bare.port)
  const request = requestText(`/emit/${perSecond}/${MEASURE_MS}/${LINE_BYTES}`)
  const { body } = await sendOk(control, request)
  const ages = await takeAges(readers, Number(body.toString()))
  for (const reader of readers) reader.close()
  control.close()
  return summary(ages, MEASURE_MS)
}

async function openReaders(
  count: number,
  requestOf: (at: number) => StreamRequest,
): Promise<StreamReader[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, at) => StreamReader.open(requestOf(at))),
  )
}

/** Waits until every reader has received every event; returns and resets their latencies. */
async function takeAges(readers: readonly StreamReader[], events: number): Promise<number[]> {
  const endMs = performance.now() + DRAIN_MS_MAX
  for (const reader of readers)
    while (reader.agesMs.length < events) {
      reader.check()
      if (performance.now() > endMs)
        throw new Error(`a reader had ${reader.agesMs.length} of ${events} events`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  const ages = readers.flatMap((reader) => reader.agesMs)
  if (ages.length !== events * readers.length)
    throw new Error(`${readers.length} readers had ${ages.length} events of ${events}`)
  for (const reader of readers) reader.agesMs = []
  return ages
}

async function createTokens(address: string): Promise<string[]> {
  const first = createClient({ address })
  const { data: management } = await first.v1.bootstrapAcl({ body: {} })
  const client = createClient({ address, token: management.SecretID })
  const wanted = Math.ceil(Math.max(...READERS) / LIMITS.eventStreamsPerToken)
  const tokens: string[] = []
  while (tokens.length < wanted) {
    const body = { Name: `reader-${tokens.length}`, Type: 'management' as const }
    tokens.push((await client.v1.createAclToken({ body })).data.SecretID)
  }
  return tokens
}

async function emit(emission: Emission): Promise<Emitted> {
  child.send(emission)
  return await answerOf<Emitted>(child)
}

async function answerOf<T>(of: ChildProcess): Promise<T> {
  const [message] = await once(of, 'message')
  // Proof: event-server.ts answers each message with the documented type.
  return message as T
}
