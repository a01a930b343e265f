import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job, Node } from '@reeve/contract'
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
} from '../../test/build/index.ts'
import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  isTerminal,
  NO_USAGE,
  type AllocationRow,
} from '../model/index.ts'
import type { Plan } from './plan.ts'
import { schedule } from './schedule.ts'

interface Scene {
  readonly cluster: readonly Node[]
  readonly before: Job
  readonly job: Job
  readonly allocations: readonly AllocationRow[]
}

const nodeFields = fc.record({
  cpu: fc.integer({ min: 0, max: 5_000 }),
  memory: fc.integer({ min: 0, max: 2_000 }),
  rack: fc.constantFrom('r1', 'r2', undefined),
  status: fc.constantFrom('ready' as const, 'ready' as const, 'down' as const),
})

function toNode(
  fields: typeof nodeFields extends fc.Arbitrary<infer T> ? T : never,
  i: number,
): Node {
  const plain = aNode()
  return aNode({
    ID: anId('node', i + 1),
    Status: fields.status,
    Meta: fields.rack === undefined ? null : { rack: fields.rack },
    ComputedClass: `v1:${fields.rack}`,
    NodeResources: {
      ...plain.NodeResources,
      Cpu: { CpuShares: fields.cpu, TotalCpuCores: 4, ReservableCpuCores: [0, 1, 2, 3] },
      Memory: { MemoryMB: fields.memory },
      MinDynamicPort: 100,
      MaxDynamicPort: 105,
    },
  })
}

const groupFields = fc.record({
  count: fc.integer({ min: 0, max: 6 }),
  cpu: fc.integer({ min: 1, max: 1_500 }),
  cores: fc.constantFrom(0, 0, 0, 1),
  memory: fc.integer({ min: 10, max: 500 }),
  ports: fc.integer({ min: 0, max: 2 }),
  fixed: fc.boolean(),
  distinct: fc.constantFrom(undefined, 'distinct_hosts', 'distinct_property'),
})
type GroupFields = typeof groupFields extends fc.Arbitrary<infer T> ? T : never

function toGroup(fields: GroupFields, i: number) {
  const { distinct, cores } = fields
  return aGroup({
    Name: `g${i}`,
    Count: fields.count,
    Constraints: distinct === undefined ? null : [{ Operand: distinct, LTarget: '${meta.rack}' }],
    Networks: [
      {
        DynamicPorts: Array.from({ length: fields.ports }, (_, p) => ({ Label: `d${p}` })),
        ReservedPorts: fields.fixed ? [{ Label: 's', Value: 22 + i }] : [],
      },
    ],
    Tasks: [
      aTask({
        Resources: {
          ...(cores > 0 ? { Cores: cores } : { CPU: fields.cpu }),
          MemoryMB: fields.memory,
        },
      }),
    ],
  })
}

const rowFields = fc.record({
  node: fc.integer({ min: 1, max: 7 }),
  index: fc.integer({ min: 0, max: 7 }),
  group: fc.integer({ min: 0, max: 2 }),
  client: fc.constantFrom('running', 'pending', 'complete', 'failed', 'lost' as const),
  desired: fc.constantFrom('run', 'run', 'run', 'stop' as const),
  migrate: fc.boolean(),
})

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    type: fc.constantFrom('service', 'batch', 'system', 'sysbatch'),
    stop: fc.constantFrom(false, false, false, true),
    nodes: fc.array(nodeFields, { maxLength: 6 }),
    groups: fc.array(groupFields, { minLength: 1, maxLength: 2 }),
    rows: fc.array(rowFields, { maxLength: 8 }),
    change: fc.constantFrom('none', 'in-place', 'destructive'),
  })
  .map(({ type, stop, nodes, groups, rows, change }) => {
    const counted = groups.map((group) =>
      type === 'system' ? { ...group, count: Math.min(1, group.count) } : group,
    )
    const before = { ...aJob({ Type: type, groups: counted.map(toGroup) }), CreateIndex: 1 }
    const user = change === 'destructive' ? 'x' : ''
    const groupsAfter = before.TaskGroups.map((group) => ({
      ...group,
      Tasks: group.Tasks.map((task) => ({ ...task, User: user })),
    }))
    const job: Job = {
      ...before,
      Stop: stop,
      Priority: change === 'none' ? 50 : 60,
      Version: change === 'none' ? 0 : 1,
      TaskGroups: groupsAfter,
    }
    const allocations = rows.map((row, i) =>
      anAllocation({
        job: before,
        index: row.index,
        TaskGroup: before.TaskGroups[row.group]?.Name ?? 'gone',
        ID: anId('alloc', i + 1),
        Name: `web.g${row.group}[${row.index}]`,
        NodeID: anId('node', row.node),
        ClientStatus: row.client,
        DesiredStatus: row.desired,
        ...(row.migrate ? { DesiredTransition: { Migrate: true } } : {}),
      }),
    )
    return { cluster: nodes.map(toNode), before, job, allocations }
  })

function viewOf({ cluster, before, job, allocations }: Scene) {
  return aCluster({ nodes: cluster, job, versions: [before], allocations })
}

