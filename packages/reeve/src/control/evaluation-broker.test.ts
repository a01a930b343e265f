import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aJob, anEvaluation, NOW_MS } from '../../test/build/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { ReadyQueue } from './evaluation-broker.ts'

/**
 * A clock that can be set back without affecting timers, as on a real machine. Its timers are fast:
 * at a rate of 1.1 a timer of 11 s fires after 10 s of wall clock.
 */
class SettableClock implements Clock {
  skewMs = 0
  timerRate = 1
  #elapsedMs = 0
  #timers: { readonly dueMs: number; readonly wake: () => void }[] = []

  nowMs(): number {
    return NOW_MS + this.#elapsedMs + this.skewMs
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { dueMs: this.#elapsedMs + Math.ceil(delayMs / this.timerRate), wake }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer)
    }
  }

  pass(ms: number): void {
    this.#elapsedMs += ms
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#elapsedMs)
    this.#timers = this.#timers.filter((timer) => !due.includes(timer))
    for (const { wake } of due) wake()
  }
}

const cases = [
  { name: 'a clock that is right', backMs: 0, readyAfterMs: 10_000 },
  { name: 'a clock that was set back a little', backMs: 4_000, readyAfterMs: 14_000 },
  { name: 'a clock that was set back by a day', backMs: 86_400_000, readyAfterMs: 20_000 },
]
for (const { name, backMs, readyAfterMs } of cases)
  test(`ready queue: delayed evaluation is due with ${name}`, () => {
    const clock = new SettableClock()
    const queue = new ReadyQueue(clock, () => undefined)
    queue.enqueue({ ...anEvaluation(aJob()), WaitUntil: isoFromMs(NOW_MS + 10_000) })
    clock.skewMs = -backMs
    for (let ms = 1_000; ms < readyAfterMs; ms += 1_000) {
      clock.pass(1_000)
      assert.equal(queue.isReady, false, `after ${ms} ms`)
    }
    clock.pass(1_000)
    assert.equal(queue.isReady, true)
  })

test('ready queue: early timers do not make evaluations due early', () => {
  const clock = new SettableClock()
  clock.timerRate = 1.04
  const waitMs = 110_000
  const queue = new ReadyQueue(clock, () => undefined)
  queue.enqueue({ ...anEvaluation(aJob()), WaitUntil: isoFromMs(NOW_MS + waitMs) })
  for (let ms = 1; ms < waitMs; ms++) {
    clock.pass(1)
    assert.equal(queue.isReady, false, `after ${ms} ms`)
  }
  clock.pass(1)
  assert.equal(queue.isReady, true)
})
