import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, ScalingPolicy } from '@reeve/contract'
import { anAllocation } from '../../../test/build/allocation.ts'
import { countedIds } from '../../../test/build/ids.ts'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import {
  scaleTargetProblem,
  scaleRequestProblem,
  withCount,
  type ScaleAction,
  scaleStatus,
  withScalingEvent,
  assignPolicyIds,
} from './scaling.ts'

const WISH: ScaleAction = { group: 'app', count: 2, message: 'more', isError: false, meta: null }

const requests: readonly { wish: Partial<ScaleAction>; want: string | undefined }[] = [
  { wish: {}, want: undefined },
  { wish: { count: undefined }, want: undefined },
  { wish: { count: undefined, message: '', isError: true }, want: undefined },
  { wish: { group: '' }, want: 'missing task group name for scaling action' },
  { wish: { count: -1 }, want: "scaling action count can't be negative" },
  { wish: { isError: true }, want: 'scaling action should not contain count if error is true' },
  {
    wish: { count: 2 ** 60 },
    want: 'new scaling count is too large for TaskGroup.Count (int): 1152921504606847000',
  },
  {
    wish: { message: '' },
    want: 'scaling action needs a message or an error: one of Message or Error must be provided',
  },
  {
    wish: { meta: { note: 'x'.repeat(65_536) } },
    want: 'message and meta of a scaling action exceed maximum size; 65556 > 65536',
  },
]
for (const { wish, want } of requests)
  test(`scale request: ${JSON.stringify(wish).slice(0, 60)} is ${want ?? 'in order'}`, () =>
    assert.equal(scaleRequestProblem({ ...WISH, ...wish }), want))

const jobs: readonly { job: Input<Job>; wish?: Partial<ScaleAction>; want: string | undefined }[] =
  [
    { job: {}, want: undefined },
    {
      job: {},
      wish: { group: 'db' },
      want: 'task group "db" specified for scaling does not exist in job',
    },
    {
      job: { Type: 'system' },
      want: 'jobs of type "system" can only be scaled between 0 and 1',
    },
    { job: { Type: 'system' }, wish: { count: 0 }, want: undefined },
    { job: { TaskGroups: [aGroup({ Scaling: { Min: 1, Max: 2 } })] }, want: undefined },
    {
      job: { TaskGroups: [aGroup({ Scaling: { Min: 3, Max: 5 } })] },
      want: 'group count was less than scaling policy minimum: 2 < 3',
    },
    {
      job: { TaskGroups: [aGroup({ Scaling: { Min: 0, Max: 1 } })] },
      want: 'group count was greater than scaling policy maximum: 2 > 1',
    },
    {
      job: { TaskGroups: [aGroup({ Scaling: { Min: 0, Max: 1 } })] },
      wish: { count: undefined },
      want: undefined,
    },
    {
      job: { TaskGroups: [aGroup(), aGroup({ Name: 'db', Count: 49_999 })] },
      want: 'total count was greater than configured job_max_count: 50001 > 50000',
    },
  ]
for (const { job, wish = {}, want } of jobs)
  test(`scale: ${want ?? `in order with ${JSON.stringify(wish)}`}`, () =>
    assert.equal(scaleTargetProblem(aJob(job), { ...WISH, ...wish }), want))

test('scale: changes only the named group', () => {
  const job = aJob({ groups: [aGroup(), aGroup({ Name: 'db', Count: 3 })] })
  assert.deepEqual(
    withCount(job, WISH).TaskGroups.map(({ Count }) => Count),
    [2, 3],
  )
  assert.equal(withCount(job, { ...WISH, count: 1 }), job)
  assert.equal(withCount(job, { ...WISH, count: undefined }), job)
})

test('scaling events: keeps the newest twenty, newest first', () => {
  const event = (CreateIndex: number) => ({
    Time: 0,
    Count: null,
    PreviousCount: 0,
    Message: '',
    Error: true,
    Meta: null,
    EvalID: null,
    CreateIndex,
  })
  let events: ReturnType<typeof withScalingEvent> = []
  for (let i = 1; i <= 25; i++) events = withScalingEvent(events, event(i))
  assert.deepEqual(
    events.map((one) => one.CreateIndex),
    Array.from({ length: 20 }, (_, i) => 25 - i),
  )
})

