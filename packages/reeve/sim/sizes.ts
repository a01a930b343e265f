import { ServerCluster } from './cluster/server-cluster.ts'
import { RandomStream } from './draws.ts'
import type { SimulationOptions } from './simulation.ts'

/** Options of a seed: most worlds are small and short, a few have hundreds of nodes. */
export function defaultOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  if (seed % 100 === 50) return { seed, nodes: random.between(100, 300), steps: 60 }
  return { seed, nodes: random.between(2, 12), steps: random.between(10, 80) }
}

/** Small worlds for the test suite, which runs hundreds of them. */
export function smallOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  return { seed, nodes: random.between(2, 6), steps: random.between(10, 40) }
}

/** Worlds with jumping clocks, alternating between one server and three. */
export function clockOptionsOf(seed: number): SimulationOptions {
  const options = seed % 2 === 0 ? smallOptionsOf(seed) : clusterOptionsOf(seed)
  return { ...options, onlyClockFaults: true }
}

/** Three servers that share a database. */
export function clusterOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  const [nodes, steps] = [random.between(2, 5), random.between(10, 40)]
  return { seed, nodes, steps, createBackend: (world) => new ServerCluster(world) }
}
