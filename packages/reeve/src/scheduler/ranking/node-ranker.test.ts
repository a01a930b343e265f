import assert from 'node:assert/strict'
import test from 'node:test'
import type { Constraint, Input, Job, Node, Spread, TaskGroup } from '@reeve/contract'
import fc from 'fast-check'
import {
  aCluster,
  aGroup,
  aJob,
  anAllocation,
  anEvaluation,
  anId,
  aNode,
  aTask,
  seeded,
} from '../../../test/build/index.ts'
import {
  decodeTopScores,
  addToUsage,
  chargeOf,
  isClientTerminal,
  expandMetrics,
  NO_USAGE,
  operandTest,
  targetReader,
  type AllocationRow,
} from '../../model/index.ts'
import { Placer } from '../placer.ts'
import { ProposedState } from '../proposed-state.ts'
import type { ClusterView } from '../cluster-view.ts'
import { exhaustedDimension, groupRequirements } from '../resources/resource-fit.ts'
import { antiAffinityScore, binPackScore, meanScore, quantize, roundScore } from './score.ts'

/*
 * The scheduler keeps nodes in heaps and looks again only at what changed. Here the same choice is
 * made by looking at every node anew for every allocation, from the list of allocations alone; the
 * two must agree on every node, in every situation.
 */

interface Scene {
  readonly nodes: readonly Node[]
  readonly job: Job
  readonly group: TaskGroup
  readonly rows: readonly AllocationRow[]
  readonly algorithm: 'binpack' | 'spread'
  readonly penalised: ReadonlySet<string>
}

interface Choice {
  readonly id: string
  readonly score: number
}

/** Every node with capacity for one more, best first, ties by ID. */
function everyNode(scene: Scene, rows: readonly AllocationRow[], index: number): Choice[] {
  const live = rows.filter((row) => !isClientTerminal(row))
  return scene.nodes
    .filter((node) => isAllowed(scene, node, live) && hasVolume(scene, node, index))
    .filter((node) => {
      const ask = groupRequirements(scene.group, {
        algorithm: 'binpack',
        memoryOversubscription: false,
      })
      return exhaustedDimension(node, ask, usageOn(node, live)) === undefined
    })
    .map((node) => ({ id: node.ID, score: scoreOn(scene, node, live) }))
    .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
}

function usageOn(node: Node, live: readonly AllocationRow[]) {
  return live
    .filter((row) => row.NodeID === node.ID)
    .reduce((usage, row) => addToUsage(usage, chargeOf(row.AllocatedResources)), NO_USAGE)
}

function own({ job }: Scene, live: readonly AllocationRow[]): readonly AllocationRow[] {
  return live.filter((row) => row.JobID === job.ID)
}

function ofGroup(scene: Scene, live: readonly AllocationRow[]): readonly AllocationRow[] {
  return own(scene, live).filter((row) => row.TaskGroup === scene.group.Name)
}

function valueOn(scene: Scene, target: string, nodeId: string): string | undefined {
  const node = scene.nodes.find((one) => one.ID === nodeId)
  return node === undefined ? undefined : targetReader(target)(node)
}

function isAllowed(scene: Scene, node: Node, live: readonly AllocationRow[]): boolean {
  const rules = [
    ...(scene.job.Constraints ?? []).map((rule) => ({ rule, rows: own(scene, live) })),
    ...(scene.group.Constraints ?? []).map((rule) => ({ rule, rows: ofGroup(scene, live) })),
  ]
  return rules.every((one) => meets(scene, node, one))
}

interface Ruling {
  readonly rule: Constraint
  /** Allocations that count towards the group. */
  readonly rows: readonly AllocationRow[]
}

function meets(scene: Scene, node: Node, { rule, rows }: Ruling): boolean {
  if (rule.Operand === 'distinct_hosts') return !rows.some((row) => row.NodeID === node.ID)
  const value = valueOn(scene, rule.LTarget, node.ID)
  if (rule.Operand !== 'distinct_property')
    return operandTest(rule.Operand)(value, targetReader(rule.RTarget)(node))
  const same = rows.filter((row) => valueOn(scene, rule.LTarget, row.NodeID) === value)
  return value !== undefined && same.length < Number(rule.RTarget || '1')
}

