import assert from 'node:assert/strict'
import test from 'node:test'
import { fullSignalName, REAL_TIME_SIGNALS, realTimeNumber } from './signal.ts'

const spellings = [
  ['SIGTERM', 'SIGTERM'],
  ['TERM', 'SIGTERM'],
  ['sigterm', 'SIGTERM'],
  ['quit', 'SIGQUIT'],
  [' usr1 ', 'SIGUSR1'],
  ['', ''],
  ['rtmin', 'SIGRTMIN'],
  ['RTMIN+0', 'SIGRTMIN'],
  ['RTMIN+3', 'SIGRTMIN+3'],
  ['SIGRTMAX', 'SIGRTMIN+30'],
  ['RTMAX-1', 'SIGRTMIN+29'],
  ['RTMIN+31', 'SIGRTMIN+31'],
  ['RTMIN-1', 'SIGRTMIN-1'],
  ['RTMAX+1', 'SIGRTMAX+1'],
  ['FOO', 'SIGFOO'],
] as const

for (const [given, full] of spellings)
  test(`signals: ${JSON.stringify(given)} is spelled ${JSON.stringify(full)}`, () => {
    assert.equal(fullSignalName(given), full)
    assert.equal(fullSignalName(full), full, 'the one spelling stays')
  })

test('signals: real-time signals have the numbers 34 to 64', () => {
  assert.equal(REAL_TIME_SIGNALS.length, 31)
  assert.equal(realTimeNumber('SIGRTMIN'), 34)
  assert.equal(realTimeNumber('SIGRTMIN+30'), 64)
  assert.equal(realTimeNumber('SIGRTMIN+31'), undefined)
  assert.equal(realTimeNumber('SIGTERM'), undefined)
})
