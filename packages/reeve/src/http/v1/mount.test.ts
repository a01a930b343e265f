import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes } from '@reeve/contract'
import { jobPathSuffix, compileJobPaths, isJobRoute } from './mount.ts'

const match = compileJobPaths(Object.values(v1Routes).filter(isJobRoute))

const cases: readonly [string, string, Record<string, string>][] = [
  ['web', '', { job_id: 'web' }],
  ['web/summary', '/summary', { job_id: 'web' }],
  ['web/periodic/force', '/periodic/force', { job_id: 'web' }],
  ['web/dispatch/payload', '/dispatch/payload', { job_id: 'web' }],
  ['web/dispatch-1-abc/allocations', '/allocations', { job_id: 'web/dispatch-1-abc' }],
  ['web/periodic-17', '', { job_id: 'web/periodic-17' }],
  ['a/b/c/versions', '/versions', { job_id: 'a/b/c' }],
  ['web/versions/gold/tag', '/versions/:tag_name/tag', { job_id: 'web', tag_name: 'gold' }],
  ['web/unknown', '', { job_id: 'web/unknown' }],
  ['summary', '', { job_id: 'summary' }],
  ['web%2Fsummary', '', { job_id: 'web/summary' }],
  ['web%2fsummary/summary', '/summary', { job_id: 'web/summary' }],
  ['a%2Fb%20c/%73ummary', '/summary', { job_id: 'a/b c' }],
  ['versions%2Fx%2Ftag', '', { job_id: 'versions/x/tag' }],
]
for (const [rest, suffix, params] of cases)
  test(`job path ${rest} is the job ${params['job_id']} ${suffix}`, () =>
    assert.deepEqual(match(rest), { path: `/v1/job/:job_id${suffix}`, params }))

for (const url of ['/v1/job/a%2Fb/plan', 'http://reeve.example:4646/v1/job/a%2Fb/plan'])
  test(`job path: the suffix of ${url}`, () =>
    assert.equal(jobPathSuffix(`${url}?namespace=x/y`), 'a%2Fb/plan'))
