import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aJob } from '../../../test/build/index.ts'
import { jobInRegion, multiregionProblem, startsPending } from './multiregion.ts'

const job: Input<Job> = {
  ID: 'web',
  Datacenters: ['dc1'],
  NodePool: 'default',
  Meta: { team: 'a', tier: 'one' },
  TaskGroups: [{ Name: 'app' }, { Name: 'db', Count: 2 }, { Name: 'none', Count: 0 }],
}

test('job in a region: unset region fields use the job', () => {
  assert.deepEqual(jobInRegion(job, { Name: 'eu' }), job)
})

test('job in a region: region overrides datacenters, pool, meta, counts', () => {
  const region = {
    Name: 'eu',
    Count: 5,
    Datacenters: ['fra'],
    NodePool: 'big',
    Meta: { tier: 'two', zone: 'z' },
  }
  assert.deepEqual(jobInRegion(job, region), {
    ...job,
    Datacenters: ['fra'],
    NodePool: 'big',
    Meta: { team: 'a', tier: 'two', zone: 'z' },
    TaskGroups: [
      { Name: 'app', Count: 5 },
      { Name: 'db', Count: 2 },
      { Name: 'none', Count: 5 },
    ],
  })
})

const region = (Name: string, Count = 0) => ({
  Name,
  Count,
  Datacenters: null,
  NodePool: '',
  Meta: null,
})
const regions = [region('a'), region('b'), region('c')]
const problems = [
  { name: 'no regions', Regions: [], says: /at least one/ },
  { name: 'a region without a name', Regions: [region('')], says: /must have a name/ },
  { name: 'a region twice', Regions: [region('a'), region('a')], says: /"a" twice/ },
  { name: 'a count below zero', Regions: [region('a', -1)], says: /count must be >= 0/ },
  {
    name: 'an unknown way to fail',
    Regions: regions,
    Strategy: { MaxParallel: 1, OnFailure: 'x' },
    says: /on_failure/,
  },
  {
    name: 'less than none at once',
    Regions: regions,
    Strategy: { MaxParallel: -1, OnFailure: '' },
    says: /max_parallel/,
  },
]
for (const { name, says, Strategy = null, Regions } of problems)
  test(`regions of a job: ${name} is invalid`, () => {
    assert.match(multiregionProblem({ Multiregion: { Strategy, Regions } }) ?? '', says)
  })

test('regions of a job: none and named regions are valid', () => {
  assert.equal(multiregionProblem(aJob()), undefined)
  assert.equal(multiregionProblem({ Multiregion: { Strategy: null, Regions: regions } }), undefined)
})

test('regions of a job: regions beyond max_parallel wait', () => {
  const waiting = (MaxParallel: number) =>
    ['a', 'b', 'c'].filter((name) =>
      startsPending(
        { Multiregion: { Strategy: { MaxParallel, OnFailure: '' }, Regions: regions } },
        name,
      ),
    )
  assert.deepEqual(waiting(0), [])
  assert.deepEqual(waiting(1), ['b', 'c'])
  assert.deepEqual(waiting(2), ['c'])
  assert.deepEqual(waiting(9), [])
})
