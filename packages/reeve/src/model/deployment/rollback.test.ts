import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import { aJob } from '../../../test/build/index.ts'
import { decideRollback, isCurrentDeployment } from './deployment.ts'

const version = (Version: number, fields: Partial<Job> = {}): Job => ({
  ...aJob(),
  Version,
  Priority: 10 + Version,
  ...fields,
})
const stable = { Stable: true }
const current = version(3)

const cases: readonly {
  name: string
  versions: readonly Job[]
  target: number | undefined
  suffix: string
}[] = [
  {
    name: 'goes back to the newest stable version',
    versions: [version(0, stable), version(1, stable), version(2), current],
    target: 1,
    suffix: ' - rolling back to job version 1',
  },
  {
    name: 'without a stable version there is nothing to go back to',
    versions: [version(0), current],
    target: undefined,
    suffix: ' - no stable job version to auto revert to',
  },
  {
    name: 'a version that asks for the same would fail the same way',
    versions: [version(1, { ...stable, Priority: current.Priority }), current],
    target: undefined,
    suffix: ' - not rolling back to stable job version 1 as current job has same specification',
  },
  {
    name: 'a version that was only there to stop the job is none to go back to',
    versions: [version(0, stable), version(1, { ...stable, Stop: true }), current],
    target: 0,
    suffix: ' - rolling back to job version 0',
  },
  {
    name: 'what is left of a purged job with the same id is nothing to go back to',
    versions: [version(1, { ...stable, CreateIndex: current.CreateIndex - 1 }), current],
    target: undefined,
    suffix: ' - no stable job version to auto revert to',
  },
]
for (const { name, versions, target, suffix } of cases)
  test(`rollback: ${name}`, () => {
    const rollback = decideRollback(current, versions)
    assert.deepEqual([rollback.target?.Version, rollback.suffix], [target, suffix])
  })

const rolledOut = { JobVersion: 3, JobCreateIndex: current.CreateIndex }
const jobs = [
  { name: 'at its version', job: current, want: true },
  { name: 'at another version', job: version(4), want: false },
  { name: 'stopped', job: version(3, { Stop: true }), want: false },
  { name: 'registered anew', job: version(3, { CreateIndex: 99 }), want: false },
]
for (const { name, job, want } of jobs)
  test(`rollback: a job that is ${name} is ${want ? '' : 'not '}rolled out by the deployment`, () => {
    assert.equal(isCurrentDeployment(rolledOut, job), want)
  })