function hasVolume({ group }: Scene, node: Node, index: number): boolean {
  return Object.values(group.Volumes ?? {}).every(
    ({ Source }) => node.HostVolumes?.[`${Source}[${index}]`] !== undefined,
  )
}

function scoreOn(scene: Scene, node: Node, live: readonly AllocationRow[]): number {
  const { group, algorithm, penalised } = scene
  const ask = groupRequirements(group, { algorithm, memoryOversubscription: false })
  const usage = usageOn(node, live)
  const free = (used: number, asked: number, has: number): number =>
    has <= 0 ? 0 : 1 - (used + asked) / has
  const { Cpu, Memory } = node.NodeResources
  return meanScore({
    fit: binPackScore(
      {
        freeCpu: free(usage.cpuShares, ask.nodeIndependentDemand?.cpuShares ?? 0, Cpu.CpuShares),
        freeMemory: free(usage.memoryMB, ask.nodeIndependentDemand?.memoryMB ?? 0, Memory.MemoryMB),
      },
      algorithm,
    ),
    antiAffinity: antiAffinityScore(
      ofGroup(scene, live).filter((row) => row.NodeID === node.ID).length,
      group.Count,
    ),
    affinity: affinityOn(scene, node),
    isPenalised: penalised.has(node.ID),
    spread: spreadOn(scene, node, live),
  })
}

function affinityOn({ job }: Scene, node: Node): number | undefined {
  const affinities = job.Affinities ?? []
  if (affinities.length === 0) return undefined
  const total = affinities.reduce((sum, one) => sum + Math.abs(one.Weight), 0)
  const matched = affinities.filter((one) =>
    operandTest(one.Operand)(targetReader(one.LTarget)(node), one.RTarget),
  )
  return quantize(matched.reduce((sum, one) => sum + one.Weight, 0) / total)
}

function spreadOn(scene: Scene, node: Node, live: readonly AllocationRow[]): number {
  const spreads = [...(scene.job.Spreads ?? []), ...(scene.group.Spreads ?? [])]
  const total = spreads.reduce((sum, one) => sum + one.Weight, 0)
  return quantize(
    spreads.reduce((sum, one) => sum + boost(one, one.Weight / total, { scene, node, live }), 0),
  )
}

interface Where {
  readonly scene: Scene
  readonly node: Node
  readonly live: readonly AllocationRow[]
}

