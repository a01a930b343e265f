import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { manualTiming } from '../test/manual-timing.ts'
import { createConnection, type Connection } from './call/connection.ts'
import { ApiError, ConnectionError, type ConnectionFailure } from './errors.ts'
import { backoffMs, Retries } from './retry.ts'
import type { Timing } from './timing.ts'

const address = 'http://127.0.0.1:4646'

function aConnection(timing: Timing): Connection {
  return createConnection({ address, timing })
}

function anApiError(status: number, retryAfterMs?: number): ApiError {
  const rest = {
    route: { method: 'GET', path: '/v1/jobs' },
    text: '',
    errors: [],
    requestId: undefined,
    index: undefined,
  }
  return new ApiError({ ...rest, status, retryAfterMs })
}

function aConnectionError(reason: ConnectionFailure): ConnectionError {
  return new ConnectionError({ reason, address, message: reason })
}

const passing = [
  anApiError(429),
  anApiError(500),
  anApiError(503),
  aConnectionError('unreachable'),
  aConnectionError('timeout'),
  aConnectionError('cut'),
]
for (const error of passing) {
  test(`${error.name} ${error.message} is tried again`, async () => {
    const told: unknown[] = []
    const connection = aConnection(manualTiming(() => true))
    const retries = new Retries(connection, { onRetry: (...all) => told.push(all) })
    await retries.waitForRetry(error)
    assert.deepEqual(told, [[error, 188]])
  })
}

const lasting = [
  anApiError(400),
  anApiError(403),
  anApiError(404),
  aConnectionError('redirect'),
  aConnectionError('unreadable'),
  new TypeError('a mistake of the program'),
]
for (const error of lasting) {
  test(`${error.name} ${error.message} is not`, async () => {
    const retries = new Retries(aConnection(manualTiming(() => true)), {})
    await assert.rejects(retries.waitForRetry(error), error)
  })
}

test('the pauses double up to half a minute and begin anew after a success', async () => {
  const timing = manualTiming(() => true)
  const retries = new Retries(aConnection(timing), {})
  for (let i = 0; i < 9; i++) await retries.waitForRetry(anApiError(503))
  retries.reset()
  await retries.waitForRetry(anApiError(503))
  assert.deepEqual(timing.delays, [188, 375, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 188])
})

test('a server that asks for a longer pause gets it', async () => {
  const timing = manualTiming(() => true)
  await new Retries(aConnection(timing), {}).waitForRetry(anApiError(429, 45_000))
  assert.deepEqual(timing.delays, [45_000])
})

test('a signal ends the pause with its reason', async () => {
  const controller = new AbortController()
  const reason = new Error('never mind')
  const timing = manualTiming()
  const retries = new Retries(aConnection(timing), { signal: controller.signal })
  const failed = retries.waitForRetry(anApiError(503))
  controller.abort(reason)
  await assert.rejects(failed, reason)
  await assert.rejects(retries.waitForRetry(anApiError(503)), ApiError)
})

test('a pause is always between a half and the whole of its step', () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  fc.assert(
    fc.property(fc.nat(), chance, (failures, random) => {
      const ms = backoffMs(failures, random)
      const step = Math.min(30_000, 250 * 2 ** Math.min(failures, 20))
      assert.ok(ms >= step / 2 && ms <= step)
    }),
  )
})
