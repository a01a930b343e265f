import assert from 'node:assert/strict'
import test from 'node:test'
import { aJob, anAllocation, anId, NOW_MS } from '../../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { applyToCounters, affectsCounters } from './deployment-health.ts'
import { newDeployment, newGroupState, withGroupStates } from './deployment.ts'

const MINUTE_MS = 60_000
const job = aJob()
const [group] = job.TaskGroups
const update = group?.Update ?? assert.fail()
const empty = newDeployment(job, { id: anId('any', 1), timeMs: NOW_MS, priority: 50 })
const deployment = withGroupStates(empty, new Map([['app', newGroupState(update)]]))

const inside = (fields: Partial<AllocationRow> = {}): AllocationRow =>
  anAllocation({ job, DeploymentID: deployment.ID, ModifyTime: nsFromMs(NOW_MS), ...fields })
const saying = (Healthy: boolean | null, Canary = false, ms = NOW_MS + MINUTE_MS) =>
  inside({ DeploymentStatus: { Healthy, Timestamp: isoFromMs(ms), Canary, ModifyIndex: 0 } })

const outside = anAllocation({ job })
const moves: readonly {
  name: string
  before: AllocationRow | undefined
  after: AllocationRow
  want: readonly [placed: number, healthy: number, unhealthy: number]
}[] = [
  { name: 'a new one is placed', before: undefined, after: inside(), want: [1, 0, 0] },
  { name: 'one that joins is placed', before: outside, after: inside(), want: [1, 0, 0] },
  { name: 'one outside counts nothing', before: undefined, after: outside, want: [0, 0, 0] },
  { name: 'one that becomes healthy', before: inside(), after: saying(true), want: [0, 1, 0] },
  { name: 'one that becomes unhealthy', before: inside(), after: saying(false), want: [0, 0, 1] },
  { name: 'one that turns', before: saying(true), after: saying(false), want: [0, -1, 1] },
  { name: 'one that is put right', before: saying(false), after: saying(true), want: [0, 1, -1] },
  { name: 'the same again', before: saying(true), after: saying(true), want: [0, 0, 0] },
  { name: 'new and healthy at once', before: undefined, after: saying(true), want: [1, 1, 0] },
]
for (const { name, before, after, want } of moves)
  test(`deployment counters: ${name}`, () => {
    const state = applyToCounters(deployment, [{ before, after }]).TaskGroups['app']
    assert.deepEqual([state?.PlacedAllocs, state?.HealthyAllocs, state?.UnhealthyAllocs], want)
    assert.equal(
      affectsCounters({ before, after }),
      want.some((count) => count !== 0),
    )
  })

test('deployment counters: stores canary IDs', () => {
  const rows = [1, 2].map((n) => ({ ...saying(null, true), ID: anId('alloc', n) }))
  const changes = rows.map((after) => ({ before: undefined, after }))
  const state = applyToCounters(deployment, changes).TaskGroups['app']
  assert.deepEqual(
    state?.PlacedCanaries,
    rows.map((row) => row.ID),
  )
})

test('deployment counters: placement starts, health extends the deadline', () => {
  const placed = applyToCounters(deployment, [{ before: undefined, after: inside() }])
  assert.equal(placed.TaskGroups['app']?.RequireProgressBy, isoFromMs(NOW_MS + 10 * MINUTE_MS))
  const later = { ...inside({ ModifyTime: nsFromMs(NOW_MS + MINUTE_MS) }), ID: anId('alloc', 2) }
  const again = applyToCounters(placed, [{ before: undefined, after: later }])
  assert.equal(again.TaskGroups['app']?.RequireProgressBy, isoFromMs(NOW_MS + 10 * MINUTE_MS))
  const healthy = applyToCounters(again, [{ before: inside(), after: saying(true) }])
  assert.equal(healthy.TaskGroups['app']?.RequireProgressBy, isoFromMs(NOW_MS + 11 * MINUTE_MS))
  const stale = applyToCounters(healthy, [
    { before: later, after: { ...saying(true, false, NOW_MS), ID: later.ID } },
  ])
  assert.equal(
    stale.TaskGroups['app']?.RequireProgressBy,
    isoFromMs(NOW_MS + 11 * MINUTE_MS),
    'never less',
  )
})

test('deployment counters: without a deadline there is none', () => {
  const state = newGroupState({ ...update, ProgressDeadline: 0 })
  const relaxed = withGroupStates(empty, new Map([['app', state]]))
  const counted = applyToCounters(relaxed, [{ before: undefined, after: saying(true) }])
  assert.equal(counted.TaskGroups['app']?.RequireProgressBy, ZERO_TIME)
})

test('deployment counters: terminal or unknown group is unchanged', () => {
  const change = { before: undefined, after: inside() }
  const ended = { ...deployment, Status: 'failed' as const }
  assert.equal(applyToCounters(ended, [change]), ended)
  assert.equal(applyToCounters(empty, [change]), empty)
})

test('deployment: group may be named like an inherited property', () => {
  const named = withGroupStates(empty, new Map([['__proto__', newGroupState(update)]]))
  assert.deepEqual(Object.keys(named.TaskGroups), ['__proto__'])
  const row = inside({ TaskGroup: 'toString' })
  assert.equal(applyToCounters(named, [{ before: undefined, after: row }]), named)
})
