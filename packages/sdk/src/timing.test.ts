import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pause, systemTiming } from './timing.ts'

test('the timers of the platform are used, up to what they can', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const woken: string[] = []
  systemTiming.after(10, () => woken.push('soon'))
  systemTiming.after(Number.MAX_SAFE_INTEGER, () => woken.push('far'))
  const cancel = systemTiming.after(10, () => woken.push('cancelled'))
  cancel()
  cancel()
  t.mock.timers.tick(10)
  assert.deepEqual(woken, ['soon'])
  t.mock.timers.tick(2_147_483_647)
  assert.deepEqual(woken, ['soon', 'far'])
})

test('chance is between 0 and 1', () => {
  const drawn = systemTiming.random()
  assert.ok(drawn >= 0 && drawn < 1)
})

test('a pause that a signal ends leaves no timer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const controller = new AbortController()
  const reason = new Error('enough')
  const waiting = pause(systemTiming, 1_000, controller.signal)
  controller.abort(reason)
  await assert.rejects(waiting, reason)
  await assert.rejects(pause(systemTiming, 1_000, controller.signal), reason)
})
