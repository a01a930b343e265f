import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import fc from 'fast-check'
import { aGroup, aJob, anId, aTask, nodes } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isActiveDeployment, isTerminal, type AllocationRow } from '../model/index.ts'

const NODES = 5

interface Version {
  readonly user: string
  readonly count: number
  readonly canary: number
  readonly maxParallel: number
  readonly priority: number
}

const version: fc.Arbitrary<Version> = fc.record({
  user: fc.constantFrom('a', 'b'),
  count: fc.integer({ min: 0, max: 5 }),
  canary: fc.constantFrom(0, 0, 1, 2),
  maxParallel: fc.integer({ min: 0, max: 3 }),
  priority: fc.constantFrom(50, 60),
})

function toJob(type: string, fields: Version): Job {
  const Count = type === 'system' ? Math.min(1, fields.count) : fields.count
  const group = aGroup({
    Count,
    Tasks: [aTask({ User: fields.user, Resources: { CPU: 10, MemoryMB: 10 } })],
    ...(type === 'batch'
      ? {}
      : {
          Update: {
            Canary: type === 'system' ? fields.canary * 30 : fields.canary,
            MaxParallel: fields.maxParallel,
          },
        }),
    Disconnect: { LostAfter: nsFromMs(600_000) },
  })
  return aJob({ Type: type, Priority: fields.priority, groups: [group] })
}

type Step =
  | { readonly do: 'register'; readonly version: Version }
  | { readonly do: 'health'; readonly pick: number; readonly healthy: boolean }
  | { readonly do: 'fail' | 'move' | 'allow'; readonly pick: number }
  | {
      readonly do: 'node'
      readonly node: number
      readonly status: 'ready' | 'down' | 'disconnected'
    }
  | { readonly do: 'promote' | 'obey' | 'wait' | 'evaluate' }

const pick = fc.nat({ max: 20 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('register' as const), version }),
  fc.record({ do: fc.constant('health' as const), pick, healthy: fc.boolean() }),
  fc.record({ do: fc.constantFrom('fail' as const, 'move' as const, 'allow' as const), pick }),
  fc.record({
    do: fc.constant('node' as const),
    node: fc.integer({ min: 1, max: NODES }),
    status: fc.constantFrom(
      'ready' as const,
      'ready' as const,
      'down' as const,
      'disconnected' as const,
    ),
  }),
  fc.record({
    do: fc.constantFrom('promote' as const, 'obey' as const, 'wait' as const, 'evaluate' as const),
  }),
)

function isHere(world: World, row: AllocationRow): boolean {
  return world.nodes.some((node) => node.ID === row.NodeID && node.Status === 'ready')
}

/** Events of a cluster: actions of agents and operators, and the passage of time. */
function take(world: World, type: string, next: Step): void {
  const rows = world.live.filter((row) => isHere(world, row))
  const row = 'pick' in next ? rows[next.pick % Math.max(1, rows.length)] : undefined
  switch (next.do) {
    case 'register':
      world.register(toJob(type, next.version))
      return
    case 'health':
      if (row !== undefined) world.health([row], next.healthy)
      return
    case 'fail':
      if (row !== undefined) world.report(row, { ClientStatus: 'failed' })
      return
    case 'move':
      if (row !== undefined) world.report(row, { DesiredTransition: { Migrate: true } })
      return
    case 'allow':
      for (const one of world.rows.values())
        if (one.ClientStatus === 'failed' && one.DesiredStatus === 'run')
          world.report(one, { DesiredTransition: { Reschedule: true } })
      return
    case 'node':
      world.setNode(anId('node', next.node), { Status: next.status })
      if (next.status === 'ready') returnOn(world, anId('node', next.node))
      return
    case 'promote':
      if (world.deployment !== undefined && isActiveDeployment(world.deployment)) world.promote()
      return
    case 'obey':
      obeyHere(world)
      return
    case 'wait':
      world.nowMs += 60_000
      return
    case 'evaluate':
      return
  }
}

/** Reconnected agents report their allocations. */
function returnOn(world: World, nodeId: string): void {
  for (const row of world.live)
    if (row.NodeID === nodeId && row.ClientStatus === 'unknown')
      world.report(row, { ClientStatus: 'running' })
}

function obeyHere(world: World): void {
  for (const row of world.rows.values())
    if (row.DesiredStatus !== 'run' && !isEnded(row) && isHere(world, row))
      world.report(row, { ClientStatus: 'complete' })
  const silent = (row: AllocationRow): boolean => (row.DeploymentStatus?.Healthy ?? null) === null
  world.health(
    world.live.filter((row) => isHere(world, row) && silent(row)),
    true,
  )
}

function isEnded({ ClientStatus }: AllocationRow): boolean {
  return ClientStatus === 'complete' || ClientStatus === 'failed' || ClientStatus === 'lost'
}

const histories = fc.record({
  type: fc.constantFrom('service', 'service', 'service', 'batch', 'system'),
  first: version,
  steps: fc.array(step, { maxLength: 14 }),
})
const RUNS = { numRuns: 250, seed: 11 }

function canariesOf(world: World): readonly AllocationRow[] {
  return world.live.filter(
    (row) => row.DeploymentStatus?.Canary === true && row.DeploymentID === world.deployment?.ID,
  )
}

