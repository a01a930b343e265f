import assert from 'node:assert/strict'
import { constants } from 'node:os'
import test from 'node:test'
import {
  canonicalSignalName,
  REAL_TIME_SIGNALS,
  realTimeSignalNumber,
  unknownSignalNumber,
} from './signal.ts'

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
  ['3', 'SIGQUIT'],
  ['09', 'SIGKILL'],
  ['1', 'SIGHUP'],
  ['31', 'SIGSYS'],
  ['34', 'SIGRTMIN'],
  ['64', 'SIGRTMIN+30'],
  ['0', 'SIG0'],
  ['32', 'SIG32'],
  ['65', 'SIG65'],
] as const

for (const [given, full] of spellings)
  test(`signals: ${JSON.stringify(given)} is canonically ${JSON.stringify(full)}`, () => {
    assert.equal(canonicalSignalName(given), full)
    assert.equal(canonicalSignalName(full), full, 'the one spelling stays')
  })

test('signals: the numbers are those of this machine', () => {
  for (const [name, number] of Object.entries(constants.signals)) {
    const isSecondName = ['SIGIOT', 'SIGPOLL'].includes(name)
    if (!isSecondName) assert.equal(canonicalSignalName(String(number)), name)
  }
})

test('signals: an unknown number is extracted from its name', () => {
  for (const given of ['0', '32', '33', '65', '99', '100'])
    assert.equal(unknownSignalNumber(canonicalSignalName(given)), String(Number(given)))
  for (const given of ['3', 'TERM', 'RTMIN+3', 'FOO', 'USR1', ''])
    assert.equal(unknownSignalNumber(canonicalSignalName(given)), undefined)
})

test('signals: real-time signals have the numbers 34 to 64', () => {
  assert.equal(REAL_TIME_SIGNALS.length, 31)
  assert.equal(realTimeSignalNumber('SIGRTMIN'), 34)
  assert.equal(realTimeSignalNumber('SIGRTMIN+30'), 64)
  assert.equal(realTimeSignalNumber('SIGRTMIN+31'), undefined)
  assert.equal(realTimeSignalNumber('SIGTERM'), undefined)
})
