import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { jobSpecChanged, jobUpdateProblem } from './job.ts'

const stored: Job = {
  ...aJob({ groups: [aGroup({ Scaling: { ID: 'policy-1', Max: 3 } })] }),
  Status: 'running',
  StatusDescription: 'x',
  Stable: true,
  Version: 7,
  SubmitTime: 1,
  ServiceTokenID: 'someone',
  CreateIndex: 1,
  ModifyIndex: 2,
  JobModifyIndex: 3,
}
const submitted = aJob({ groups: [aGroup({ Scaling: { Max: 3 } })] })

test('spec change: server fields are ignored', () => {
  assert.equal(jobSpecChanged(stored, submitted), false)
})

const changes: readonly { name: string; job: Job }[] = [
  { name: 'the priority', job: { ...submitted, Priority: 51 } },
  { name: 'that it is stopped', job: { ...submitted, Stop: true } },
  { name: 'a count', job: aJob({ groups: [aGroup({ Count: 2, Scaling: { Max: 3 } })] }) },
  {
    name: 'the configuration of a driver, deep inside',
    job: aJob({
      groups: [aGroup({ Scaling: { Max: 3 }, Tasks: [aTask({ Config: { command: ['x'] } })] })],
    }),
  },
  {
    name: 'a bound of scaling',
    job: aJob({ groups: [aGroup({ Scaling: { Max: 4 } })] }),
  },
]
for (const { name, job } of changes)
  test(`spec change: ${name} is a change`, () => assert.equal(jobSpecChanged(stored, job), true))

test('spec change: key order is ignored', () => {
  const job = (config: Record<string, unknown>): Job =>
    aJob({ groups: [aGroup({ tasks: [aTask({ Config: config })] })] })
  assert.equal(
    jobSpecChanged(job({ a: 1, b: { c: 2, d: 3 } }), job({ b: { d: 3, c: 2 }, a: 1 })),
    false,
  )
})

const periodic = { Type: 'batch', Periodic: { Spec: '@daily' } }
const parameterized = { Type: 'batch', ParameterizedJob: {} }
const refusals: readonly {
  before: Job | undefined
  after: Job
  want: string | undefined
}[] = [
  { before: undefined, after: aJob(), want: undefined },
  {
    before: undefined,
    after: aJob({ Dispatched: true }),
    want: "job can't be submitted with 'Dispatched' set",
  },
  { before: aJob(), after: aJob({ Priority: 1 }), want: undefined },
  {
    before: aJob(),
    after: aJob({ Type: 'batch' }),
    want: 'cannot update job from type "service" to "batch"',
  },
  {
    before: aJob(periodic),
    after: aJob({ Type: 'batch' }),
    want: 'cannot update periodic job to being non-periodic',
  },
  {
    before: aJob({ Type: 'batch' }),
    after: aJob(periodic),
    want: 'cannot update non-periodic job to being periodic',
  },
  {
    before: aJob(parameterized),
    after: aJob({ Type: 'batch' }),
    want: 'cannot update parameterized job to being non-parameterized',
  },
  {
    before: aJob({ Type: 'batch' }),
    after: aJob(parameterized),
    want: 'cannot update non-parameterized job to being parameterized',
  },
  {
    before: aJob(),
    after: aJob({ Dispatched: true }),
    want: "field 'Dispatched' is read-only",
  },
]
for (const { before, after, want } of refusals)
  test(`job update: ${want ?? 'allowed'}`, () =>
    assert.equal(jobUpdateProblem(before, after), want))
