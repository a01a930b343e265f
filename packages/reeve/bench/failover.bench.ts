/**
 * Write outage of a cluster of three servers when its leader is killed (SIGKILL) or stopped
 * (SIGTERM). `node packages/reeve/bench/failover.bench.ts [--quick] [--kills=N] [--stops=N]`
 */
import { setTimeout as wait } from 'node:timers/promises'
import { whyNoPostgres } from '../test/build/postgres.ts'
import { ClusterServers } from './cluster-servers.ts'
import { isQuick, printTable, whole } from './measure.ts'
import type { RunningProgram } from './program.ts'

const SERVERS = 3
const KILLS = numberFlag('kills') ?? (isQuick ? 3 : 50)
const STOPS = numberFlag('stops') ?? (isQuick ? 2 : 20)
/** Retry interval of clients, which is the resolution of the measurement. */
const ASK_AGAIN_MS = 5
const ANSWER_MS_MAX = 1_000
/** Longer than a lease: the leader is stable. */
const SETTLE_MS = 1_500
const GIVE_UP_MS = 60_000

const missing = whyNoPostgres()
if (missing === undefined) await bench()
else process.stdout.write(`${missing}\n`)

async function bench(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const cluster = await ClusterServers.start(SERVERS)
  try {
    const killed = await outages(cluster, KILLS, async (leader) => cluster.kill(leader))
    const stopped = await outages(cluster, STOPS, (leader) => cluster.stop(leader))
    process.stdout.write(
      `${SERVERS} servers; from the moment the leader goes to the first write that another acknowledges\n`,
    )
    printTable(
      ['', 'times', 'p50 ms', 'p90 ms', 'max ms', 'min ms'],
      [rowOf('SIGKILL', killed), rowOf('SIGTERM', stopped)],
    )
  } finally {
    await cluster.end()
  }
}

async function outages(
  cluster: ClusterServers,
  times: number,
  end: (leader: RunningProgram) => Promise<void>,
): Promise<readonly number[]> {
  const tookMs: number[] = []
  for (let n = 0; n < times; n++) {
    await wait(SETTLE_MS)
    const { leader, followers } = await cluster.roles()
    tookMs.push(await outage(followers, () => end(leader)))
    await cluster.add()
  }
  return tookMs
}

/**
 * The longest time without an acknowledgement for clients that write continuously through the other
 * servers. A leader that stops gracefully still acknowledges for a while; for a killed one this is
 * the time since the kill.
 */
async function outage(
  servers: readonly RunningProgram[],
  end: () => Promise<void>,
): Promise<number> {
  const startMs = performance.now()
  let lastMs = startMs
  let longestMs = 0
  const state = { isGone: false }
  const gone = end().finally(() => {
    state.isGone = true
  })
  for (let n = 0; ; n++) {
    const server = servers[n % servers.length]
    const wasGone = state.isGone
    const isTaken = server !== undefined && (await write(server, n))
    const nowMs = performance.now()
    if (isTaken) {
      longestMs = Math.max(longestMs, nowMs - lastMs)
      lastMs = nowMs
      if (wasGone) break
    } else await wait(ASK_AGAIN_MS)
    if (nowMs - startMs > GIVE_UP_MS) throw new Error('nobody took a write')
  }
  await gone
  return longestMs
}

async function write({ address }: RunningProgram, n: number): Promise<boolean> {
  try {
    const answer = await fetch(`${address}/v1/namespace`, {
      method: 'PUT',
      body: JSON.stringify({ Name: 'probe', Description: String(n) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    // Refused, disconnected or timed out: retried.
    return false
  }
}

function rowOf(name: string, tookMs: readonly number[]): string[] {
  const sorted = Float64Array.from(tookMs).toSorted()
  const quantile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return [
    name,
    whole(tookMs.length),
    ...[quantile(0.5), quantile(0.9), sorted.at(-1) ?? 0, sorted[0] ?? 0].map(whole),
  ]
}

function numberFlag(name: string): number | undefined {
  const prefix = `--${name}=`
  const text = process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length)
  return text === undefined ? undefined : Number(text)
}
