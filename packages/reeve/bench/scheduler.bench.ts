/**
 * The scheduler: the cost of an evaluation for a grid of clusters and jobs, the cost of a second
 * evaluation on the same cluster, and packing density compared with sampling of nodes. `node
 * packages/reeve/bench/scheduler.bench.ts [--quick]`
 */
import type { Job, Node } from '@reeve/contract'
import { NO_USAGE } from '../src/model/index.ts'
import { schedule, type ClusterView, type Plan } from '../src/scheduler/index.ts'
import { aCluster, aGroup, aJob, anEvaluation, anId, aNode, aTask } from '../test/build/index.ts'
import { countedIds, seededRandom } from '../test/build/ids.ts'
import { fixed, isQuick, printTable, summary, whole } from './measure.ts'

const NODES = isQuick ? [500, 5_000] : [500, 1_000, 5_000, 10_000]
const RACKS = isQuick ? [25] : [25, 50, 75]
const COUNTS = isQuick ? [50, 600] : [50, 300, 600, 900, 1_200]
const ROUNDS = isQuick ? 5 : 9

/** Enough for every cell, so that selection is measured and not exhaustion. */
const NODE_CPU = 48_000
const NODE_MEMORY_MB = 32_000
const NODE_DISK_MB = 100 * 1_024
const ASKED = { CPU: 6_000, MemoryMB: 6_000 }

/** A prime, so that steps of this size visit every node. */
const STEP = 7_919

warmUp()
benchGrid()
benchMany()
benchPacking()

interface Cell {
  readonly nodes: number
  readonly racks: number
  readonly count: number
  readonly spread: boolean
}

function benchGrid(): void {
  const rows: string[][] = []
  for (const nodes of NODES)
    for (const racks of RACKS) {
      const cluster = clusterOf(nodes, racks)
      for (const count of COUNTS)
        for (const spread of [false, true])
          rows.push(gridRow({ nodes, racks, count, spread }, cluster))
    }
  process.stdout.write(`One evaluation, every feasible node scored; milliseconds
first: the first evaluation of the cell; the others: those after it, as in a server that runs
least and µs each: what the machine's other work did not disturb\n`)
  printTable(
    ['nodes', 'racks', 'count', 'spread', 'placed', 'first', 'least', 'p50', 'max', 'µs each'],
    rows,
  )
}

/** The first evaluations of a process run uncompiled code. */
function warmUp(): void {
  const cluster = clusterOf(500, 25)
  for (const spread of [false, true]) {
    const job = jobOf({ nodes: 500, racks: 25, count: 300, spread })
    const view = viewOf(cluster, job)
    for (let round = 0; round < 20; round++) evaluate(view, job)
  }
}

function gridRow(cell: Cell, cluster: readonly Node[]): string[] {
  const job = jobOf(cell)
  const view = viewOf(cluster, job)
  const first = evaluate(view, job)
  const tookMs = Array.from({ length: ROUNDS }, () => evaluate(view, job).tookMs)
  const { p50, max } = summary(tookMs, 1)
  const least = Math.min(...tookMs)
  const placed = first.plan.placements.length
  return [
    whole(cell.nodes),
    whole(cell.racks),
    whole(cell.count),
    cell.spread ? 'yes' : 'no',
    whole(placed),
    fixed(first.tookMs),
    fixed(least),
    fixed(p50),
    fixed(max),
    fixed((least * 1_000) / Math.max(1, placed)),
  ]
}

/** Many small jobs on one cluster. */
function benchMany(): void {
  const cluster = clusterOf(5_000, 50)
  const rows = [1, 10, 1_000].map((count) => {
    const group = aGroup({
      Count: count,
      Tasks: [aTask({ Resources: { CPU: 10, MemoryMB: 10 } })],
      EphemeralDisk: { SizeMB: 10 },
    })
    const job = aJob({ Type: 'batch', Datacenters: ['*'], groups: [group] })
    const view = viewOf(cluster, job)
    evaluate(view, job)
    const tookMs = Array.from({ length: ROUNDS * 3 }, () => evaluate(view, job).tookMs)
    const { p50, max } = summary(tookMs, 1)
    const least = Math.min(...tookMs)
    return [whole(count), fixed(least), fixed(p50), fixed(max), fixed((least * 1_000) / count)]
  })
  process.stdout.write('A small batch job on 5,000 nodes; milliseconds\n')
  printTable(['count', 'least', 'p50', 'max', 'µs each'], rows)
}

function clusterOf(count: number, racks: number): readonly Node[] {
  const plain = aNode()
  return Array.from({ length: count }, (_, i) => {
    const rack = `r${i % racks}`
    const dc = `dc${1 + (i % 2)}`
    return aNode({
      ID: anId('node', i + 1),
      Name: `node-${i + 1}`,
      Datacenter: dc,
      Meta: { rack },
      ComputedClass: `v1:${dc}-${rack}`,
      NodeResources: {
        ...plain.NodeResources,
        Cpu: { CpuShares: NODE_CPU, TotalCpuCores: 16, ReservableCpuCores: null },
        Memory: { MemoryMB: NODE_MEMORY_MB },
        Disk: { DiskMB: NODE_DISK_MB },
      },
    })
  })
}

