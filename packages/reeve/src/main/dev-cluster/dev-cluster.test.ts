import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeaderMonitor } from './dev-cluster.ts'

test('leader-watch: reports a missing leader once, and the duration', () => {
  let nowMs = 0
  const watch = new LeaderMonitor(() => nowMs)
  nowMs = 1_000
  assert.equal(watch.observe('server-1'), 'server-1 leads now (no leader for 1.0 s).')
  assert.equal(watch.observe('server-1'), undefined)
  nowMs = 2_000
  assert.equal(watch.observe(undefined), 'server-1 has lost the leadership; there is no leader.')
  assert.equal(watch.observe(undefined), undefined)
  nowMs = 5_250
  assert.equal(watch.observe('server-2'), 'server-2 leads now (no leader for 3.3 s).')
  assert.equal(watch.leader, 'server-2')
})

test('leader-watch: reports a change of leader between two samples', () => {
  const watch = new LeaderMonitor(() => 0)
  watch.observe('server-1')
  assert.equal(watch.observe('server-3'), 'server-3 leads now.')
})
