import assert from 'node:assert/strict'
import test from 'node:test'
import { CLIENT_STATUSES, type ClientStatus } from '@reeve/contract'
import fc from 'fast-check'
import { aGroup, aJob } from '../../../test/build/job.ts'
import {
  applyStatusChanges,
  countChild,
  jobStub,
  newSummary,
  recountSummary,
  type StatusChange,
  withGroupsOf,
  withQueued,
} from './job-summary.ts'

const job = aJob({ groups: [aGroup({ Name: 'a' }), aGroup({ Name: 'b' })] })
const none = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 }

function counts(changes: readonly Omit<StatusChange, 'group'>[]) {
  return applyStatusChanges(
    newSummary(job),
    changes.map((change) => ({ group: 'a', ...change })),
  ).Summary['a']
}

const cases: readonly {
  name: string
  changes: readonly Omit<StatusChange, 'group'>[]
  want: Partial<typeof none>
}[] = [
  {
    name: 'a new one is starting',
    changes: [{ before: undefined, after: 'pending' }],
    want: { Starting: 1 },
  },
  {
    name: 'it leaves starting when it runs',
    changes: [
      { before: undefined, after: 'pending' },
      { before: 'pending', after: 'running' },
    ],
    want: { Running: 1 },
  },
  {
    name: 'what ended stays counted',
    changes: [
      { before: undefined, after: 'pending' },
      { before: 'pending', after: 'failed' },
      { before: 'failed', after: 'running' },
      { before: 'running', after: 'complete' },
    ],
    want: { Failed: 1, Complete: 1 },
  },
  {
    name: 'an unknown one that is back runs',
    changes: [
      { before: undefined, after: 'running' },
      { before: 'running', after: 'unknown' },
      { before: 'unknown', after: 'running' },
    ],
    want: { Running: 1 },
  },
  {
    name: 'no change changes nothing',
    changes: [{ before: 'running', after: 'running' }],
    want: {},
  },
  {
    name: 'a count is never negative',
    changes: [{ before: 'running', after: 'lost' }],
    want: { Lost: 1 },
  },
]
for (const { name, changes, want } of cases)
  test(`summary: ${name}`, () => assert.deepEqual(counts(changes), { ...none, ...want }))

test('summary: new allocation decreases queued', () => {
  const queued = withQueued(newSummary(job), { a: 1, b: 0 })
  assert.equal(queued.Summary['a']?.Queued, 1)
  const placed = applyStatusChanges(queued, [
    { group: 'a', before: undefined, after: 'pending' },
    { group: 'a', before: undefined, after: 'pending' },
  ])
  assert.deepEqual(placed.Summary['a'], { ...none, Starting: 2 })
})

test('summary: returns the same object without changes', () => {
  const summary = newSummary(job)
  assert.equal(applyStatusChanges(summary, []), summary)
  assert.equal(withQueued(summary, { a: 0 }), summary)
  assert.equal(withGroupsOf(summary, job), summary)
  assert.equal(countChild(summary, 'dead', undefined), summary)
})

test('summary: groups are added, never removed', () => {
  const summary = applyStatusChanges(newSummary(job), [
    { group: 'a', before: undefined, after: 'running' },
  ])
  const next = withGroupsOf(summary, aJob({ groups: [aGroup({ Name: 'c' })] }))
  assert.deepEqual(Object.keys(next.Summary), ['a', 'b', 'c'])
  assert.equal(next.Summary['a']?.Running, 1)
})

test('summary: group may have any name', () => {
  const summary = applyStatusChanges(
    newSummary(aJob({ groups: [aGroup({ Name: '__proto__' })] })),
    [
      { group: '__proto__', before: undefined, after: 'running' },
      { group: 'constructor', before: undefined, after: 'running' },
    ],
  )
  assert.deepEqual(Object.keys(summary.Summary), ['__proto__', 'constructor'])
})

test('summary: counts children by status', () => {
  const born = countChild(newSummary(job), undefined, 'pending')
  const runs = countChild(born, 'pending', 'running')
  assert.deepEqual(runs.Children, { Pending: 0, Running: 1, Dead: 0 })
  assert.deepEqual(countChild(runs, 'running', undefined).Children, {
    Pending: 0,
    Running: 0,
    Dead: 1,
  })
})

test('summary: recount equals incremental counts', () => {
  const live = fc.constantFrom<ClientStatus>(
    ...CLIENT_STATUSES.filter((status) => status !== 'complete' && status !== 'failed'),
  )
  fc.assert(
    fc.property(fc.array(fc.array(live, { minLength: 1, maxLength: 5 })), (lives) => {
      const along = lives.reduce(
        (summary, statuses) =>
          statuses.reduce(
            (sum, after, i) =>
              applyStatusChanges(sum, [{ group: 'a', before: statuses[i - 1], after }]),
            summary,
          ),
        newSummary(job),
      )
      const rows = lives.map((statuses) => ({
        TaskGroup: 'a',
        ClientStatus: statuses.at(-1) ?? 'pending',
      }))
      assert.deepEqual(recountSummary(along, job, rows), along)
    }),
    { seed: 1 },
  )
})

test('job stub: all fields; meta on request', () => {
  const stub = jobStub(aJob({ Meta: { team: 'core' }, Periodic: {} }), undefined)
  assert.equal(stub.Periodic, true)
  assert.equal(stub.ParameterizedJob, false)
  assert.equal('Meta' in stub, false)
  assert.deepEqual(stub.JobSummary, newSummary(aJob()))
  assert.deepEqual(jobStub(aJob({ Meta: { a: 'b' } }), undefined, { withMeta: true }).Meta, {
    a: 'b',
  })
  assert.equal('Meta' in jobStub(aJob(), undefined, { withMeta: true }), false)
})