function boost(spread: Spread, share: number, { scene, node, live }: Where): number {
  const counts = new Map<string, number>()
  for (const row of ofGroup(scene, live)) {
    const value = valueOn(scene, spread.Attribute, row.NodeID)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const value = valueOn(scene, spread.Attribute, node.ID)
  if (value === undefined) return -1
  const used = counts.get(value) ?? 0
  const targets = spread.SpreadTarget ?? []
  if (targets.length === 0) {
    if (counts.size === 0) return 0
    const [min, max] = [Math.min(...counts.values()), Math.max(...counts.values())]
    if (used !== min) return (min - used) / min
    return min === max ? -1 : (max - min) / min
  }
  const named = targets.find((target) => target.Value === value)
  const rest = 100 - targets.reduce((sum, target) => sum + target.Percent, 0)
  const percent = named?.Percent ?? (rest > 0 ? rest : undefined)
  if (percent === undefined) return -1
  const desired = (percent / 100) * scene.group.Count
  return ((desired - (used + 1)) / desired) * share
}

// Scenarios.

const racks = fc.constantFrom('r1', 'r2', 'r3', undefined)
const nodeFields = fc.record({
  // Few sizes, so that many nodes score the same and the order of IDs decides.
  cpu: fc.constantFrom(1_000, 2_000, 4_000),
  memory: fc.constantFrom(1_000, 2_000),
  rack: racks,
  dc: fc.constantFrom('dc1', 'dc2'),
  kind: fc.constantFrom('big', 'small', ''),
  volumes: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
})

function toNode(
  fields: typeof nodeFields extends fc.Arbitrary<infer T> ? T : never,
  i: number,
): Node {
  const plain = aNode()
  const { rack, dc, kind } = fields
  const volumes = fields.volumes.map((n) => {
    const name = `data[${n}]`
    return [name, { Name: name, Path: '/d', ReadOnly: false, ID: '' }] as const
  })
  return aNode({
    ID: anId('node', i + 1),
    Datacenter: dc,
    NodeClass: kind,
    Meta: rack === undefined ? null : { rack },
    ComputedClass: `v1:${rack}${dc}${kind}`,
    HostVolumes: Object.fromEntries(volumes),
    NodeResources: {
      ...plain.NodeResources,
      Cpu: { CpuShares: fields.cpu, TotalCpuCores: 4, ReservableCpuCores: null },
      Memory: { MemoryMB: fields.memory },
    },
  })
}

const spreads: fc.Arbitrary<readonly Input<Spread>[]> = fc.array(
  fc.record({
    Attribute: fc.constantFrom('${meta.rack}', '${node.datacenter}', '${node.unique.id}'),
    Weight: fc.integer({ min: 1, max: 100 }),
    SpreadTarget: fc.constantFrom(
      null,
      [{ Value: 'r1', Percent: 70 }],
      [
        { Value: 'dc1', Percent: 60 },
        { Value: 'dc2', Percent: 40 },
      ],
    ),
  }),
  { maxLength: 2 },
)

const constraints: fc.Arbitrary<readonly Input<Constraint>[]> = fc.subarray([
  { Operand: 'distinct_hosts' },
  { Operand: 'distinct_property', LTarget: '${meta.rack}', RTarget: '2' },
  { Operand: 'distinct_property', LTarget: '${node.datacenter}', RTarget: '3' },
  { Operand: '!=', LTarget: '${node.class}', RTarget: 'small' },
  { Operand: 'is_set', LTarget: '${meta.rack}' },
])

const rowFields = fc.record({
  node: fc.integer({ min: 1, max: 14 }),
  owner: fc.constantFrom('app', 'beside', 'other'),
  over: fc.constantFrom(false, false, true),
})

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    nodes: fc.array(nodeFields, { minLength: 1, maxLength: 12 }),
    jobConstraints: constraints,
    groupConstraints: constraints,
    jobSpreads: spreads,
    groupSpreads: spreads,
    affinities: fc.subarray([
      { LTarget: '${node.class}', RTarget: 'big', Weight: 40 },
      { LTarget: '${node.datacenter}', RTarget: 'dc2', Weight: -70 },
    ]),
    count: fc.integer({ min: 1, max: 9 }),
    cpu: fc.constantFrom(100, 300, 700),
    fixedPort: fc.constantFrom(false, false, true),
    perAllocation: fc.constantFrom(false, false, false, true),
    rows: fc.array(rowFields, { maxLength: 8 }),
    algorithm: fc.constantFrom('binpack' as const, 'spread' as const),
    penalised: fc.array(fc.integer({ min: 1, max: 14 }), { maxLength: 3 }),
  })
  .map((fields) => {
    const group = aGroup({
      Count: fields.count,
      Constraints: fields.groupConstraints,
      Spreads: fields.groupSpreads,
      Networks: fields.fixedPort ? [{ ReservedPorts: [{ Label: 'p', Value: 80 }] }] : null,
      Volumes: fields.perAllocation
        ? { v: { Type: 'host', Source: 'data', PerAlloc: true } }
        : null,
      Tasks: [aTask({ Resources: { CPU: fields.cpu, MemoryMB: 200 } })],
    })
    const job = aJob({
      Datacenters: ['*'],
      Constraints: fields.jobConstraints,
      Spreads: fields.jobSpreads,
      Affinities: fields.affinities,
      groups: [group, aGroup({ Name: 'beside' })],
    })
    const [asked] = job.TaskGroups
    assert.ok(asked)
    const rows = fields.rows.map((row, i) =>
      anAllocation({
        job: row.owner === 'other' ? aJob({ ID: 'other' }) : job,
        ...(row.owner === 'beside' ? { TaskGroup: 'beside' } : {}),
        ID: anId('alloc', i + 1),
        NodeID: anId('node', row.node),
        ClientStatus: row.over ? 'complete' : 'running',
      }),
    )
    return {
      nodes: fields.nodes.map(toNode),
      job,
      group: asked,
      rows,
      algorithm: fields.algorithm,
      penalised: new Set(fields.penalised.map((n) => anId('node', n))),
    }
  })