function planOf(scene: Scene, seed = 1): Plan {
  return schedule(viewOf(scene), anEvaluation(scene.job), seeded(seed))
}

/** The allocations once the plan is stored. */
function after(scene: Scene, plan: Plan): readonly AllocationRow[] {
  const changed = [...plan.stops, ...plan.updates, ...plan.attributeUpdates]
  const byId = new Map(scene.allocations.map((row) => [row.ID, row]))
  for (const row of changed) byId.set(row.ID, row)
  const created = plan.placements.map((row) => ({ ...row, CreateIndex: 2_000 }))
  return [...byId.values(), ...created]
}

const RUNS = { numRuns: 200, seed: 7 }

test('property: plan never overcommits a node', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const plan = planOf(scene)
      const stopped = new Set(plan.stops.map((row) => row.ID))
      for (const node of scene.cluster) {
        if (!plan.placements.some((row) => row.NodeID === node.ID)) continue
        // Resources of a stopping allocation may be used: the agent starts the new one after the
        // old one has ended.
        const used = after(scene, plan)
          .filter((row) => row.NodeID === node.ID && !isClientTerminal(row) && !stopped.has(row.ID))
          .reduce((usage, row) => addToUsage(usage, chargeOf(row.AllocatedResources)), NO_USAGE)
        assert.ok(used.cpuShares <= node.NodeResources.Cpu.CpuShares, 'cpu')
        assert.ok(used.memoryMB <= node.NodeResources.Memory.MemoryMB, 'memory')
        for (const [port, holders] of used.ports) assert.equal(holders, 1, port)
      }
      const cores = plan.placements.flatMap((row) =>
        (row.AllocatedResources.Tasks['main']?.Cpu.ReservedCores ?? []).map(
          (core) => `${row.NodeID} ${core}`,
        ),
      )
      assert.equal(new Set(cores).size, cores.length, 'cores')
    }),
    RUNS,
  )
})

test('property: equal inputs give equal plans', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      assert.deepEqual(planOf(scene), planOf(scene))
      const shuffled = {
        ...scene,
        cluster: scene.cluster.toReversed(),
        allocations: scene.allocations.toReversed(),
      }
      assert.deepEqual(planOf(shuffled), planOf(scene), 'in whatever order the view names them')
    }),
    RUNS,
  )
})

test('property: placed, delayed and queued add up to the count', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { job } = scene
      if (job.Stop || job.Type === 'system' || job.Type === 'sysbatch') return
      const plan = planOf(scene)
      for (const group of job.TaskGroups) {
        const rows = after(scene, plan).filter((row) => row.TaskGroup === group.Name)
        const live = rows.filter((row) => !isTerminal(row)).length
        assert.ok(live <= group.Count, 'never more than the count')
        const queued = plan.evaluation.QueuedAllocations?.[group.Name] ?? 0
        // Terminal allocations count too: completed work, and failures that are delayed or not
        // replaced.
        const over = rows.filter((row) => isTerminal(row)).length
        assert.ok(live + queued + over >= group.Count, 'never fewer without saying so')
      }
    }),
    RUNS,
  )
})

test('property: everything is placed if capacity suffices', () => {
  fc.assert(
    fc.property(fc.array(groupFields, { minLength: 1, maxLength: 3 }), (groups) => {
      const roomy = groups.map((group): GroupFields => ({
        ...group,
        distinct: undefined,
        fixed: false,
        cores: 0,
      }))
      const job = aJob({ groups: roomy.map(toGroup) })
      const plain = aNode()
      const cluster = Array.from({ length: 20 }, (_, i) => ({ ...plain, ID: anId('node', i + 1) }))
      const plan = planOf({ cluster, before: job, job, allocations: [] })
      const wanted = groups.reduce((sum, group) => sum + group.count, 0)
      assert.equal(plan.placements.length, wanted)
      assert.equal(
        new Set(plan.placements.map((row) => row.Name)).size,
        wanted,
        'each has its name',
      )
      assert.equal(plan.blockedEvaluation, undefined)
    }),
    RUNS,
  )
})

test('property: an applied plan leaves nothing to do', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const first = planOf(scene)
      // Agents have stopped what should stop; the rest is running.
      const settled = after(scene, first).map((row) =>
        row.DesiredStatus === 'stop' && !isClientTerminal(row)
          ? { ...row, ClientStatus: 'complete' as const }
          : row,
      )
      const second = planOf({ ...scene, allocations: settled }, 2)
      const isDone = first.blockedEvaluation === undefined && first.followUpEvaluations.length === 0
      if (!isDone) return
      assert.deepEqual(
        [second.placements, second.stops, second.updates].map((rows) => rows.length),
        [0, 0, 0],
      )
    }),
    RUNS,
  )
})

test('property: every evaluation completes, and blocks only if something is queued', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { evaluation, blockedEvaluation } = planOf(scene)
      assert.equal(evaluation.Status, 'complete')
      const queued = Object.values(evaluation.QueuedAllocations ?? {}).some((count) => count > 0)
      assert.equal(blockedEvaluation !== undefined, queued)
      assert.equal(evaluation.FailedTGAllocs !== null, queued)
    }),
    RUNS,
  )
})
