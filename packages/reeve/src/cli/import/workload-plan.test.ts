import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobVersionRecord, WorkloadInventory } from './workload-inventory.ts'
import { planWorkload, type JobCheck, type WorkloadImport } from './workload-plan.ts'

const EMPTY: WorkloadInventory = {
  namespaces: [],
  nodePools: [],
  aclPolicies: [],
  aclRoles: [],
  aclTokens: [],
  variables: [],
  jobs: [],
  childJobs: [],
  gaps: [],
}

function plan(source: Partial<WorkloadInventory>, more: Partial<WorkloadImport> = {}) {
  const whole = { ...EMPTY, ...source }
  const usual = { target: EMPTY, checks: new Map(), overwrite: false, start: false }
  return planWorkload({ source: whole, ...usual, ...more })
}

function version(count: number): JobVersionRecord {
  return { job: { ID: 'web', Namespace: 'default', Count: count }, submission: undefined }
}

const WEB = { namespace: 'default', id: 'web', versions: [version(1), version(2), version(3)] }
const change = { field: 'Count', source: '3', target: '7' }

function checked(check: Partial<JobCheck>): Partial<WorkloadImport> {
  return {
    checks: new Map([['default/web', { existing: undefined, rejection: undefined, ...check }]]),
  }
}

const JOBS = [
  { name: 'a new job comes with all its versions, stopped', check: {}, writes: [1, 2, 3] },
  {
    name: 'an equal job is left alone, also when it runs here',
    check: { existing: { isStopped: false, equals: 2, differences: [] } },
    writes: [],
  },
  {
    name: 'a stopped job that is equal to an earlier version gets the later ones',
    check: { existing: { isStopped: true, equals: 0, differences: [change] } },
    writes: [2, 3],
  },
  {
    name: 'a job that differs is left alone',
    check: { existing: { isStopped: false, equals: undefined, differences: [change] } },
    writes: [],
  },
  {
    name: 'a job that differs gets the newest version when it is overwritten',
    check: { existing: { isStopped: false, equals: undefined, differences: [change] } },
    overwrite: true,
    writes: [3],
    runs: true,
  },
  { name: 'a rejected job is not written', check: { rejection: 'no mesh' }, writes: [] },
]
for (const { name, check, writes, overwrite = false, runs = false } of JOBS)
  test(`import of jobs: ${name}`, () => {
    const made = plan({ jobs: [WEB] }, { ...checked(check), overwrite })
    const versions = made.actions.flatMap(({ write }) =>
      write.type === 'job' ? write.versions : [],
    )
    assert.deepEqual(
      versions.map(({ job, isStopped }) => [job['Count'], isStopped]),
      writes.map((count) => [count, !runs]),
    )
  })

test('import of jobs: only the newest version runs, and only on request', () => {
  const made = plan({ jobs: [WEB] }, { ...checked({}), start: true })
  const [action] = made.actions
  assert.deepEqual(
    action?.write.type === 'job' && action.write.versions.map(({ isStopped }) => isStopped),
    [true, true, false],
  )
})

test('import: what has no equivalent is listed with its reason', () => {
  const made = plan({
    namespaces: [{ Name: 'prod', Description: '', Quota: 'small', Extra: { On: true } }],
    aclTokens: [{ Name: 'ci', AccessorID: 'a' }],
    childJobs: ['default/batch/dispatch-1'],
    variables: [
      { namespace: 'default', path: 'hidden', items: undefined, isLocked: true },
      { namespace: 'default', path: 'open', items: { key: 'hush' }, isLocked: false },
    ],
  })
  assert.deepEqual(
    made.omissions.map(({ kind, name, field = '' }) => `${kind} ${name} ${field}`.trim()),
    [
      'namespace prod Quota',
      'namespace prod Extra',
      'variable default/hidden Lock',
      'job default/batch/dispatch-1',
    ],
  )
  assert.deepEqual(
    made.secrets.map(({ kind, name }) => `${kind} ${name}`),
    ['variable default/hidden', 'acl-token ci'],
  )
})

test('import: values of variables are in no difference', () => {
  const variable = { namespace: 'default', path: 'db', isLocked: false }
  const made = plan(
    { variables: [{ ...variable, items: { password: 'hush', user: 'ann' } }] },
    {
      target: { ...EMPTY, variables: [{ ...variable, items: { password: 'old', user: 'ann' } }] },
    },
  )
  assert.deepEqual(made.differences, [
    {
      kind: 'variable',
      name: 'default/db',
      field: 'password',
      source: '(hidden)',
      target: '(hidden)',
    },
  ])
})

test('import: null, zero and an empty object are the same nothing', () => {
  const record = { Name: 'gpu', Description: '', Meta: null, SchedulerConfiguration: null }
  const other = { Name: 'gpu', Description: '', Meta: {}, SchedulerConfiguration: { Mode: '' } }
  const made = plan({ nodePools: [record] }, { target: { ...EMPTY, nodePools: [other] } })
  assert.deepEqual([made.actions, made.unchanged.length], [[], 1])
})
