import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pass, turn } from '../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { sleep, Semaphore, withTimeout } from './timing.ts'

test('a pause ends with its time, not before', async () => {
  const clock = new SimulatedClock()
  let outcome: boolean | undefined
  void sleep(clock, 1_000).then((passed) => (outcome = passed))
  await pass(clock, 999)
  assert.equal(outcome, undefined)
  await pass(clock, 1)
  assert.equal(outcome, true)
})

test('a pause is ended by its signal', async () => {
  const clock = new SimulatedClock()
  const stop = new AbortController()
  const waiting = sleep(clock, 1_000, stop.signal)
  stop.abort()
  assert.equal(await waiting, false)
  assert.equal(await sleep(clock, 1_000, stop.signal), false)
})

test('a pause longer than a timer can count is taken in pieces', async () => {
  const days = 40 * 24 * 3_600_000
  const clock = new SimulatedClock()
  let longest = 0
  const counting = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.nowMs(),
    after: (delayMs: number, wake: () => void) => {
      longest = Math.max(longest, delayMs)
      return clock.after(delayMs, wake)
    },
  }
  const waiting = sleep(counting, days)
  clock.advance(days)
  assert.equal(await waiting, true)
  assert.ok(longest < 2 ** 31)
})

test('work that takes too long is a fault, work in time is not', async () => {
  const clock = new SimulatedClock()
  const deadline = { clock, timeoutMs: 1_000, operation: 'the probe' }
  assert.equal(await withTimeout(Promise.resolve(5), deadline), 5)
  const late = assert.rejects(withTimeout(new Promise(() => undefined), deadline), {
    kind: 'deadline',
    message: 'the probe took longer than 1000 ms',
  })
  await pass(clock, 1_000)
  await late
})

test('no more work than there are slots runs at once, and failures free theirs', async () => {
  const slots = new Semaphore(2)
  let running = 0
  let most = 0
  const work = async (): Promise<void> => {
    running += 1
    most = Math.max(most, running)
    await turn()
    running -= 1
    if (most === 2) throw new Error('expected by this test')
  }
  await Promise.allSettled(Array.from({ length: 7 }, () => slots.run(work)))
  assert.equal(most, 2)
  assert.equal(await slots.run(() => Promise.resolve('free')), 'free')
})
