import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { RequestScheduler, SCHEDULER_LIMITS } from './request-scheduler.ts'

/** Starts requests that note the tick in which they were started. */
function noting(scheduler: RequestScheduler) {
  const started: string[] = []
  return {
    started,
    enter: (tenant: string, name: string, cost = 1) =>
      scheduler.enter(tenant, cost, () => void started.push(name)),
  }
}

test('scheduler: requests of one tick are started together', async () => {
  const { enter, started } = noting(new RequestScheduler())
  for (const name of ['1', '2', '3']) enter('a', name)
  assert.deepEqual(started, [])
  await setImmediate()
  assert.deepEqual(started, ['1', '2', '3'])
})

test('scheduler: a tick starts a bounded number of requests', async () => {
  const { enter, started } = noting(new RequestScheduler({ ...SCHEDULER_LIMITS, batchSizeMax: 2 }))
  for (const name of ['1', '2', '3']) enter('a', name)
  await setImmediate()
  assert.deepEqual(started, ['1', '2'])
  await setImmediate()
  assert.deepEqual(started, ['1', '2', '3'])
})

test('scheduler: a tick beyond its time limit starts no further request', async () => {
  const scheduler = new RequestScheduler({ ...SCHEDULER_LIMITS, tickMs: -1 })
  const { enter, started } = noting(scheduler)
  for (const name of ['1', '2']) enter('a', name)
  await setImmediate()
  assert.deepEqual(started, ['1'])
  assert.equal(scheduler.waiting, 1)
})

test('scheduler: a request does not wait for the backlog of another tenant', async () => {
  // On a busy machine one request may take as long as a tick.
  const limits = { ...SCHEDULER_LIMITS, tickMs: 60_000 }
  const { enter, started } = noting(new RequestScheduler(limits))
  for (let at = 0; at < 1_000; at++) enter('busy', 'busy')
  enter('late', 'late')
  await setImmediate()
  assert.ok(started.includes('late'), 'it was not started in the first tick')
})

test('scheduler: slices of expensive work alternate with requests of others', async () => {
  const scheduler = new RequestScheduler()
  const order: string[] = []
  const slices = Array.from({ length: 20 }, async () => {
    await scheduler.waitForTurn('expensive')
    order.push('slice')
  })
  for (let at = 0; at < 10; at++) scheduler.enter('small', 1, () => order.push('small'))
  await Promise.all(slices)
  const before = order.slice(0, order.lastIndexOf('small')).filter((one) => one === 'slice').length
  assert.ok(before <= 2, `${before} slices ran before the small requests`)
})

test('scheduler: a tenant past its limit is rejected, others are not', () => {
  const scheduler = new RequestScheduler({ ...SCHEDULER_LIMITS, waitingPerTenantMax: 2 })
  const { enter } = noting(scheduler)
  assert.deepEqual(
    [enter('a', '1'), enter('a', '2'), enter('a', '3'), enter('b', '4')],
    [undefined, undefined, 'tenant-full', undefined],
  )
})

test('scheduler: a slice of a request under way is never rejected', async () => {
  const scheduler = new RequestScheduler({ ...SCHEDULER_LIMITS, waitingPerTenantMax: 1 })
  scheduler.enter('a', 1, () => undefined)
  await scheduler.waitForTurn('a')
})
