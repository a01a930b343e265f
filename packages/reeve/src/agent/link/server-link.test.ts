import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { reconnectDelayMs } from './server-link.ts'

test('the pause doubles with each failure up to half a minute', () => {
  const pauses = [0, 1, 2, 3, 7, 8, 100].map((failures) => reconnectDelayMs(failures, 1))
  assert.deepEqual(pauses, [250, 500, 1_000, 2_000, 30_000, 30_000, 30_000])
})

test('at most half of the pause is left to chance', () => {
  fc.assert(
    fc.property(
      fc.nat(200),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (failures, draw) => {
        const most = reconnectDelayMs(failures, 1)
        const some = reconnectDelayMs(failures, draw)
        assert.ok(some >= most / 2 && some <= most)
      },
    ),
  )
})

test('after a server stopped in order the pause stays short', () => {
  const pauses = [0, 1, 3, 8, 100].map((failures) => reconnectDelayMs(failures, 1, 2_000))
  assert.deepEqual(pauses, [250, 500, 2_000, 2_000, 2_000])
})
