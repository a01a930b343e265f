import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standingOf, type SeenPeer } from './peer-standing.ts'

const job = { Version: 3, Stop: false, SubmitTime: 100 }
const old = { ...job, SubmitTime: 50 }
const young = 1_000
const long = 60_000
const is = (Status: string, JobVersion = 3) => ({ Status, JobVersion })

const cases: readonly {
  name: string
  seen: Omit<SeenPeer, 'own' | 'deployment'> & { readonly deployment?: unknown }
  want: string
}[] = [
  { name: 'rolls out', seen: { job, ageMs: young, deployment: is('running') }, want: 'rolls' },
  { name: 'is paused', seen: { job, ageMs: young, deployment: is('paused') }, want: 'rolls' },
  { name: 'has to wait', seen: { job, ageMs: young, deployment: is('pending') }, want: 'waits' },
  { name: 'is complete', seen: { job, ageMs: young, deployment: is('blocked') }, want: 'complete' },
  { name: 'has failed', seen: { job, ageMs: young, deployment: is('failed') }, want: 'failed' },
  { name: 'is done', seen: { job, ageMs: young, deployment: is('successful') }, want: 'done' },
  { name: 'rolls nothing out', seen: { job, ageMs: young }, want: 'done' },
  {
    name: 'was done with another version',
    seen: { job, ageMs: young, deployment: is('failed', 2) },
    want: 'done',
  },
  {
    name: 'is being told',
    seen: { job: old, ageMs: young, deployment: is('successful') },
    want: 'waits',
  },
  {
    name: 'had it already',
    seen: { job: old, ageMs: long, deployment: is('successful') },
    want: 'done',
  },
  {
    name: 'failed with something else',
    seen: { job: old, ageMs: long, deployment: is('failed') },
    want: 'done',
  },
  { name: 'does not have the job yet', seen: { job: null, ageMs: young }, want: 'waits' },
  { name: 'does not have the job any more', seen: { job: null, ageMs: long }, want: 'done' },
  {
    name: 'has stopped it',
    seen: { job: { ...job, Stop: true }, ageMs: young, deployment: is('running') },
    want: 'done',
  },
]
for (const { name, seen, want } of cases)
  test(`regions of a roll-out: another one that ${name}`, () => {
    const own = { SubmitTime: 100 }
    assert.equal(standingOf({ deployment: null, ...seen, own }), want)
  })

test('regions of a roll-out: what cannot be understood is no answer', () => {
  const seen = { own: { SubmitTime: 1 }, ageMs: 0 }
  assert.throws(() => standingOf({ ...seen, job: { Version: 'x' }, deployment: null }))
  assert.throws(() =>
    standingOf({ ...seen, job, deployment: { Status: 'dancing', JobVersion: 3 } }),
  )
})
