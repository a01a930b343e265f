import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeploymentGroupState, Job, ReschedulePolicy } from '@reeve/contract'
import { aGroup, aJob, anAllocation, anId, NOW_MS } from '../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import {
  LIMITS,
  newDeployment,
  newGroupState,
  withGroupStates,
  type AllocationRow,
} from '../model/index.ts'
import { decideDeploymentProgress } from './decide-deployment.ts'

const MINUTE_NS = nsFromMs(60_000)
const JUDGED = 100
const DEPLOYMENT_ID = anId('any', 1)
const UPDATE = aJob().TaskGroups[0]?.Update ?? assert.fail()

function jobWith(policy: Partial<ReschedulePolicy> = {}, fields: Partial<Job> = {}): Job {
  return { ...aJob({ TaskGroups: [aGroup({ ReschedulePolicy: policy })] }), ...fields }
}

interface Situation {
  readonly job?: Job
  readonly group?: Partial<DeploymentGroupState>
  readonly status?: 'running' | 'paused' | 'failed'
  readonly rows?: readonly AllocationRow[]
  readonly canaries?: readonly AllocationRow[]
  /** Default true: allocations of other versions wait to be updated. */
  readonly hasOtherVersions?: boolean
}

function decide({
  job = jobWith(),
  group = {},
  status = 'running',
  rows = [],
  canaries = [],
  hasOtherVersions = true,
}: Situation) {
  const state = { ...newGroupState(UPDATE), DesiredTotal: 3, ...group }
  const empty = newDeployment(aJob(), { id: DEPLOYMENT_ID, timeMs: NOW_MS, priority: 50 })
  const deployment = { ...withGroupStates(empty, new Map([['app', state]])), Status: status }
  const all = [...rows, ...canaries]
  return decideDeploymentProgress(
    {
      changed: rows,
      processedIndex: JUDGED,
      hasOtherVersions,
      findJob: () => job,
      findAllocation: (id) => all.find(({ ID }) => ID === id),
      findAllocations: () => all,
    },
    deployment,
    NOW_MS,
  )
}

function row(Healthy: boolean | null, fields: Partial<AllocationRow> = {}, index = JUDGED + 1) {
  const DeploymentStatus = { Healthy, Timestamp: ZERO_TIME, Canary: false, ModifyIndex: index }
  return anAllocation({ DeploymentID: DEPLOYMENT_ID, DeploymentStatus, ...fields })
}

const limited = { Unlimited: false, Attempts: 1, Interval: 60 * MINUTE_NS, Delay: MINUTE_NS }
const tried = {
  RescheduleTracker: {
    Events: [
      { RescheduleTime: nsFromMs(NOW_MS - 1_000), PrevAllocID: '', PrevNodeID: '', Delay: 0 },
    ],
    LastReschedule: 'ok',
  },
}

const QUARANTINE = { Reason: '', NodeIDs: [], Time: 0, Version: 0, CreateIndex: 0 }

// Health

