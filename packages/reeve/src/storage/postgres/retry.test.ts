import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from '../../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { Retry } from './postgres-faults.ts'

/** A retry on a clock that moves only when told. */
function aRetry() {
  const clock = new SimulatedClock()
  const wait = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(ms, resolve)
      signal.addEventListener('abort', () => (cancel(), resolve()), { once: true })
    })
  const retry = new Retry({
    name: 'db:5432/reeve',
    timing: { nowMs: () => clock.monotonicMs(), wait },
  })
  return { clock, retry }
}

test('retry: a hanging attempt times out and is not retried', async () => {
  const { clock, retry } = aRetry()
  let attempts = 0
  const hanging = Promise.withResolvers<string>()
  const result = retry.runWithin(2_000, 'appending', () => {
    attempts++
    return hanging.promise
  })
  result.catch(() => undefined)
  clock.advance(1_999)
  await turn()
  clock.advance(1)
  await assert.rejects(result, {
    kind: 'storage-unanswered',
    message: /has not answered a commit for 2 s \(server\.commit_timeout\)/,
  })
  hanging.reject(new Error('Connection terminated'))
  await turn()
  clock.advance(10_000)
  await turn()
  assert.equal(attempts, 1)
})

test('retry: a failing attempt is not retried after the timeout', async () => {
  const { clock, retry } = aRetry()
  let attempts = 0
  const result = retry.runWithin(100, 'appending', async () => {
    attempts++
    throw new Error('Connection terminated')
  })
  result.catch(() => undefined)
  for (let ms = 0; ms < 100; ms += 10) {
    await turn()
    clock.advance(10)
  }
  await assert.rejects(result, { kind: 'storage-unanswered' })
  const before = attempts
  assert.ok(before > 1, `${before} attempts`)
  for (let ms = 0; ms < 1_000; ms += 50) {
    await turn()
    clock.advance(50)
  }
  assert.equal(attempts, before)
})

test('retry: an answer in time is the result, and a refusal is not tried again', async () => {
  const { retry } = aRetry()
  assert.equal(await retry.runWithin(100, 'appending', () => Promise.resolve('done')), 'done')
  const wrong = Object.assign(new Error('no such table'), { code: '42P01' })
  await assert.rejects(
    retry.runWithin(100, 'appending', () => Promise.reject(wrong)),
    { kind: 'storage-failed' },
  )
})
