import assert from 'node:assert/strict'
import test from 'node:test'
import type { DeploymentGroupState } from '@reeve/contract'
import { aJob, anAllocation, anId, NOW_MS } from '../../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import {
  newDeployment,
  newGroupState,
  pauseDeployment,
  progressDeadlines,
  resumeDeployment,
  withGroupStates,
} from './deployment.ts'

const job = aJob()
const plain = newGroupState(job.TaskGroups[0]?.Update ?? assert.fail())
const empty = newDeployment(job, { id: anId('any', 1), timeMs: NOW_MS, priority: 50 })
const MINUTE_MS = 60_000
const DUE = isoFromMs(NOW_MS + MINUTE_MS)

function aDeployment(fields: Partial<DeploymentGroupState>) {
  const state = { ...plain, ProgressDeadline: nsFromMs(MINUTE_MS), ...fields }
  return withGroupStates(empty, new Map([['app', state]]))
}

function unread(): readonly AllocationRow[] {
  assert.fail('its counters tell enough')
}

/** A group with two canaries. */
const trial = { DesiredCanaries: 2, DesiredTotal: 3, PlacedAllocs: 2, HealthyAllocs: 2 }

const due: readonly {
  name: string
  group: Partial<DeploymentGroupState>
  want: boolean
}[] = [
  { name: 'one with too few healthy', group: { DesiredTotal: 3, HealthyAllocs: 2 }, want: true },
  { name: 'one with enough', group: { DesiredTotal: 3, HealthyAllocs: 3 }, want: false },
  { name: 'canaries that wait for a person', group: trial, want: false },
  { name: 'canaries that are not healthy', group: { ...trial, HealthyAllocs: 1 }, want: true },
  { name: 'one that was promoted', group: { ...trial, Promoted: true }, want: true },
]
for (const { name, group, want } of due)
  test(`progress: ${name} ${want ? 'must' : 'need not'} go on`, () => {
    const deployment = aDeployment({ ...group, RequireProgressBy: DUE })
    const wanted = want ? [{ group: 'app', dueMs: NOW_MS + MINUTE_MS }] : []
    assert.deepEqual(progressDeadlines(deployment, unread), wanted)
  })

test('progress: no deadline before placement or while paused', () => {
  assert.deepEqual(progressDeadlines(aDeployment({ DesiredTotal: 1 }), unread), [])
  const deployment = aDeployment({ DesiredTotal: 1, RequireProgressBy: DUE })
  const paused = pauseDeployment(deployment, NOW_MS)
  assert.deepEqual(progressDeadlines(paused, unread), [])
  assert.deepEqual([paused.Status, paused.StatusDescription], ['paused', 'Deployment is paused'])
  const resumed = resumeDeployment(paused, NOW_MS + 90_000)
  assert.deepEqual(progressDeadlines(resumed, unread), [{ group: 'app', dueMs: NOW_MS + 150_000 }])
  assert.deepEqual(
    [resumed.Status, resumed.StatusDescription],
    ['running', 'Deployment is running'],
  )
})

// Sufficient counters: one of four healthy allocations was drained and replaced by a healthy one

const sufficient = { DesiredTotal: 4, PlacedAllocs: 5, HealthyAllocs: 4, RequireProgressBy: DUE }
const LATER_MS = NOW_MS + 10 * MINUTE_MS

function judged(Healthy: boolean | null, fields: Partial<AllocationRow> = {}): AllocationRow {
  const Timestamp = Healthy === null ? ZERO_TIME : isoFromMs(NOW_MS)
  const DeploymentStatus = { Healthy, Timestamp, Canary: false, ModifyIndex: 1 }
  const CreateTime = nsFromMs(NOW_MS)
  return anAllocation({ job, DeploymentID: empty.ID, DeploymentStatus, CreateTime, ...fields })
}

const waited: readonly { name: string; row: AllocationRow; dueMs?: number }[] = [
  { name: 'one that lives and is unhealthy', row: judged(false), dueMs: NOW_MS + MINUTE_MS },
  { name: 'one that lives and is not judged yet', row: judged(null), dueMs: NOW_MS + MINUTE_MS },
  {
    name: 'one that came later has its whole time',
    row: judged(null, { CreateTime: nsFromMs(LATER_MS) }),
    dueMs: LATER_MS + MINUTE_MS,
  },
  {
    name: 'one that turned unhealthy later has its whole time',
    row: judged(false, {
      DeploymentStatus: {
        Healthy: false,
        Timestamp: isoFromMs(LATER_MS),
        Canary: false,
        ModifyIndex: 9,
      },
    }),
    dueMs: LATER_MS + MINUTE_MS,
  },
  {
    name: 'one that changes all the time has no more of it',
    row: judged(false, { ModifyTime: nsFromMs(LATER_MS) }),
    dueMs: NOW_MS + MINUTE_MS,
  },
  { name: 'one that is healthy', row: judged(true) },
  { name: 'one that the servers stopped', row: judged(false, { DesiredStatus: 'stop' }) },
  { name: 'one that failed', row: judged(false, { ClientStatus: 'failed' }) },
  { name: 'one of another deployment', row: judged(false, { DeploymentID: anId('any', 2) }) },
  { name: 'one of another group', row: judged(false, { TaskGroup: 'other' }) },
]
for (const { name, row, dueMs } of waited)
  test(`progress: counters suffice; ${name} is ${dueMs === undefined ? 'not ' : ''}waited for`, () => {
    const wanted = dueMs === undefined ? [] : [{ group: 'app', dueMs }]
    assert.deepEqual(
      progressDeadlines(aDeployment(sufficient), () => [row]),
      wanted,
    )
  })