const cases: readonly {
  name: string
  situation: Situation
  want: { marks?: number; evaluates?: boolean; failure?: string; promotes?: boolean }
}[] = [
  { name: 'nothing changed, nothing happens', situation: {}, want: {} },
  {
    name: 'one that became healthy lets the next have their turn',
    situation: { rows: [row(true)] },
    want: { evaluates: true },
  },
  {
    name: 'where nothing waits for its turn, healthy ones are only counted',
    situation: { rows: [row(true)], hasOtherVersions: false, group: { HealthyAllocs: 2 } },
    want: {},
  },
  {
    name: 'until all of it is healthy',
    situation: { rows: [row(true)], hasOtherVersions: false, group: { HealthyAllocs: 3 } },
    want: { evaluates: true },
  },
  {
    name: 'health that was acted on is no news',
    situation: { rows: [row(true, {}, JUDGED)] },
    want: {},
  },
  { name: 'one whose health is not known is none', situation: { rows: [row(null)] }, want: {} },
  {
    name: 'an unhealthy one may be replaced',
    situation: { rows: [row(false, { ClientStatus: 'failed' })] },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'after a start, one that nobody marked is marked still',
    situation: { rows: [row(false, {}, JUDGED)] },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'one that was healthy and failed later may be replaced',
    situation: { rows: [row(true, { ClientStatus: 'failed' }, JUDGED)] },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'one that was healthy, failed later and has no attempt left fails nothing',
    situation: {
      job: jobWith(limited),
      rows: [row(true, { ClientStatus: 'failed', ...tried }, JUDGED)],
    },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'a quarantined job fails it at once',
    situation: { job: jobWith({}, { Quarantine: QUARANTINE }), rows: [row(null)] },
    want: { failure: 'Failed because the job is quarantined' },
  },
  {
    name: 'one that is marked is not marked again',
    situation: { rows: [row(false, { DesiredTransition: { Reschedule: true } }, JUDGED)] },
    want: {},
  },
  {
    name: 'one that the servers stopped no longer matters',
    situation: { rows: [row(false, { DesiredStatus: 'stop' })] },
    want: {},
  },
  {
    name: 'one that left for another deployment does not either',
    situation: { rows: [row(false, { DeploymentID: anId('any', 2) })] },
    want: {},
  },
  {
    name: 'without a progress deadline an unhealthy one fails it',
    situation: { rows: [row(false)], group: { ProgressDeadline: 0 } },
    want: { failure: 'Failed due to unhealthy allocations' },
  },
  {
    name: 'an unhealthy one of a group that reschedules nothing fails it',
    situation: { rows: [row(false)], job: jobWith({ Unlimited: false, Attempts: 0 }) },
    want: { failure: 'Failed due to unhealthy allocations' },
  },
  {
    name: 'the last attempt is one still',
    situation: { rows: [row(false)], job: jobWith(limited) },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'after the last attempt it fails',
    situation: { rows: [row(false, tried)], job: jobWith(limited) },
    want: { failure: 'Failed due to unhealthy allocations' },
  },
  {
    name: 'attempts that are long past count no more',
    situation: {
      rows: [row(false, tried)],
      job: jobWith({ ...limited, Interval: nsFromMs(500), Delay: 0 }),
    },
    want: { marks: 1, evaluates: true },
  },
  {
    name: 'unhealthy ones fail it also while it is paused',
    situation: { status: 'paused', rows: [row(false)], group: { ProgressDeadline: 0 } },
    want: { failure: 'Failed due to unhealthy allocations' },
  },
  {
    name: 'one that has ended is left alone',
    situation: { status: 'failed', rows: [row(false), row(true)] },
    want: {},
  },
  {
    name: 'of a job at another version nothing is decided',
    situation: {
      job: jobWith({}, { Version: 1 }),
      rows: [row(false)],
      group: { ProgressDeadline: 0 },
    },
    want: {},
  },
  {
    name: 'of a stopped job neither',
    situation: { job: jobWith({}, { Stop: true }), rows: [row(true)] },
    want: {},
  },
]
for (const { name, situation, want } of cases)
  test(`deployment: ${name}`, () => {
    const decision = decide(situation)
    assert.deepEqual(
      {
        marks: decision.toReschedule.length,
        evaluates: decision.shouldEvaluate,
        failure: decision.failure?.description,
        promotes: decision.shouldPromote,
      },
      { marks: 0, evaluates: false, failure: undefined, promotes: false, ...want },
    )
  })

test('deployment: unhealthy system job fails, because nothing replaces it', () => {
  const decision = decide({ job: aJob({ Type: 'system' }), rows: [row(false)] })
  assert.equal(decision.failure?.description, 'Failed due to unhealthy allocations')
})

// Reasons

const failedTask = (Type: string, DisplayMessage: string, Failed = true) => ({
  web: { Failed, Events: [{ Type: 'Started' }, { Type, DisplayMessage }, { Type: 'Killing' }] },
})