function jobOf({ racks, count, spread }: Cell): Job {
  const half = Array.from({ length: Math.ceil(racks / 2) }, (_, i) => `r${i}`).join(',')
  return aJob({
    Datacenters: ['dc1', 'dc2'],
    Constraints: [{ LTarget: '${meta.rack}', Operand: 'set_contains_any', RTarget: half }],
    Spreads: spread ? [{ Attribute: '${meta.rack}', Weight: 50 }] : null,
    groups: [aGroup({ Count: count, Tasks: [aTask({ Resources: ASKED })] })],
  })
}

/** A view with the access costs of the server's state. */
function viewOf(cluster: readonly Node[], job: Job): ClusterView {
  const byId = new Map(cluster.map((node, slot) => [node.ID, { node, slot }]))
  const ready = [...cluster]
  const column = (): Float64Array => new Float64Array(cluster.length)
  return {
    ...aCluster({ nodes: cluster, job }),
    findNode: (id) => byId.get(id)?.node,
    readyNodes: () => ready,
    usageOn: () => NO_USAGE,
    usageColumns: {
      cpuShares: column(),
      memoryMB: column(),
      diskMB: column(),
      hasDiscreteUsage: new Uint8Array(cluster.length),
      slotOf: (id) => byId.get(id)?.slot ?? 0,
    },
  }
}

function evaluate(view: ClusterView, job: Job): { readonly plan: Plan; readonly tookMs: number } {
  const context = { nowMs: 0, ids: countedIds(), random: seededRandom(1) }
  const elapsedNs = (): number => Number(process.hrtime.bigint())
  const start = performance.now()
  const plan = schedule(view, anEvaluation(job), { ...context, monotonicNs: elapsedNs })
  return { plan, tookMs: performance.now() - start }
}

interface Ask {
  readonly cpu: number
  readonly memory: number
}

/** Places the same allocations with two strategies. */
function benchPacking(): void {
  const size = isQuick ? 200 : 1_000
  const random = seededRandom(7)
  const draw = (least: number, most: number): number =>
    least + Math.floor(random.next() * (most - least))
  // About as many as fit: small ones first, then some that need most of a node.
  const small = Array.from({ length: size * 8 }, () => ({
    cpu: draw(500, 4_000),
    memory: draw(500, 3_000),
  }))
  const large = Array.from({ length: size }, () => ({ cpu: 36_000, memory: 24_000 }))
  const asks = [...small, ...large]
  const limit = Math.max(2, Math.ceil(Math.log2(size)))
  const rows = [
    ['every node', ...packed(asks, size, size)],
    [`${limit} nodes drawn`, ...packed(asks, size, limit)],
  ]
  process.stdout
    .write(`Packing ${whole(asks.length)} allocations of mixed sizes on ${whole(size)} nodes
after half: nodes in use when half of them have come; memory: share in use at the end\n`)
  printTable(['choice among', 'after half', 'nodes in use', 'not placed', 'memory'], rows)
}

/** The scheduler's fit on plain numbers, so that the strategies differ in nothing else. */
function packed(asks: readonly Ask[], size: number, limit: number): string[] {
  const cpu = new Float64Array(size)
  const memory = new Float64Array(size)
  const random = seededRandom(11)
  let failed = 0
  let half = 0
  for (const [i, ask] of asks.entries()) {
    const at = bestOf({ cpu, memory, ask, limit, random: () => random.next() })
    if (at === undefined) failed += 1
    else {
      cpu[at] = (cpu[at] ?? 0) + ask.cpu
      memory[at] = (memory[at] ?? 0) + ask.memory
    }
    if (i === asks.length >> 1) half = inUse(cpu)
  }
  const share = memory.reduce((sum, used) => sum + used, 0) / (size * NODE_MEMORY_MB)
  return [whole(half), whole(inUse(cpu)), whole(failed), `${fixed(share * 100)} %`]
}

function inUse(column: Float64Array): number {
  return column.filter((used) => used > 0).length
}

interface Choice {
  readonly cpu: Float64Array
  readonly memory: Float64Array
  readonly ask: Ask
  readonly limit: number
  readonly random: () => number
}

/** Takes feasible nodes from a random start until it has seen `limit` of them. */
function bestOf({ cpu, memory, ask, limit, random }: Choice): number | undefined {
  let best: number | undefined
  let bestScore = -Infinity
  let seen = 0
  const start = Math.floor(random() * cpu.length)
  for (let i = 0, at = start; i < cpu.length && seen < limit; i++, at = (at + STEP) % cpu.length) {
    const usedCpu = (cpu[at] ?? 0) + ask.cpu
    const usedMemory = (memory[at] ?? 0) + ask.memory
    if (usedCpu > NODE_CPU || usedMemory > NODE_MEMORY_MB) continue
    seen += 1
    const score = 20 - 10 ** (1 - usedCpu / NODE_CPU) - 10 ** (1 - usedMemory / NODE_MEMORY_MB)
    if (score > bestScore) [best, bestScore] = [at, score]
  }
  return best
}
