import type { Draws } from '../draws.ts'
import type { ServerFault } from '../serving.ts'
import type { ClusterView } from './cluster-view.ts'
import type { SimServer } from './sim-server.ts'

/** Below and above a lease and the time after which a node counts as gone. */
const AWAY_MS_MAX = 20_000
const PAUSE_MS_MAX = 10_000

/** What goes wrong with servers that share a database, and how often. */
export function clusterFaults(cluster: ClusterView): readonly ServerFault[] {
  return [
    [3, (draws) => killLeader(cluster, draws)],
    [2, (draws) => killAny(cluster, draws)],
    [4, (draws) => pause(cluster, draws)],
    [1, (draws) => stop(cluster, draws)],
    [3, (draws) => cutDatabase(cluster, draws)],
    [2, (draws) => databaseAway(cluster, draws)],
    [4, (draws) => badDatabase(cluster, draws)],
    [2, (draws) => partServers(cluster, draws)],
    [2, (draws) => partNode(cluster, draws)],
    [1, (draws) => jumpClock(cluster, draws)],
  ]
}

/** Mostly the one that matters. */
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
    const { process } = server
    const lastsMs = draws.between(100, PAUSE_MS_MAX)
    world.trace.say(`${server.name} is paused for ${lastsMs} ms`)
    process.pause()
    world.clock.after(lastsMs, () => {
      world.trace.say(`${server.name} goes on`)
      process.resume()
    })
  })
}

function stop(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  if (server !== undefined) cluster.stop(server)
}

function cutDatabase(cluster: ClusterView, draws: Draws): void {
  const server = pick(cluster, draws)
  if (server !== undefined) partFor(cluster, [server.name, 'database'], draws)
}

function partServers(cluster: ClusterView, draws: Draws): void {
  const [a, b] = [pick(cluster, draws), draws.pick(cluster.servers)]
  if (a !== undefined && b !== undefined && a !== b) partFor(cluster, [a.name, b.name], draws)
}

function partNode(cluster: ClusterView, draws: Draws): void {
  const [server, node] = [pick(cluster, draws), draws.pick([...cluster.world.nodes.keys()])]
  if (server !== undefined && node !== undefined) partFor(cluster, [server.name, node], draws)
}

function partFor(cluster: ClusterView, [a, b]: readonly [string, string], draws: Draws): void {
  const { world } = cluster
  const lastsMs = draws.between(100, AWAY_MS_MAX)
  world.trace.say(`${a} and ${b} are apart for ${lastsMs} ms`)
  cluster.part(a, b)
  world.clock.after(lastsMs, () => cluster.join(a, b))
}

function databaseAway(cluster: ClusterView, draws: Draws): void {
  const { world, trouble } = cluster
  const lastsMs = draws.between(100, AWAY_MS_MAX)
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
  const byMs = draws.choose(100, 1_000, 5_000)
  if (server === undefined) return
  cluster.world.trace.say(`the clock of ${server.name} jumps by ${byMs} ms`)
  cluster.jump(server, byMs)
}