test('scale status: counts live allocations without canaries', () => {
  const job = { ...aJob({ groups: [aGroup({ Count: 5 })] }), CreateIndex: 10, ModifyIndex: 12 }
  const health = (Healthy: boolean | null, Canary = false) => ({
    DeploymentStatus: { Healthy, Canary, Timestamp: '', ModifyIndex: 0 },
  })
  const row = (fields: object) => ({ ...anAllocation({ job }), CreateIndex: 11, ...fields })
  const rows = [
    row({ ClientStatus: 'running', ...health(true) }),
    row({ ClientStatus: 'running', ...health(false) }),
    row({ ClientStatus: 'pending', ...health(null) }),
    row({ ClientStatus: 'running', ...health(true, true) }),
    row({ ClientStatus: 'failed' }),
    row({ ClientStatus: 'running', DesiredStatus: 'stop' }),
    row({ ClientStatus: 'running', CreateIndex: 9 }),
    row({ ClientStatus: 'running', TaskGroup: 'gone' }),
  ]
  assert.deepEqual(
    scaleStatus(job, rows, () => []),
    {
      JobID: 'web',
      Namespace: 'default',
      JobCreateIndex: 10,
      JobModifyIndex: 12,
      JobStopped: false,
      TaskGroups: {
        app: { Desired: 5, Placed: 3, Running: 2, Healthy: 1, Unhealthy: 1, Events: null },
      },
    },
  )
})

const SCALED: Input<Job> = {
  TaskGroups: [
    aGroup({
      Scaling: { ID: 'mine', Max: 3 },
      tasks: [aTask({ ScalingPolicies: [{ Type: 'vertical_cpu', Max: 9 }] })],
    }),
  ],
}
const version = (fields: Input<Job>, index: number): Job => ({
  ...aJob(fields),
  JobModifyIndex: index,
})
const policiesOf = (job: Job): readonly (ScalingPolicy | null)[] =>
  job.TaskGroups.flatMap(({ Scaling, Tasks }) => [
    Scaling,
    ...Tasks.flatMap(({ ScalingPolicies }) => ScalingPolicies ?? []),
  ])

test('scaling policies: new ones get IDs and indexes', () => {
  const settled = assignPolicyIds(version(SCALED, 5), [], countedIds())
  assert.deepEqual(
    settled.changed.map(({ ID, CreateIndex, ModifyIndex }) => [
      ID.slice(-1),
      CreateIndex,
      ModifyIndex,
    ]),
    [
      ['1', 5, 5],
      ['2', 5, 5],
    ],
  )
  assert.deepEqual(policiesOf(settled.job), settled.changed)
  assert.deepEqual(settled.removed, [])
})

test('scaling policies: unchanged ones are kept', () => {
  const first = assignPolicyIds(version(SCALED, 5), [], countedIds())
  const again = assignPolicyIds(version(SCALED, 6), first.changed, countedIds())
  assert.deepEqual([again.changed, again.removed], [[], []])
  assert.deepEqual(policiesOf(again.job), first.changed)
})

test('scaling policies: changed one keeps its ID, removed one is deleted', () => {
  const first = assignPolicyIds(version(SCALED, 5), [], countedIds())
  const next = version({ TaskGroups: [aGroup({ Scaling: { Max: 4 } })] }, 6)
  const settled = assignPolicyIds(next, first.changed, countedIds())
  const [group, task] = first.changed
  assert.deepEqual(settled.changed, [{ ...group, Max: 4, ModifyIndex: 6 }])
  assert.deepEqual(settled.removed, [task?.ID])
})

test('scaling policies: disabled for a stopped job', () => {
  const first = assignPolicyIds(version(SCALED, 5), [], countedIds())
  const stopped = assignPolicyIds(
    version({ ...SCALED, Stop: true }, 6),
    first.changed,
    countedIds(),
  )
  assert.deepEqual(
    stopped.changed.map(({ Enabled }) => Enabled),
    [false, false],
  )
  assert.deepEqual(
    policiesOf(stopped.job).map((policy) => policy?.Enabled),
    [true, true],
  )
})

test('scaling policies: equal targets keep distinct IDs', () => {
  const twice: Input<Job> = {
    TaskGroups: [
      aGroup({
        tasks: [
          aTask({
            ScalingPolicies: [
              { Type: 'vertical_cpu', Max: 1 },
              { Type: 'vertical_cpu', Max: 2 },
            ],
          }),
        ],
      }),
    ],
  }
  const first = assignPolicyIds(version(twice, 5), [], countedIds())
  assert.equal(new Set(first.changed.map(({ ID }) => ID)).size, 2)
  const again = assignPolicyIds(version(twice, 6), first.changed, countedIds())
  assert.deepEqual([again.changed, again.removed], [[], []])
})
