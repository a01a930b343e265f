import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aJob } from '../../../test/build/job.ts'
import { lastLaunchMs, launchRecordAfterUpdate } from './periodic.ts'

const hourly: Input<Job> = { Type: 'batch', Periodic: { Spec: '@hourly' } }
const daily: Input<Job> = { Type: 'batch', Periodic: { Spec: '@daily' } }

const cases: readonly {
  name: string
  before?: Input<Job>
  after: Input<Job>
  want: 'new' | 'keep' | 'none'
}[] = [
  { name: 'a new schedule begins now', after: hourly, want: 'new' },
  {
    name: 'the same schedule goes on',
    before: hourly,
    after: { ...hourly, Priority: 1 },
    want: 'keep',
  },
  { name: 'another schedule begins now', before: hourly, after: daily, want: 'new' },
  {
    name: 'another rule of overlap begins now',
    before: hourly,
    after: { ...hourly, Periodic: { Spec: '@hourly', ProhibitOverlap: true } },
    want: 'new',
  },
  {
    name: 'a stopped job has none',
    before: hourly,
    after: { ...hourly, Stop: true },
    want: 'none',
  },
  {
    name: 'one that is started again begins now',
    before: { ...hourly, Stop: true },
    after: hourly,
    want: 'new',
  },
  {
    name: 'a disabled schedule is none',
    after: { ...hourly, Periodic: { Spec: '@hourly', Enabled: false } },
    want: 'none',
  },
  {
    name: 'a job that waits for its dispatch has none',
    after: { ...hourly, ParameterizedJob: {} },
    want: 'none',
  },
  {
    name: 'its dispatched child has one',
    after: { ...hourly, ParameterizedJob: {}, Dispatched: true },
    want: 'new',
  },
  { name: 'a job that is not periodic has none', after: {}, want: 'none' },
]
for (const { name, before, after, want } of cases)
  test(`launch record: ${name}`, () => {
    const record = launchRecordAfterUpdate(
      before === undefined ? undefined : aJob(before),
      aJob(after),
      5_000,
    )
    if (record === undefined || record === 'keep') return assert.equal(record ?? 'none', want)
    assert.equal(want, 'new')
    assert.equal(lastLaunchMs(record), 5_000)
  })