function viewOf(scene: Scene): ClusterView {
  const settings = { algorithm: scene.algorithm }
  return aCluster({ nodes: scene.nodes, job: scene.job, allocations: scene.rows, settings })
}

/** The same view with usage columns. */
function inColumns(view: ClusterView, nodes: readonly Node[]): ClusterView {
  const usages = nodes.map((node) => view.usageOn(node.ID))
  return {
    ...view,
    usageColumns: {
      cpuShares: Float64Array.from(usages, (usage) => usage.cpuShares),
      memoryMB: Float64Array.from(usages, (usage) => usage.memoryMB),
      diskMB: Float64Array.from(usages, (usage) => usage.diskMB),
      hasDiscreteUsage: Uint8Array.from(usages, (usage) => usage.ports.size),
      slotOf: (id) => nodes.findIndex((node) => node.ID === id),
    },
  }
}

function placerFor(scene: Scene, view: ClusterView) {
  const rows = scene.rows.filter((row) => row.JobID === scene.job.ID)
  const proposed = new ProposedState(view, rows)
  const { job } = scene
  const placer = new Placer({
    view,
    job,
    evaluation: anEvaluation(job),
    context: seeded(1),
    proposed,
  })
  return { placer, proposed }
}

const RUNS = { numRuns: 400, seed: 11 }

test('property: incremental ranking equals a full scan', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { group, penalised } = scene
      const { placer, proposed } = placerFor(scene, viewOf(scene))
      let rows = scene.rows
      for (let index = 0; index < group.Count + 2; index++) {
        // Sometimes an allocation of the group terminates, so that nodes become available again.
        const leaving =
          index === 3 ? ofGroup(scene, rows).find((row) => !isClientTerminal(row)) : undefined
        if (leaving !== undefined) {
          proposed.stop(leaving)
          rows = rows.filter((row) => row !== leaving)
        }
        const wanted = index % 2 === 0 ? { ...scene, penalised: new Set<string>() } : scene
        const choices = everyNode(wanted, rows, index)
        const placed = placer.place({
          group,
          index,
          ...(index % 2 === 0 ? {} : { penaltyNodeIds: penalised }),
        })
        assert.equal(placed.ok ? placed.row.NodeID : undefined, choices[0]?.id)
        if (!placed.ok) return
        assert.deepEqual(
          decodeTopScores(placed.row.Metrics).map(([id, score]) => ({ id, score })),
          choices.slice(0, 5).map(({ id, score }) => ({ id, score: roundScore(score) })),
        )
        rows = [...rows, placed.row]
      }
    }),
    RUNS,
  )
})

test('property: metrics equal those of a full scan', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { group } = scene
      const { placer } = placerFor(scene, viewOf(scene))
      let rows = scene.rows
      for (let index = 0; index < group.Count; index++) {
        const fit = everyNode(scene, rows, index).length
        const placed = placer.place({ group, index })
        const metrics = placed.ok ? expandMetrics(placed.row.Metrics) : placed.metrics
        const { NodesEvaluated, NodesFiltered, NodesExhausted } = metrics
        assert.equal(NodesEvaluated, scene.nodes.length)
        assert.equal(NodesEvaluated - NodesFiltered - NodesExhausted, fit)
        const sum = (counts: Readonly<Record<string, number>> | null): number =>
          Object.values(counts ?? {}).reduce((total, count) => total + count, 0)
        assert.equal(sum(metrics.ConstraintFiltered), NodesFiltered)
        assert.equal(sum(metrics.DimensionExhausted), NodesExhausted)
        if (!placed.ok) return
        rows = [...rows, placed.row]
      }
    }),
    { numRuns: 200, seed: 12 },
  )
})

test('property: columns and objects give the same plan', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const view = viewOf(scene)
      const place = (seen: ClusterView) => {
        const { placer } = placerFor(scene, seen)
        return Array.from({ length: scene.group.Count }, (_, index) =>
          placer.place({ group: scene.group, index }),
        )
      }
      assert.deepEqual(place(inColumns(view, scene.nodes)), place(view))
    }),
    { numRuns: 100, seed: 13 },
  )
})
