/**
 * Follower lag: from the acknowledgement of a write until a follower serves it, while the leader
 * commits a thousand times a second. `node packages/reeve/bench/cluster-lag.bench.ts [--quick]`
 *
 * A blocking query at the follower returns when the follower has applied more entries; its index is
 * compared with the time at which the writer received the acknowledgement of that index.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { HEADERS } from '@reeve/contract'
import { whyNoPostgres } from '../test/build/postgres.ts'
import { ClusterServers } from './cluster-servers.ts'
import { HttpConnection, openConnections, requestText, sendOk } from './http-connection.ts'
import type { HttpAnswer } from './http-connection.ts'
import { fixed, isQuick, printTable, summary, whole } from './measure.ts'

const RATES = isQuick ? [1_000] : [1, 100, 1_000]
const MEASURE_MS = isQuick ? 2_000 : 15_000
const WARM_UP_MS = isQuick ? 500 : 3_000
/**
 * Each writer waits for its response: enough writers to reach the rate with commits of some
 * milliseconds.
 */
const WRITERS = 32
const NAMES = 16
const TICK_MS = 2

const missing = whyNoPostgres()
if (missing === undefined) await bench()
else process.stdout.write(`${missing}\n`)

async function bench(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const cluster = await ClusterServers.start(2)
  try {
    const { leader, followers } = await cluster.roles()
    const [follower] = followers
    if (follower === undefined) throw new Error('there are two servers')
    const rows: string[][] = []
    for (const perSecond of RATES) rows.push(await measure(perSecond, [leader, follower]))
    process.stdout.write('Leader, follower, PostgreSQL and the clients share this machine\n')
    printTable(['asked commits/s', 'commits/s', 'samples', 'p50 ms', 'p99 ms', 'max ms'], rows)
  } finally {
    await cluster.end()
  }
}

type Pair = readonly [leader: { readonly port: number }, follower: { readonly port: number }]

async function measure(perSecond: number, [leader, follower]: Pair): Promise<string[]> {
  const acknowledgedMs = new Map<number, number>()
  const seen: { readonly index: number; readonly atMs: number }[] = []
  const state = { isOver: false }
  const connections = await openConnections(leader.port, Math.min(WRITERS, perSecond))
  const watcher = await HttpConnection.open(follower.port)
  const writing = write(connections, { perSecond, state, acknowledgedMs })
  const watching = watch(watcher, state, (index) => seen.push({ index, atMs: performance.now() }))
  await wait(WARM_UP_MS)
  const [fromMs, before] = [performance.now(), acknowledgedMs.size]
  await wait(MEASURE_MS)
  const [toMs, after] = [performance.now(), acknowledgedMs.size]
  state.isOver = true
  await Promise.all([writing, watching])
  const lagsMs = seen
    .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
    .flatMap(({ index, atMs }) => {
      const doneMs = acknowledgedMs.get(index)
      // The follower may be first, because the response to the writer is still in transit.
      return doneMs === undefined ? [] : [Math.max(0, atMs - doneMs)]
    })
  const { p50, p99, max } = summary(lagsMs, toMs - fromMs)
  const rate = ((after - before) / (toMs - fromMs)) * 1_000
  for (const connection of [...connections, watcher]) connection.close()
  return [
    whole(perSecond),
    whole(rate),
    whole(lagsMs.length),
    ...[p50, p99, max].map((ms) => fixed(ms)),
  ]
}

interface Writing {
  readonly perSecond: number
  readonly state: { readonly isOver: boolean }
  readonly acknowledgedMs: Map<number, number>
}

/** Writes at a fixed rate, regardless of response times; a missed rate is visible in the table. */
async function write(connections: readonly HttpConnection[], writing: Writing): Promise<void> {
  const { perSecond, state, acknowledgedMs } = writing
  const startMs = performance.now()
  let sent = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (!state.isOver) {
        if (sent > ((performance.now() - startMs) / 1_000) * perSecond) {
          await wait(TICK_MS)
          continue
        }
        const n = sent++
        const body = { Name: `name-${n % NAMES}`, Description: String(n) }
        const answer = await sendOk(connection, requestText('/v1/namespace', body))
        acknowledgedMs.set(indexOf(answer), performance.now())
      }
    }),
  )
}

async function watch(
  connection: HttpConnection,
  state: { readonly isOver: boolean },
  seen: (index: number) => void,
): Promise<void> {
  let index = 1
  while (!state.isOver) {
    const path = `/v1/namespaces?stale&index=${index}&wait=2s`
    const next = indexOf(await sendOk(connection, requestText(path)))
    if (next !== index) seen(next)
    index = next
  }
}

function indexOf({ head }: HttpAnswer): number {
  const found = new RegExp(`\\n${HEADERS.index}: *(\\d+)`, 'i').exec(head)?.[1]
  if (found === undefined) throw new Error(`an answer without an index: ${head}`)
  return Number(found)
}
