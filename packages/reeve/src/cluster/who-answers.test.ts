import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whoAnswers, type Answerer } from './who-answers.ts'

const standings = {
  leader: { isLeading: true, leader: '10.0.0.1:4646' },
  follower: { isLeading: false, leader: '10.0.0.1:4646' },
  orphan: { isLeading: false, leader: '' },
}

const cases: readonly (readonly [
  request: string,
  byLeader: Answerer,
  byFollower: Answerer,
  withoutLeader: Answerer,
])[] = [
  ['GET /v1/jobs', 'here', 'forward', 'nobody'],
  ['GET /v1/jobs?stale', 'here', 'here', 'here'],
  ['HEAD /v1/jobs?stale=true&index=7', 'here', 'here', 'here'],
  ['GET /v1/jobs?stale=false', 'here', 'forward', 'nobody'],
  ['GET /v1/jobs?consistent', 'confirmed', 'forward', 'nobody'],
  ['GET /v1/jobs?consistent&stale', 'here', 'here', 'here'],
  ['POST /v1/jobs?stale', 'here', 'forward', 'nobody'],
  ['PUT /v1/jobs?consistent', 'here', 'forward', 'nobody'],
  ['GET /v1/client/fs/ls/a?stale', 'here', 'forward', 'nobody'],
  ['GET /v1/event/stream?stale', 'here', 'forward', 'nobody'],
  ['GET /v1/agent/self', 'here', 'here', 'here'],
  ['GET /v1/agent/health?type=server', 'here', 'here', 'here'],
  ['GET /v1/status/leader', 'here', 'here', 'here'],
  ['GET /v1/metrics?format=prometheus', 'here', 'here', 'here'],
  ['GET /v1/metricsx', 'here', 'forward', 'nobody'],
  ['GET /', 'here', 'here', 'here'],
  ['GET /ui/jobs', 'here', 'here', 'here'],
  ['GET /uix', 'here', 'forward', 'nobody'],
  ['GET /api/v2/projects/p?stale', 'here', 'forward', 'nobody'],
]
for (const [request, byLeader, byFollower, withoutLeader] of cases)
  test(`${request} is answered by whoever may`, () => {
    const [method = '', url = ''] = request.split(' ')
    const asked = { method, url, isHop: false }
    assert.equal(whoAnswers(asked, standings.leader), byLeader)
    assert.equal(whoAnswers(asked, standings.follower), byFollower)
    assert.equal(whoAnswers(asked, standings.orphan), withoutLeader)
  })

test('a request that was passed on is not passed on again', () => {
  const asked = { method: 'GET', url: '/v1/jobs', isHop: true }
  assert.equal(whoAnswers(asked, standings.follower), 'nobody')
  assert.equal(whoAnswers(asked, standings.leader), 'here')
})