const reasons: readonly {
  name: string
  rows: readonly AllocationRow[]
  group?: Partial<DeploymentGroupState>
  want: RegExp
}[] = [
  {
    name: 'how the task failed',
    rows: [row(false, { TaskStates: failedTask('Terminated', 'Exit Code: 3') })],
    want: /^allocation [0-9a-f]{8} of group "app", task "web": Exit Code: 3$/,
  },
  {
    name: 'the check that did not pass',
    rows: [row(false, { TaskStates: failedTask('Alloc Unhealthy', 'not healthy: alive', false) })],
    want: /task "web": not healthy: alive$/,
  },
  {
    name: 'the newest allocation that has a reason',
    rows: [
      row(false, { ModifyIndex: 5, TaskStates: failedTask('Terminated', 'old') }),
      row(false, { ModifyIndex: 7, TaskStates: failedTask('Driver Failure', 'new\n\tlines') }),
      row(false, { ModifyIndex: 9, TaskStates: null }),
    ],
    want: /: new lines$/,
  },
  {
    name: 'nothing where no allocation has a reason',
    rows: [row(false, { TaskStates: failedTask('Received', 'x') })],
    want: /^$/,
  },
  {
    name: 'the reason also at the progress deadline',
    rows: [row(null, { TaskStates: failedTask('Driver Failure', 'no such image', false) })],
    group: { RequireProgressBy: isoFromMs(NOW_MS), ProgressDeadline: 1 },
    want: /: no such image$/,
  },
  {
    name: 'a reason of the limit in full',
    rows: [
      row(false, {
        TaskStates: failedTask('Terminated', 'a'.repeat(LIMITS.failureReasonCharsMax)),
      }),
    ],
    want: /"web": a{300}$/,
  },
  {
    name: 'a longer one cut',
    rows: [
      row(false, {
        TaskStates: failedTask('Terminated', 'a'.repeat(LIMITS.failureReasonCharsMax + 1)),
      }),
    ],
    want: /"web": a{300}…$/,
  },
]
for (const { name, rows, group = { ProgressDeadline: 0 }, want } of reasons)
  test(`deployment: failure reason names ${name}`, () => {
    assert.match(decide({ rows, group }).failure?.reason ?? assert.fail('it goes on'), want)
  })

// Reverts

for (const AutoRevert of [true, false])
  test(`deployment: a group ${AutoRevert ? 'that asks' : 'that does not ask'} to be reverted`, () => {
    const { failure } = decide({ rows: [row(false)], group: { ProgressDeadline: 0, AutoRevert } })
    assert.equal(failure?.hasAutoRevert, AutoRevert)
  })

// Time

const PAST = isoFromMs(NOW_MS)
const AHEAD = isoFromMs(NOW_MS + 1)
const times: readonly {
  name: string
  situation: Situation
  failure?: string
  nextMs?: number
}[] = [
  {
    name: 'is looked at again when its time is over',
    situation: { group: { RequireProgressBy: AHEAD } },
    nextMs: NOW_MS + 1,
  },
  {
    name: 'fails when its time is over',
    situation: { group: { RequireProgressBy: PAST } },
    failure: 'Failed due to progress deadline',
  },
  {
    name: 'does not fail while it is paused',
    situation: { status: 'paused', group: { RequireProgressBy: PAST } },
  },
  {
    name: 'does not fail when enough is healthy',
    situation: { group: { RequireProgressBy: PAST, HealthyAllocs: 3 } },
  },
  {
    name: 'fails when its counters are enough, but one that lives is unhealthy',
    situation: {
      group: { RequireProgressBy: PAST, HealthyAllocs: 3, PlacedAllocs: 4 },
      rows: [row(false, { DesiredTransition: { Reschedule: true } }, JUDGED)],
    },
    failure: 'Failed due to progress deadline',
  },
  {
    name: 'does not fail while its canaries wait for a person',
    situation: { group: { RequireProgressBy: PAST, HealthyAllocs: 1, DesiredCanaries: 1 } },
  },
]
for (const { name, situation, failure, nextMs } of times)
  test(`deployment: without progress ${name}`, () => {
    const decision = decide(situation)
    assert.deepEqual([decision.failure?.description, decision.nextCheckMs], [failure, nextMs])
  })

// Promotion

test('deployment: healthy canaries with auto_promote are promoted', () => {
  const status = { Healthy: true, Timestamp: ZERO_TIME, Canary: true, ModifyIndex: 1 }
  const canary = row(true, { DeploymentStatus: status })
  const group = {
    AutoPromote: true,
    DesiredCanaries: 1,
    HealthyAllocs: 1,
    PlacedCanaries: [canary.ID],
  }
  assert.equal(decide({ group, canaries: [canary] }).shouldPromote, true)
  assert.equal(
    decide({ group: { ...group, AutoPromote: false }, canaries: [canary] }).shouldPromote,
    false,
  )
  assert.equal(decide({ group, canaries: [canary], status: 'paused' }).shouldPromote, false)
})
