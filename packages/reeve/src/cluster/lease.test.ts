import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FOLLOWER, nextLeadership, isLeading, type Leadership, type LeaseEvent } from './lease.ts'

const TTL_MS = 1_000
const leader: Leadership = { role: 'leader', term: 7, validUntilMs: 900 }
const deposed: Leadership = { role: 'deposed', term: 7 }

const cases: readonly {
  readonly name: string
  readonly from: Leadership
  readonly news: LeaseEvent
  readonly atMs: number
  readonly to: Leadership
}[] = [
  {
    name: 'a follower that took the lease leads, counted from when it asked, with a part taken off',
    from: FOLLOWER,
    news: { kind: 'acquired', term: 7, sentMs: 0 },
    atMs: 200,
    to: leader,
  },
  {
    name: 'a follower that learns of its lease after it expired does not lead',
    from: FOLLOWER,
    news: { kind: 'acquired', term: 7, sentMs: 0 },
    atMs: 900,
    to: FOLLOWER,
  },
  {
    name: 'a follower stays one while another leads',
    from: FOLLOWER,
    news: { kind: 'held-by-another' },
    atMs: 5,
    to: FOLLOWER,
  },
  {
    name: 'a follower without an answer stays one',
    from: FOLLOWER,
    news: { kind: 'no-answer' },
    atMs: 5,
    to: FOLLOWER,
  },
  {
    name: 'a renewal lasts from when it was asked for',
    from: leader,
    news: { kind: 'renewed', sentMs: 500 },
    atMs: 600,
    to: { role: 'leader', term: 7, validUntilMs: 1_400 },
  },
  {
    name: 'renewals that overtake one another never shorten it',
    from: { role: 'leader', term: 7, validUntilMs: 1_400 },
    news: { kind: 'renewed', sentMs: 300 },
    atMs: 600,
    to: { role: 'leader', term: 7, validUntilMs: 1_400 },
  },
  {
    name: 'a leader without an answer leads on while its time lasts',
    from: leader,
    news: { kind: 'no-answer' },
    atMs: 899,
    to: leader,
  },
  {
    name: 'a leader without an answer is deposed when its time is over',
    from: leader,
    news: { kind: 'no-answer' },
    atMs: 900,
    to: deposed,
  },
  {
    name: 'a leader that slept through its time is deposed, whatever the renewal says',
    from: leader,
    news: { kind: 'renewed', sentMs: 800 },
    atMs: 5_000,
    to: deposed,
  },
  {
    name: 'a leader that lost the lease is deposed at once',
    from: leader,
    news: { kind: 'lost' },
    atMs: 10,
    to: deposed,
  },
  {
    name: 'who was deposed does not lead again',
    from: deposed,
    news: { kind: 'acquired', term: 9, sentMs: 10 },
    atMs: 11,
    to: deposed,
  },
]
for (const c of cases)
  test(`lease: ${c.name}`, () => {
    const found = nextLeadership(c.from, c.news, { ttlMs: TTL_MS, nowMs: c.atMs })
    assert.deepEqual(found, c.to)
  })

test('a leader acts as one until its lease expires, and no other server does', () => {
  assert.equal(isLeading(leader, 899), true)
  assert.equal(isLeading(leader, 900), false)
  assert.equal(isLeading(deposed, 0), false)
  assert.equal(isLeading(FOLLOWER, 0), false)
})
