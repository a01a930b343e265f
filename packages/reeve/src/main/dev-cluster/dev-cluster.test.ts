import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeaderMonitor } from './dev-cluster.ts'

test('leader-watch: says once when nobody leads, and how long that lasted', () => {
  let nowMs = 0
  const watch = new LeaderMonitor(() => nowMs)
  nowMs = 1_000
  assert.equal(watch.observe('server-1'), 'server-1 leads now (nobody did for 1.0 s).')
  assert.equal(watch.observe('server-1'), undefined)
  nowMs = 2_000
  assert.equal(watch.observe(undefined), 'server-1 does not lead any more; nobody does.')
  assert.equal(watch.observe(undefined), undefined)
  nowMs = 5_250
  assert.equal(watch.observe('server-2'), 'server-2 leads now (nobody did for 3.3 s).')
  assert.equal(watch.leader, 'server-2')
})

test('leader-watch: a leadership that moves between two looks is told too', () => {
  const watch = new LeaderMonitor(() => 0)
  watch.observe('server-1')
  assert.equal(watch.observe('server-3'), 'server-3 leads now.')
})
