import assert from 'node:assert/strict'
import test from 'node:test'
import type { DeploymentGroupState } from '@reeve/contract'
import { aJob, anAllocation, anId, NOW_MS } from '../../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import {
  groupsAwaitingPromotion,
  newDeployment,
  newGroupState,
  pauseDeployment,
  promoteGroups,
  promotionProblems,
  shouldAutoPromote,
  withGroupStates,
} from './deployment.ts'

const job = aJob()
const plain = newGroupState(job.TaskGroups[0]?.Update ?? assert.fail())
const empty = newDeployment(job, { id: anId('any', 1), timeMs: NOW_MS, priority: 50 })
const MINUTE_MS = 60_000
const DUE = isoFromMs(NOW_MS + MINUTE_MS)

function aDeployment(...groups: readonly Partial<DeploymentGroupState>[]) {
  const states = groups.map(
    (fields, i) =>
      [`g${i}`, { ...plain, ProgressDeadline: nsFromMs(MINUTE_MS), ...fields }] as const,
  )
  return withGroupStates(empty, new Map(states))
}

/** A group with two canaries. */
const trial: Partial<DeploymentGroupState> = {
  DesiredCanaries: 2,
  DesiredTotal: 3,
  PlacedCanaries: [anId('alloc', 1), anId('alloc', 2)],
  HealthyAllocs: 2,
}

function canary(n: number, Healthy: boolean | null, fields: Partial<AllocationRow> = {}) {
  const DeploymentStatus = { Healthy, Timestamp: ZERO_TIME, Canary: true, ModifyIndex: 1 }
  return anAllocation({ job, ID: anId('alloc', n), DeploymentStatus, ...fields })
}

const finder = (rows: readonly AllocationRow[]) => (id: string) => rows.find((row) => row.ID === id)

const lots: readonly { name: string; rows: readonly AllocationRow[]; have: number }[] = [
  { name: 'all healthy', rows: [canary(1, true), canary(2, true)], have: 2 },
  { name: 'one not known yet', rows: [canary(1, true), canary(2, null)], have: 1 },
  { name: 'one unhealthy', rows: [canary(1, true), canary(2, false)], have: 1 },
  {
    name: 'one ended since',
    rows: [canary(1, true), canary(2, true, { ClientStatus: 'failed' })],
    have: 1,
  },
  {
    name: 'one replaced by another',
    rows: [canary(1, true), canary(2, true, { DesiredStatus: 'stop' })],
    have: 1,
  },
  { name: 'one collected', rows: [canary(1, true)], have: 1 },
]
for (const { name, rows, have } of lots)
  test(`promotion: of canaries with ${name}, ${have} count`, () => {
    const deployment = aDeployment(trial)
    const want = have === 2 ? [] : [`Task group "g0" has ${have}/2 healthy allocations`]
    assert.deepEqual(promotionProblems(deployment, ['g0'], finder(rows)), want)
    const willing = aDeployment({ ...trial, AutoPromote: true })
    assert.equal(shouldAutoPromote(willing, finder(rows)), have === 2)
  })

const healthy = finder([canary(1, true), canary(2, true)])
const auto = { ...trial, AutoPromote: true }
const willing: readonly {
  name: string
  groups: readonly Partial<DeploymentGroupState>[]
  want: boolean
}[] = [
  { name: 'a group without canaries waits for nobody', groups: [auto, {}], want: true },
  { name: 'one group that waits for a person holds all', groups: [auto, trial], want: false },
  { name: 'what was promoted is not again', groups: [{ ...auto, Promoted: true }], want: false },
  { name: 'without canaries there is nothing to promote', groups: [{}], want: false },
  {
    name: 'counters that say too few are believed',
    groups: [{ ...auto, HealthyAllocs: 1 }],
    want: false,
  },
]
for (const { name, groups, want } of willing)
  test(`automatic promotion: ${name}`, () => {
    assert.equal(shouldAutoPromote(aDeployment(...groups), healthy), want)
  })

test('automatic promotion: not while paused', () => {
  assert.equal(shouldAutoPromote(pauseDeployment(aDeployment(auto), NOW_MS), healthy), false)
})

test('promotion: restarts the deadline of promoted groups only', () => {
  const timed = { ...trial, RequireProgressBy: DUE }
  const deployment = aDeployment(timed, timed)
  assert.deepEqual(groupsAwaitingPromotion(deployment), ['g0', 'g1'])
  const laterMs = NOW_MS + 30_000
  const one = promoteGroups(deployment, ['g0'], laterMs)
  assert.deepEqual(
    [one.TaskGroups['g0']?.Promoted, one.TaskGroups['g0']?.RequireProgressBy],
    [true, isoFromMs(laterMs + MINUTE_MS)],
  )
  assert.equal(one.TaskGroups['g1'], deployment.TaskGroups['g1'])
  assert.equal(one.StatusDescription, 'Deployment is running but requires manual promotion')
  const both = promoteGroups(one, groupsAwaitingPromotion(one), laterMs)
  assert.equal(both.StatusDescription, 'Deployment is running')
})