test('property: an applied plan always leaves nothing to do', () => {
  fc.assert(
    fc.property(histories, ({ type, first, steps }) => {
      const world = new World(NODES)
      world.register(toJob(type, first))
      for (const next of steps) {
        take(world, type, next)
        world.evaluate()
        const again = world.evaluate()
        const rows = [again.placements, again.stops, again.updates, again.attributeUpdates]
        assert.deepEqual(
          [...rows.map((list) => list.map((row) => row.Name)), again.followUpEvaluations],
          [[], [], [], [], []],
          `after ${JSON.stringify(next)}`,
        )
        assert.equal(again.deployment, undefined)
      }
    }),
    RUNS,
  )
})

test('property: never more than count, canaries and unknown', () => {
  fc.assert(
    fc.property(histories, ({ type, first, steps }) => {
      const world = new World(NODES)
      world.register(toJob(type, first))
      for (const next of steps) {
        take(world, type, next)
        world.evaluate()
        const group = world.job.TaskGroups[0]
        const canaries = canariesOf(world)
        const state = world.deployment?.TaskGroups['app']
        if (state?.Promoted === false)
          assert.ok(canaries.length <= state.DesiredCanaries, 'never more canaries than asked for')
        const count = (group?.Count ?? 0) * (type === 'system' ? NODES : 1)
        const known = world.live.filter((row) => row.ClientStatus !== 'unknown')
        const beside = type === 'system' || state?.Promoted === true ? 0 : canaries.length
        assert.ok(known.length - beside <= count, 'never more than the count')
      }
    }),
    RUNS,
  )
})

test('property: after recovery the newest version runs everywhere', () => {
  fc.assert(
    fc.property(histories, ({ type, first, steps }) => {
      const world = new World(NODES)
      world.register(toJob(type, first))
      for (const next of steps) {
        take(world, type, next)
        world.evaluate()
      }
      const count = steps.findLast((one) => one.do === 'register')?.version.count ?? first.count
      heal(world, type, { ...first, count })
      const wanted = type === 'system' ? Math.min(1, count) * NODES : count
      const running = world.live.filter((row) => row.JobVersion === world.job.Version)
      assert.deepEqual([running.length, world.live.length], [wanted, wanted])
      const names = new Set(running.map((row) => (type === 'system' ? row.NodeID : row.Name)))
      assert.equal(names.size, wanted, 'each has its own name, or its own node')
      if (world.deployment !== undefined) assert.ok(!isActiveDeployment(world.deployment))
    }),
    RUNS,
  )
})

/** All nodes reconnect, a new version is registered, and agents and operators act as required. */
function heal(world: World, type: string, last: Version): void {
  world.nodes = nodes(NODES)
  for (const node of world.nodes) returnOn(world, node.ID)
  // A new version, so no failure or canary of earlier versions applies.
  world.register(toJob(type, { ...last, user: 'healed' }))
  for (let round = 0; round < 40; round++) {
    world.nowMs += 60_000
    obeyHere(world)
    if (world.deployment !== undefined && isActiveDeployment(world.deployment)) world.promote()
    world.evaluate()
  }
}

test('property: at most max_parallel allocations without a health result', () => {
  const waves = fc.record({
    count: fc.integer({ min: 1, max: 6 }),
    maxParallel: fc.integer({ min: 1, max: 4 }),
    type: fc.constantFrom('service', 'system'),
    healthy: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 30 }),
  })
  fc.assert(
    fc.property(waves, ({ count, maxParallel, type, healthy }) => {
      const fields = { count, canary: 0, maxParallel, priority: 50 }
      const world = new World(NODES)
      world.register(toJob(type, { ...fields, user: 'a' }))
      world.obey()
      world.settle()
      const before = world.live.length
      world.register(toJob(type, { ...fields, user: 'b' }))
      for (const choice of healthy) {
        const unsettled = world.live.filter(
          (row) => row.JobVersion === 1 && (row.DeploymentStatus?.Healthy ?? null) === null,
        )
        assert.ok(unsettled.length <= maxParallel)
        assert.equal(world.live.length, before, 'as many run as ever')
        const row = unsettled[choice % Math.max(1, unsettled.length)]
        if (row !== undefined) world.health([row], true)
        world.evaluate()
      }
    }),
    RUNS,
  )
})

test('property: correct allocations are neither migrated nor stopped', () => {
  const changes = fc.record({
    count: fc.integer({ min: 1, max: 5 }),
    more: fc.nat({ max: 3 }),
    priority: fc.constantFrom(50, 60),
    type: fc.constantFrom('service', 'batch', 'system'),
  })
  fc.assert(
    fc.property(changes, ({ count, more, priority, type }) => {
      const fields = { user: 'a', canary: 1, maxParallel: 1, priority: 50, count }
      const world = new World(NODES)
      world.register(toJob(type, fields))
      world.obey()
      world.settle()
      const before = world.live
      const { stops } = world.register(toJob(type, { ...fields, count: count + more, priority }))
      assert.deepEqual(stops, [])
      for (const row of before) {
        const after = world.rows.get(row.ID)
        assert.deepEqual([after?.NodeID, after?.Name], [row.NodeID, row.Name])
        assert.ok(after !== undefined && !isTerminal(after))
      }
    }),
    RUNS,
  )
})
