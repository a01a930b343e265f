import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aGroup, aJob } from '../../../test/build/job.ts'
import { jobStatus, type JobStatusInputs } from './job.ts'

const nothing: JobStatusInputs = {
  hasActiveDeployment: false,
  hasLiveAllocation: false,
  hasOpenEvaluation: false,
  hadEvaluation: false,
}

const cases: readonly {
  name: string
  job?: Input<Job>
  facts?: Partial<JobStatusInputs>
  want: string
}[] = [
  { name: 'a new job waits', want: 'pending' },
  { name: 'a system job runs by itself', job: { Type: 'system' }, want: 'running' },
  { name: 'until it is stopped', job: { Type: 'system', Stop: true }, want: 'dead' },
  {
    name: 'a periodic job runs by itself',
    job: { Type: 'batch', Periodic: {} },
    facts: { hadEvaluation: true },
    want: 'running',
  },
  {
    name: 'a parameterized job runs by itself',
    job: { Type: 'batch', ParameterizedJob: {} },
    want: 'running',
  },
  {
    name: 'a dispatched child is a job like any other',
    job: { Type: 'batch', ParameterizedJob: {}, Dispatched: true },
    facts: { hadEvaluation: true },
    want: 'dead',
  },
  {
    name: 'a deployment that goes on means running, also of a stopped job',
    job: { Stop: true },
    facts: { hasActiveDeployment: true },
    want: 'running',
  },
  {
    name: 'a live allocation means running',
    facts: { hasLiveAllocation: true, hasOpenEvaluation: true },
    want: 'running',
  },
  {
    name: 'an open evaluation means pending, also of a stopped job',
    job: { Stop: true },
    facts: { hasOpenEvaluation: true, hadEvaluation: true },
    want: 'pending',
  },
  {
    name: 'only ended evaluations mean that batch work is done',
    job: { Type: 'batch' },
    facts: { hadEvaluation: true },
    want: 'dead',
  },
  {
    name: 'a service with a count is never dead',
    facts: { hadEvaluation: true },
    want: 'pending',
  },
  {
    name: 'a service that was scaled to nothing is',
    job: { TaskGroups: [aGroup({ Count: 0 })] },
    facts: { hadEvaluation: true },
    want: 'dead',
  },
  { name: 'a stopped job without anything is dead', job: { Stop: true }, want: 'dead' },
]
for (const { name, job, facts, want } of cases)
  test(`job status: ${name}`, () => {
    assert.equal(jobStatus(aJob(job), { ...nothing, ...facts }), want)
  })
