import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeaderRoute, ReadConsistency } from '../http/index.ts'
import { routeByLeadership } from './request-router.ts'

const views = {
  leader: { isLeading: true, leaderAddress: '10.0.0.1:4646' },
  follower: { isLeading: false, leaderAddress: '10.0.0.1:4646' },
  leaderless: { isLeading: false, leaderAddress: '' },
}

const READ: ReadConsistency = {
  answeredBy: 'any',
  isRead: true,
  isStale: false,
  isConsistent: false,
}

const cases: readonly (readonly [
  name: string,
  consistency: Partial<ReadConsistency>,
  onLeader: LeaderRoute,
  onFollower: LeaderRoute,
  withoutLeader: LeaderRoute,
])[] = [
  ['a read', {}, 'local', 'forward', 'no-leader'],
  ['a stale read', { isStale: true }, 'local', 'local', 'local'],
  ['a consistent read', { isConsistent: true }, 'linearizable', 'forward', 'no-leader'],
  ['both stale and consistent', { isStale: true, isConsistent: true }, 'local', 'local', 'local'],
  ['a write', { answeredBy: 'leader', isRead: false }, 'local', 'forward', 'no-leader'],
  [
    'a write that asks for stale and consistent',
    { answeredBy: 'leader', isRead: false, isStale: true, isConsistent: true },
    'local',
    'forward',
    'no-leader',
  ],
  [
    'a stale read that only the leader answers',
    { answeredBy: 'leader', isStale: true },
    'local',
    'forward',
    'no-leader',
  ],
  [
    'a stale and consistent read that only the leader answers',
    { answeredBy: 'leader', isStale: true, isConsistent: true },
    'linearizable',
    'forward',
    'no-leader',
  ],
  ['a question about the server itself', { answeredBy: 'self' }, 'local', 'local', 'local'],
]
for (const [name, consistency, onLeader, onFollower, withoutLeader] of cases)
  test(`leader routing: ${name}`, () => {
    const route = (view: (typeof views)['leader']): LeaderRoute =>
      routeByLeadership({ ...READ, ...consistency }, { isForwarded: false }, view)
    assert.deepEqual(
      [route(views.leader), route(views.follower), route(views.leaderless)],
      [onLeader, onFollower, withoutLeader],
    )
  })

test('leader routing: a forwarded request is not forwarded again', () => {
  const isForwarded = true
  assert.equal(routeByLeadership(READ, { isForwarded }, views.follower), 'no-leader')
  assert.equal(routeByLeadership(READ, { isForwarded }, views.leader), 'local')
})

test('leader routing: a request that names another server goes there, from every server', () => {
  const named = { ...READ, answeredBy: 'self', server: 'b' } as const
  for (const view of Object.values(views)) {
    const facts = { isForwarded: false, namesOtherServer: true }
    assert.equal(routeByLeadership(named, facts, view), 'forward')
    assert.equal(routeByLeadership(named, { ...facts, isForwarded: true }, view), 'local')
    assert.equal(routeByLeadership(named, { ...facts, namesOtherServer: false }, view), 'local')
  }
})
