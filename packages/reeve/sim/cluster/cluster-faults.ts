import type { Draws } from '../draws.ts'
import { pressMemory } from '../memory.ts'
import { CLOCK_SKEWS_MS, type ServerFault } from '../serving.ts'
import type { ClusterView } from './cluster-view.ts'
import type { SimServer } from './sim-server.ts'

/** Shorter and longer than a lease and the heartbeat timeout of a node. */
const AWAY_MS_MAX = 20_000
const PAUSE_MS_MAX = 10_000
/** After this time away, another server holds the lease. */
const LEASE_OVER_MS = 5_000

/** Faults of servers that share a database, with their weights. */
export function clusterFaults(cluster: ClusterView): readonly ServerFault[] {
  return [
    [3, (draws) => killLeader(cluster, draws)],
    [2, (draws) => killAny(cluster, draws)],
    [4, (draws) => pause(cluster, draws)],
    [4, (draws) => strikeWriter(cluster, draws)],
    [1, (draws) => stop(cluster, draws)],
    [3, (draws) => cutDatabase(cluster, draws)],
    [2, (draws) => databaseAway(cluster, draws)],
    [4, (draws) => badDatabase(cluster, draws)],
    [2, (draws) => partServers(cluster, draws)],
    [2, (draws) => partNode(cluster, draws)],
    [2, (draws) => jumpClock(cluster, draws)],
    [2, (draws) => shortMemory(cluster, draws)],
  ]
}

/** Faults of worlds about clocks: clocks jump, also during a change of leader. */
export function clockFaults(cluster: ClusterView): readonly ServerFault[] {
  return [
    [6, (draws) => jumpClock(cluster, draws)],
    [1, (draws) => killLeader(cluster, draws)],
    [1, (draws) => pause(cluster, draws)],
  ]
}

/** Mostly the leader, because its faults matter most. */
function pick({ servers }: ClusterView, draws: Draws): SimServer | undefined {
  const leader = servers.find((server) => server.isLeading)
  return leader !== undefined && draws.chance(0.6) ? leader : draws.pick(servers)
}

function killLeader(cluster: ClusterView, draws: Draws): void {
  cluster.world.clock.after(draws.between(0, 200), () => {
    const leader = cluster.servers.find((server) => server.isLeading)
    if (leader !== undefined) cluster.kill(leader, 'the power went')
  })
}

function killAny(cluster: ClusterView, draws: Draws): void {
  const server = draws.pick(cluster.servers)
  if (server !== undefined) cluster.kill(server, 'the power went')
}

function pause(cluster: ClusterView, draws: Draws): void {
  const { world } = cluster
  world.clock.after(draws.between(0, 200), () => {
    const server = pick(cluster, draws)
    if (server === undefined) return
    pauseFor(cluster, server, draws.between(100, PAUSE_MS_MAX))
  })
}

function pauseFor({ world }: ClusterView, { name, process }: SimServer, lastsMs: number): void {
  world.trace.say(`${name} is paused for ${lastsMs} ms`)
  process.pause()
  world.clock.after(lastsMs, () => {
    world.trace.say(`${name} goes on`)
    process.resume()
  })
}

/** Kills or pauses the next writer before its entry arrives, until another server may lead. */
function strikeWriter(cluster: ClusterView, draws: Draws): void {
  const how = draws.choose('paused', 'killed', 'cut off')
  const lastsMs = draws.between(LEASE_OVER_MS, PAUSE_MS_MAX)
  cluster.trouble.strike = (sender) => {
    const server = cluster.servers.find(({ name }) => sender.startsWith(`${name}#`))
    if (server === undefined) return
    cluster.world.trace.say(`${server.name} is ${how} while it writes`)
    if (how === 'killed') cluster.kill(server, 'the power went')
    else if (how === 'paused') pauseFor(cluster, server, lastsMs)
    else partFor(cluster, [server.name, 'database'], lastsMs)
  }
}

function stop(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  if (server !== undefined) cluster.stop(server)
}

function cutDatabase(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  if (server !== undefined) partFor(cluster, [server.name, 'database'], awayMs(draws))
}

function partServers(cluster: ClusterView, draws: Draws): void {
  const [a, b] = [pick(cluster, draws), draws.pick(cluster.servers)]
  if (a !== undefined && b !== undefined && a !== b)
    partFor(cluster, [a.name, b.name], awayMs(draws))
}

function partNode(cluster: ClusterView, draws: Draws): void {
  const [server, node] = [pick(cluster, draws), draws.pick([...cluster.world.nodes.keys()])]
  if (server !== undefined && node !== undefined)
    partFor(cluster, [server.name, node], awayMs(draws))
}

function awayMs(draws: Draws): number {
  return draws.between(100, AWAY_MS_MAX)
}

function partFor(cluster: ClusterView, [a, b]: readonly [string, string], lastsMs: number): void {
  const { world } = cluster
  world.trace.say(`${a} and ${b} are apart for ${lastsMs} ms`)
  cluster.part(a, b)
  world.clock.after(lastsMs, () => cluster.join(a, b))
}

function databaseAway(cluster: ClusterView, draws: Draws): void {
  const { world, trouble } = cluster
  const lastsMs = awayMs(draws)
  world.trace.say(`the database is away for ${lastsMs} ms`)
  trouble.isAway = true
  world.clock.after(lastsMs, () => {
    trouble.isAway = false
  })
}

function badDatabase({ world, trouble }: ClusterView, draws: Draws): void {
  trouble.delayMsMax = draws.choose(1, 3, 20, 200, 1_500, 4_000)
  trouble.lossChance = draws.choose(0, 0, 0.02, 0.1)
  trouble.answerLossChance = draws.choose(0, 0.02, 0.1)
  trouble.lateChance = draws.choose(0, 0.02, 0.1)
  world.trace.say(`the way to the database: ${JSON.stringify(trouble)}`)
}

function jumpClock(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  const aheadMs = draws.choose(0, ...CLOCK_SKEWS_MS)
  if (server === undefined) return
  cluster.world.trace.say(`the clock of ${server.name} is set ${aheadMs} ms ahead`)
  cluster.setClock(server, aheadMs)
}

function shortMemory(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  if (server === undefined) return
  pressMemory(server.memory, {
    draws,
    clock: cluster.world.clock,
    isOver: () => cluster.isCalm,
    changed: () => {
      cluster.world.trace.say(`the memory of ${server.name} is used to ${server.memory.share}`)
      server.checkMemory()
    },
  })
}
