/**
 * Stale reads from one, two and three servers of a cluster. `node
 * packages/reeve/bench/cluster-reads.bench.ts [--quick]`
 *
 * Servers, PostgreSQL and clients share this machine: with two cores the total reads per second
 * show the capacity of the machine, not of three machines. The CPU time per read shows the cost,
 * and whether it stays constant as servers are added.
 */
import { availableParallelism } from 'node:os'
import { whyNoPostgres } from '../test/build/postgres.ts'
import { ClusterServers, cpuSecondsOf } from './cluster-servers.ts'
import { openConnections, requestText, sendOk } from './http-connection.ts'
import { fixed, isQuick, printTable, sharedRateOf, whole } from './measure.ts'
import { idleJob } from './jobs.ts'

const SERVERS = 3
const CONNECTIONS_PER_SERVER = 8
const MEASURE_MS = isQuick ? 1_000 : 8_000
const WARM_UP_MS = isQuick ? 500 : 3_000
const JOB = 'read-me'
const PATH = `/v1/job/${JOB}`

const missing = whyNoPostgres()
if (missing === undefined) await bench()
else process.stdout.write(`${missing}\n`)

async function bench(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const cluster = await ClusterServers.start(SERVERS)
  try {
    const { leader, followers } = await cluster.roles()
    await register(leader)
    for (const follower of followers) await untilShown(follower)
    const rows = [
      await measure('the leader, default', [leader], PATH),
      await measure('1 follower', followers.slice(0, 1), `${PATH}?stale`),
      await measure('2 followers', followers, `${PATH}?stale`),
      await measure('3: leader and followers', [leader, ...followers], `${PATH}?stale`),
      await measure('1 follower, passed on', followers.slice(0, 1), PATH),
    ]
    process.stdout.write(
      `Reads of one job; ${availableParallelism()} cores for ${SERVERS} servers, PostgreSQL and clients\n`,
    )
    printTable(
      ['answered by', 'reads/s', 'p50 ms', 'p99 ms', 'µs of CPU per read', 'reads/s per core'],
      rows,
    )
  } finally {
    await cluster.end()
  }
}

interface Server {
  readonly port: number
  readonly pid: number
  readonly address: string
}

async function register({ address }: Server): Promise<void> {
  const body = JSON.stringify({ Job: idleJob(JOB) })
  const answer = await fetch(`${address}/v1/jobs`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
}

async function untilShown({ address }: Server): Promise<void> {
  for (;;) {
    const answer = await fetch(`${address}${PATH}?stale`)
    await answer.arrayBuffer()
    if (answer.ok) return
  }
}

async function measure(name: string, servers: readonly Server[], path: string): Promise<string[]> {
  const opened = await Promise.all(
    servers.map(({ port }) => openConnections(port, CONNECTIONS_PER_SERVER)),
  )
  const connections = opened.flat()
  const request = requestText(path)
  const callers = connections.map((connection) => () => sendOk(connection, request))
  await sharedRateOf(WARM_UP_MS, callers)
  const before = await cpuOf(servers)
  const startMs = performance.now()
  const rate = await sharedRateOf(MEASURE_MS, callers)
  const reads = (rate.perSecond * (performance.now() - startMs)) / 1_000
  const perReadUs = (((await cpuOf(servers)) - before) / reads) * 1e6
  for (const connection of connections) connection.close()
  return [
    name,
    whole(rate.perSecond),
    fixed(rate.p50),
    fixed(rate.p99),
    whole(perReadUs),
    whole(1e6 / perReadUs),
  ]
}

async function cpuOf(servers: readonly Server[]): Promise<number> {
  let seconds = 0
  for (const server of servers) seconds += await cpuSecondsOf(server)
  return seconds
}
