import assert from 'node:assert/strict'
import test from 'node:test'
import { Job, JobDiff, type Input } from '@reeve/contract'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { changedAt, fullJob, leafPaths } from '../../../test/build/full-job.ts'
import { inputOf } from '../../../test/build/input-arbitrary.ts'
import { canonicalizeJob } from '../canonical/canonicalize-job.ts'
import { jobSpecChanged } from '../job/job.ts'
import { diffJobs } from './diff-jobs.ts'

const DEFAULTS = { region: 'eu', namespace: 'team', nodePool: 'workers' }
const texts = fc.constantFrom('', 'a', 'b', 'service', 'a[b]', '__proto__', 'constructor', 'ü')
// Values of the schema's shape with fields omitted or null are Input<Job> by definition.
const inputs = inputOf(Job, texts) as fc.Arbitrary<Input<Job>>
const jobs = inputs.map((input) => withOwnNames(canonicalizeJob({ ...input, ID: 'web' }, DEFAULTS)))
const contexts = fc.boolean()

/** Gives groups of a job, and tasks of a group, unique names, as validation requires. */
function withOwnNames(job: Job): Job {
  return {
    ...job,
    TaskGroups: uniqueNames(job.TaskGroups).map((group) => ({
      ...group,
      Tasks: uniqueNames(group.Tasks),
    })),
  }
}

function uniqueNames<T extends { readonly Name: string }>(named: readonly T[]): readonly T[] {
  const names = new Set<string>()
  return named.filter(({ Name }) => names.size < names.add(Name).size)
}

test('diff: job and itself have no changes', () => {
  fc.assert(
    fc.property(jobs, contexts, (job, contextual) => {
      const copy = structuredClone(job)
      assert.equal(jobSpecChanged(job, copy), false)
      assert.equal(diffJobs(job, copy, { contextual }).Type, 'None')
    }),
    { numRuns: 60, seed: 1 },
  )
})

test('diff: reverse diff is inverted', () => {
  fc.assert(
    fc.property(jobs, jobs, contexts, (a, b, contextual) => {
      const there = diffJobs(a, b, { contextual })
      const back = diffJobs(b, a, { contextual })
      assert.deepEqual(sorted(turned(there)), sorted(back))
    }),
    { numRuns: 60, seed: 2 },
  )
})

test('diff: one side only is all added or deleted', () => {
  fc.assert(
    fc.property(jobs, contexts, (job, contextual) => {
      const came = diffJobs(undefined, job, { contextual })
      const allowed = contextual ? ['Added', 'None'] : ['Added']
      assert.deepEqual(
        typesOf(came).filter((type) => !allowed.includes(type)),
        [],
      )
      assert.deepEqual(sorted(turned(came)), sorted(diffJobs(job, undefined, { contextual })))
      assert.deepEqual([...Value.Errors(JobDiff, came)], [])
    }),
    { numRuns: 40, seed: 3 },
  )
})

function typesOf(diff: JobDiff): readonly string[] {
  const types = JSON.stringify(diff).matchAll(/"Type":"(\w+)","(?:Name|ID)"/g)
  return [...types].map(([, type = '']) => type)
}

test('diff: order of sets and keys does not matter', () => {
  fc.assert(
    fc.property(jobs, jobs, (a, b) => {
      const straight = diffJobs(a, b, { contextual: true })
      assert.deepEqual(diffJobs(reversed(a), reversed(b), { contextual: true }), straight)
    }),
    { numRuns: 60, seed: 4 },
  )
})

const UNSEEN = [
  'CreateIndex',
  'DiscoveryToken',
  'JobModifyIndex',
  'Message',
  'Migrate.*',
  'ModifyIndex',
  'NodeLosses.*',
  'Origin',
  'Quarantine.*',
  'Reschedule.*',
  'SecretStoreToken',
  'ServiceTokenID',
  'Stable',
  'Status',
  'StatusDescription',
  'SubmitTime',
  'SubmittedBy.*',
  'TaskGroups.Networks.CIDR',
  'TaskGroups.Networks.Device',
  'TaskGroups.Networks.DynamicPorts.Value',
  'TaskGroups.Networks.IP',
  'TaskGroups.Scaling.CreateIndex',
  'TaskGroups.Scaling.ID',
  'TaskGroups.Scaling.ModifyIndex',
  'TaskGroups.Scaling.Target.key',
  'TaskGroups.Services.CheckRestart.Grace',
  'TaskGroups.Services.CheckRestart.IgnoreWarnings',
  'TaskGroups.Services.CheckRestart.Limit',
  'TaskGroups.Tasks.Resources.Networks.CIDR',
  'TaskGroups.Tasks.Resources.Networks.Device',
  'TaskGroups.Tasks.Resources.Networks.DynamicPorts.Value',
  'TaskGroups.Tasks.Resources.Networks.IP',
  'TaskGroups.Tasks.ScalingPolicies.CreateIndex',
  'TaskGroups.Tasks.ScalingPolicies.ID',
  'TaskGroups.Tasks.ScalingPolicies.ModifyIndex',
  'TaskGroups.Tasks.ScalingPolicies.Target.key',
  'TaskGroups.Tasks.Services.CheckRestart.Grace',
  'TaskGroups.Tasks.Services.CheckRestart.IgnoreWarnings',
  'TaskGroups.Tasks.Services.CheckRestart.Limit',
  'TaskGroups.Update.Stagger',
  'Update.*',
  'Version',
  'VersionTag.*',
]

const SERVER_BLOCKS =
  /^(Update|Migrate|NodeLosses|Quarantine|Reschedule|SubmittedBy|VersionTag)\..*/

test('diff: every compared field is detected', () => {
  const job = fullJob()
  const unseen = leafPaths(job)
    .filter(([name]) => name !== 'ID')
    .filter((path) => {
      const diff = diffJobs(job, changedAt(job, path), { contextual: true })
      return diff.Type === 'None'
    })
    .map((path) => path.filter((name) => name !== '0').join('.'))
    .map((path) => path.replace(SERVER_BLOCKS, '$1.*'))
  assert.deepEqual([...new Set(unseen)].toSorted(), UNSEEN)
})

/** Returns the reverse of a diff: added becomes deleted, and the values are swapped. */
function turned(diff: JobDiff): unknown {
  return JSON.parse(JSON.stringify(diff), (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('Type' in value)) return value
    const Type =
      value.Type === 'Added' ? 'Deleted' : value.Type === 'Deleted' ? 'Added' : value.Type
    return 'Old' in value && 'New' in value
      ? { ...value, Type, Old: value.New, New: value.Old }
      : { ...value, Type }
  })
}

/** Sorts every list. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(sorted).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

/** Lists with significant order, and opaque structures. */
const ORDERED = new Set('Args Servers Searches Options Config Policy Connect Header'.split(' '))

function reversed(job: Job): Job {
  const turn = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turn).toReversed()
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, ORDERED.has(name) ? inner : turn(inner)]),
    )
  }
  // The same job with its lists reversed.
  return turn(job) as Job
}
