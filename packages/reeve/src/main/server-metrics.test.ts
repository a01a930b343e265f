import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { CommitDelayMonitor } from './server-metrics.ts'

test('commit watch: a long wait is logged once, and once more when it is over', () => {
  const clock = new SimulatedClock()
  const lines: string[] = []
  const store = { commitWaitMs: 0 }
  const note = (fields: object, text: string): void => {
    lines.push(`${text} ${JSON.stringify(fields)}`)
  }
  const watch = new CommitDelayMonitor({ clock, store, log: { info: note, warn: note } })
  watch.start()
  const wait = (waitedMs: number): void => {
    store.commitWaitMs = waitedMs
    clock.advance(1_000)
  }
  wait(4_999)
  assert.deepEqual([lines, watch.delay], [[], undefined])
  wait(5_000)
  wait(6_000)
  wait(7_400)
  assert.equal(watch.delay, 'commits have been waiting for the storage for 7 s')
  wait(20)
  wait(10)
  assert.deepEqual(lines, [
    'commits have been waiting for the storage for 5 s; writes wait with them {"waitedMs":5000}',
    'commits do not wait for the storage any more {"waitedMs":7400}',
  ])
  watch.stop()
  wait(9_000)
  assert.equal(lines.length, 2)
})
