import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { LIMITS } from '../../model/index.ts'
import { systemClock } from '../../../test/build/agent.ts'
import { STATE_READER_LIMITS, StateReader } from './state-reader.ts'

/** A valid state of about so many bytes. */
function aState(bytes: number): Buffer {
  const lineage = 'x'.repeat(bytes)
  return Buffer.from(JSON.stringify({ version: 4, serial: 1, lineage, outputs: {}, resources: [] }))
}

/** A state that takes many times its size in memory. */
function manyObjects(count: number): Buffer {
  return Buffer.from(`{"version":4,"serial":1,"resources":[${'{},'.repeat(count)}{}]}`)
}

/** More than is parsed on the event loop. */
const LARGE = LIMITS.inlineBodyBytesMax + 1

function aReader(
  t: TestContext,
  limits: Partial<typeof STATE_READER_LIMITS> = {},
  clock = systemClock,
): StateReader {
  const reader = new StateReader(clock, { ...STATE_READER_LIMITS, ...limits })
  t.after(() => reader.stop())
  return reader
}

test('state reader: a state that takes too much memory ends only the thread and itself', async (t) => {
  const reader = aReader(t, { megabytesMax: 32 })
  const [large, small] = await Promise.all([
    reader.inspect(manyObjects(150_000), 'a'),
    reader.inspect(aState(LARGE), 'b'),
  ])
  const error = 'The state takes more than 32 MB of memory to read'
  assert.deepEqual(large, { ok: false, error })
  assert.equal(small.ok, true)
})

// The parser is native: its thread cannot be ended, and takes the process with it at its limit.
test('state reader: a state of too many objects is rejected before it is parsed', async (t) => {
  const reader = aReader(t)
  const error = 'The state has more values than can be read with 1536 MB of memory'
  assert.deepEqual(await reader.inspect(manyObjects(5_000_000), 'a'), { ok: false, error })
  assert.equal((await reader.inspect(aState(LARGE), 'b')).ok, true)
})

test('state reader: a state that takes too long ends only the thread and itself', async (t) => {
  const reader = aReader(t, { timeoutMs: 20 })
  const slow = await reader.inspect(manyObjects(100_000), 'a')
  assert.deepEqual(slow, { ok: false, error: 'The state takes longer than 20 ms to read' })
})

test('state reader: the limits of the server leave room for a state of 100 MB', async (t) => {
  assert.deepEqual(
    [STATE_READER_LIMITS.timeoutMs, STATE_READER_LIMITS.megabytesMax],
    [LIMITS.stateReadTimeoutMs, LIMITS.stateReadMegabytesMax],
  )
  assert.equal((await aReader(t).inspect(aState(100_000_000), 'a')).ok, true)
})

test('state reader: too many waiting states are rejected, by tenant and in all', async (t) => {
  const reader = aReader(t, { waitingPerTenantMax: 2, waitingMax: 3 })
  const read = (organization: string) => reader.inspect(aState(LARGE), organization)
  // The thread is starting: all of them wait.
  const waiting = [read('a'), read('a')]
  await assert.rejects(read('a'), { kind: 'overloaded', message: /limit 2 per tenant/ })
  waiting.push(read('b'))
  await assert.rejects(read('c'), { kind: 'overloaded', message: /on this server \(limit 3\)/ })
  for (const { ok } of await Promise.all(waiting)) assert.equal(ok, true)
})

for (const [pastMs, isRead] of [
  [0, true],
  [1, false],
] as const)
  test(`state reader: a wait ${isRead ? 'of the limit' : 'past the limit'} ends ${isRead ? 'with the state' : 'in a rejection'}`, async (t) => {
    const clock = new SimulatedClock()
    const reader = aReader(t, {}, clock)
    const settled = Promise.allSettled([reader.inspect(aState(LARGE), 'a')])
    clock.advance(LIMITS.largeBodyWaitTimeoutMs + pastMs)
    const [result] = await settled
    assert.equal(result.status, isRead ? 'fulfilled' : 'rejected')
    assert.equal((await reader.inspect(aState(LARGE), 'b')).ok, true)
  })
