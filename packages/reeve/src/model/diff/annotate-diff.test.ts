import assert from 'node:assert/strict'
import test from 'node:test'
import type { DesiredUpdates, Input, Job, JobDiff, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { annotateDiff, diffJobs } from './diff-jobs.ts'

const NOTHING: DesiredUpdates = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
}

function annotated(
  before: Job | undefined,
  after: Job | undefined,
  updates: Partial<DesiredUpdates> = {},
): JobDiff {
  const desiredUpdates = { app: { ...NOTHING, ...updates } }
  return annotateDiff(diffJobs(before, after, { contextual: true }), { desiredUpdates })
}

function ofGroup(fields: Input<TaskGroup>): Job {
  return aJob({ groups: [aGroup(fields)] })
}

const UPDATES: readonly [Partial<DesiredUpdates>, Record<string, number>][] = [
  [{}, {}],
  [{ Ignore: 1 }, { ignore: 1 }],
  [
    { Place: 2, Stop: 3 },
    { create: 2, destroy: 3 },
  ],
  [
    { Migrate: 4, Canary: 5 },
    { migrate: 4, canary: 5 },
  ],
  [
    { InPlaceUpdate: 6, DestructiveUpdate: 7 },
    { 'in-place update': 6, 'create/destroy update': 7 },
  ],
  [{ Preemptions: 8, Disconnect: 9, RescheduleNow: 1 }, {}],
]

for (const [updates, names] of UPDATES)
  test(`plan diff: a group says ${JSON.stringify(names)}`, () =>
    assert.deepEqual(annotated(aJob(), aJob(), updates).TaskGroups?.[0]?.Updates, names))

test('plan diff: no updates for groups without a plan', () => {
  const job = aJob({ groups: [aGroup({ Name: 'constructor' })] })
  assert.equal(annotated(job, job).TaskGroups?.[0]?.Updates, null)
})

for (const [before, after, annotations] of [
  [1, 2, ['forces create']],
  [2, 1, ['forces destroy']],
] as const)
  test(`plan diff: a count from ${before} to ${after} ${annotations[0]}s`, () => {
    const diff = annotated(ofGroup({ Count: before }), ofGroup({ Count: after }))
    const [field] = diff.TaskGroups?.[0]?.Fields ?? []
    assert.deepEqual([field?.Name, field?.Annotations], ['Count', annotations])
  })

function taskAnnotations(diff: JobDiff): readonly (readonly string[] | null)[] {
  return (diff.TaskGroups ?? []).flatMap((group) =>
    (group.Tasks ?? []).map((task) => task.Annotations),
  )
}

test('plan diff: tasks of added and removed groups', () => {
  assert.deepEqual(taskAnnotations(annotated(undefined, aJob())), [['forces create']])
  assert.deepEqual(taskAnnotations(annotated(aJob(), undefined)), [['forces destroy']])
})

const IN_PLACE: readonly (readonly [string, Input<Task>])[] = [
  ['the time to end', { KillTimeout: 1 }],
  ['the signal to end', { KillSignal: 'SIGINT' }],
  ['who leads', { Leader: true }],
  ['a service', { Services: [{ Name: 's' }] }],
  ['a constraint', { Constraints: [{ LTarget: 'x', RTarget: '1' }] }],
  ['an affinity', { Affinities: [{ LTarget: 'x', RTarget: '1' }] }],
  ['the size of logs', { LogConfig: { MaxFiles: 3 } }],
  ['the number of restarts', { RestartPolicy: { Attempts: 9 } }],
]
const DESTRUCTIVE: readonly (readonly [string, Input<Task>])[] = [
  ['the user', { User: 'other' }],
  ['the environment', { Env: { A: 'b' } }],
  ['the settings of the driver', { Config: { command: '/bin/false' } }],
  ['what it asks for', { Resources: { CPU: 200 } }],
  ['whether logs are kept', { LogConfig: { Disabled: true, MaxFiles: 3 } }],
  ['a template', { Templates: [{ DestPath: 'x', EmbeddedTmpl: 'y' }] }],
  ['whether restarts render templates', { RestartPolicy: { RenderTemplates: true } }],
  ['something in place and something not', { KillTimeout: 1, User: 'other' }],
]
const TASKS = [
  ...IN_PLACE.map((one) => [...one, 'forces in-place update'] as const),
  ...DESTRUCTIVE.map((one) => [...one, 'forces create/destroy update'] as const),
]

for (const [name, fields, annotation] of TASKS)
  test(`plan diff: ${name} ${annotation}`, () => {
    const diff = annotated(ofGroup({}), ofGroup({ Tasks: [aTask(fields)] }))
    assert.deepEqual(taskAnnotations(diff), [[annotation]])
  })

test('plan diff: added task replaces the allocation', () => {
  const after = ofGroup({ Tasks: [aTask(), aTask({ Name: 'side' })] })
  assert.deepEqual(taskAnnotations(annotated(ofGroup({}), after)), [
    null,
    ['forces create/destroy update'],
  ])
})
