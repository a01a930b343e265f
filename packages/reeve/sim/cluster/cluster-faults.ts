import type { RandomStream } from '../random-stream.ts'
import { applyMemoryPressure } from '../memory.ts'
import { CLOCK_SKEWS_MS, type ServerFault } from '../server-backend.ts'
import type { SimCluster } from './sim-cluster.ts'
import type { SimServer } from './sim-server.ts'

/**
 * Maximum outage: some are shorter, some longer than a lease and the heartbeat timeout of a node.
 */
const MAX_OUTAGE_MS = 20_000
const MAX_PAUSE_MS = 10_000
/** After this time away, another server holds the lease. */
const LEASE_EXPIRED_MS = 5_000

/** Faults of servers that share a database, with their weights. */
export function clusterFaults(cluster: SimCluster): readonly ServerFault[] {
  return [
    [3, (random) => killLeader(cluster, random)],
    [2, (random) => killAny(cluster, random)],
    [4, (random) => pauseServer(cluster, random)],
    [4, (random) => interruptWriter(cluster, random)],
    [1, (random) => stopServer(cluster, random)],
    [3, (random) => partitionFromDatabase(cluster, random)],
    [2, (random) => stopDatabase(cluster, random)],
    [4, (random) => degradeDatabase(cluster, random)],
    [2, (random) => partitionServers(cluster, random)],
    [2, (random) => partitionNode(cluster, random)],
    [2, (random) => jumpClock(cluster, random)],
    [2, (random) => reduceMemory(cluster, random)],
  ]
}

/** Faults of worlds about clocks: clocks jump, also during a change of leader. */
export function clockFaults(cluster: SimCluster): readonly ServerFault[] {
  return [
    [6, (random) => jumpClock(cluster, random)],
    [1, (random) => killLeader(cluster, random)],
    [1, (random) => pauseServer(cluster, random)],
  ]
}

/** Mostly the leader, because its faults matter most. */
function pickServer({ servers }: SimCluster, random: RandomStream): SimServer | undefined {
  const leader = servers.find((server) => server.isLeading)
  return leader !== undefined && random.chance(0.6) ? leader : random.pick(servers)
}

function killLeader(cluster: SimCluster, random: RandomStream): void {
  cluster.world.clock.after(random.between(0, 200), () => {
    const leader = cluster.servers.find((server) => server.isLeading)
    if (leader !== undefined) cluster.kill(leader, 'the power went')
  })
}

function killAny(cluster: SimCluster, random: RandomStream): void {
  const server = random.pick(cluster.servers)
  if (server !== undefined) cluster.kill(server, 'the power went')
}

function pauseServer(cluster: SimCluster, random: RandomStream): void {
  const { world } = cluster
  world.clock.after(random.between(0, 200), () => {
    const server = pickServer(cluster, random)
    if (server === undefined) return
    pauseFor(cluster, server, random.between(100, MAX_PAUSE_MS))
  })
}

function pauseFor({ world }: SimCluster, { name, process }: SimServer, durationMs: number): void {
  world.trace.log(`${name} is paused for ${durationMs} ms`)
  process.pause()
  world.clock.after(durationMs, () => {
    world.trace.log(`${name} resumes`)
    process.resume()
  })
}

/**
 * Kills, pauses or partitions the next writer before its entry arrives, until another server may
 * lead.
 */
function interruptWriter(cluster: SimCluster, random: RandomStream): void {
  const kind = random.choose('paused', 'killed', 'cut off')
  const durationMs = random.between(LEASE_EXPIRED_MS, MAX_PAUSE_MS)
  cluster.databaseConditions.interruptWrite = (sender) => {
    const server = cluster.servers.find(({ name }) => sender.startsWith(`${name}#`))
    if (server === undefined) return
    cluster.world.trace.log(`${server.name} is ${kind} while it writes`)
    if (kind === 'killed') cluster.kill(server, 'the power went')
    else if (kind === 'paused') pauseFor(cluster, server, durationMs)
    else partitionFor(cluster, [server.name, 'database'], durationMs)
  }
}

function stopServer(cluster: SimCluster, random: RandomStream): void {
  const server = pickServer(cluster, random)
  if (server !== undefined) cluster.stop(server)
}

function partitionFromDatabase(cluster: SimCluster, random: RandomStream): void {
  const server = pickServer(cluster, random)
  if (server !== undefined) partitionFor(cluster, [server.name, 'database'], outageMs(random))
}

function partitionServers(cluster: SimCluster, random: RandomStream): void {
  const [a, b] = [pickServer(cluster, random), random.pick(cluster.servers)]
  if (a !== undefined && b !== undefined && a !== b)
    partitionFor(cluster, [a.name, b.name], outageMs(random))
}

function partitionNode(cluster: SimCluster, random: RandomStream): void {
  const [server, node] = [pickServer(cluster, random), random.pick([...cluster.world.nodes.keys()])]
  if (server !== undefined && node !== undefined)
    partitionFor(cluster, [server.name, node], outageMs(random))
}

function outageMs(random: RandomStream): number {
  return random.between(100, MAX_OUTAGE_MS)
}

function partitionFor(
  cluster: SimCluster,
  [a, b]: readonly [string, string],
  durationMs: number,
): void {
  const { world } = cluster
  world.trace.log(`${a} and ${b} are partitioned for ${durationMs} ms`)
  cluster.partition(a, b)
  world.clock.after(durationMs, () => cluster.heal(a, b))
}

function stopDatabase(cluster: SimCluster, random: RandomStream): void {
  const { world, databaseConditions } = cluster
  const durationMs = outageMs(random)
  world.trace.log(`the database is down for ${durationMs} ms`)
  databaseConditions.isDown = true
  world.clock.after(durationMs, () => {
    databaseConditions.isDown = false
  })
}

function degradeDatabase({ world, databaseConditions }: SimCluster, random: RandomStream): void {
  databaseConditions.delayMsMax = random.choose(1, 3, 20, 200, 1_500, 4_000)
  databaseConditions.lossChance = random.choose(0, 0, 0.02, 0.1)
  databaseConditions.responseLossChance = random.choose(0, 0.02, 0.1)
  databaseConditions.lateChance = random.choose(0, 0.02, 0.1)
  world.trace.log(`database connection: ${JSON.stringify(databaseConditions)}`)
}

function jumpClock(cluster: SimCluster, random: RandomStream): void {
  const server = pickServer(cluster, random)
  const aheadMs = random.choose(0, ...CLOCK_SKEWS_MS)
  if (server === undefined) return
  cluster.world.trace.log(`the clock of ${server.name} is set ${aheadMs} ms ahead`)
  cluster.setClock(server, aheadMs)
}

function reduceMemory(cluster: SimCluster, random: RandomStream): void {
  const server = pickServer(cluster, random)
  if (server === undefined) return
  applyMemoryPressure(server.memory, {
    random,
    clock: cluster.world.clock,
    hasEnded: () => cluster.areFaultsStopped,
    onChanged: () => {
      cluster.world.trace.log(`the memory of ${server.name} is used to ${server.memory.share}`)
      server.checkMemory()
    },
  })
}
