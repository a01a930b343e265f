import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { LIMITS } from '../../model/index.ts'
import { systemClock } from '../../../test/build/agent.ts'
import { LargeBodyParser } from './large-bodies.ts'

const ROUTE = 'evaluateWorkspacePolicies'
const LIMIT = {
  timeoutMs: 10_000,
  megabytesMax: 512,
  waitingPerTenantMax: 2,
  waitingMax: 3,
  waitMsMax: 60_000,
}

function bodies(t: TestContext, limits: Partial<typeof LIMIT> = {}): LargeBodyParser {
  const opened = new LargeBodyParser(systemClock, { ...LIMIT, ...limits })
  t.after(() => opened.stop())
  return opened
}

/** A body with a plan of so many bytes, in memory of its own. */
function aPlan(bytes: number): Buffer {
  const head = '{"data":{"type":"policy-dry-runs","attributes":{"plan":{"a":"'
  const body = Buffer.alloc(head.length + bytes + 5, 'x')
  body.write(head)
  body.write('"}}}}', head.length + bytes)
  return body
}

test('large bodies: a free-form object comes back as bytes that threads share', async (t) => {
  const read = await bodies(t).read(ROUTE, aPlan(1_000_000), { tenant: 'a' })
  assert.ok(read.ok)
  const { value, problems } = read.value
  assert.deepEqual(problems, [])
  const { json } = Object(value).data.attributes.plan
  assert.ok(json.buffer instanceof SharedArrayBuffer)
  assert.equal(json.length, 1_000_000 + '{"a":""}'.length)
})

test('large bodies: one that needs too much memory ends only the thread and itself', async (t) => {
  const opened = bodies(t, { megabytesMax: 32 })
  const [large, small] = await Promise.all([
    opened.read(ROUTE, aPlan(40_000_000), { tenant: 'a' }),
    opened.read(ROUTE, aPlan(1_000), { tenant: 'b' }),
  ])
  assert.deepEqual(large, {
    ok: false,
    error: {
      code: 'unprocessable',
      detail: 'The body takes more than 32 MB of memory to parse',
    },
  })
  assert.equal(small.ok, true)
})

test('large bodies: one that takes too long ends only the thread and itself', async (t) => {
  const opened = bodies(t, { timeoutMs: 20 })
  const slow = await opened.read(ROUTE, aPlan(40_000_000), { tenant: 'a' })
  assert.deepEqual(slow, {
    ok: false,
    error: { code: 'unprocessable', detail: 'The body takes longer than 20 ms to parse' },
  })
})

test('large bodies: those of a tenant are parsed one by one, too many rejected', async (t) => {
  const opened = bodies(t)
  const read = (tenant: string) => opened.read(ROUTE, aPlan(1_000), { tenant })
  // The thread is starting: all of them wait.
  const waiting = [read('a'), read('a')]
  await assert.rejects(read('a'), { kind: 'overloaded', message: /limit 2 per tenant/ })
  waiting.push(read('b'))
  await assert.rejects(read('c'), { kind: 'overloaded', message: /on this server \(limit 3\)/ })
  for (const { ok } of await Promise.all(waiting)) assert.equal(ok, true)
})

const REJECTED = { kind: 'overloaded', message: /^the request waited longer than 60 s/ }
for (const [waited, waits] of [
  [0, 'as long as the limit is parsed'],
  [1, 'longer is rejected, and others go on'],
] as const)
  test(`large bodies: one that waits ${waits}`, async (t) => {
    const clock = new SimulatedClock()
    const opened = new LargeBodyParser(clock)
    t.after(() => opened.stop())
    const read = (tenant: string) => opened.read(ROUTE, aPlan(1_000), { tenant })
    // The thread is starting, so the body waits.
    const waiting = read('a')
    const settled = waited > 0 ? assert.rejects(waiting, REJECTED) : waiting
    clock.advance(LIMITS.largeBodyWaitTimeoutMs + waited)
    await settled
    assert.equal((await read('b')).ok, true)
  })

test('large bodies: a body whose client disconnected is not parsed', async (t) => {
  const opened = bodies(t)
  const gone = new AbortController()
  const parsed = opened.read(ROUTE, aPlan(1_000), { tenant: 'a', signal: gone.signal })
  gone.abort()
  await assert.rejects(parsed, { kind: 'cancelled' })
})

test('large bodies: the limits of the server leave room for a plan of 50 MB', async (t) => {
  const opened = new LargeBodyParser(systemClock)
  t.after(() => opened.stop())
  const body = aPlan(50 * 1024 * 1024 - 1_000)
  assert.ok(body.length > LIMITS.inlineBodyBytesMax)
  assert.equal((await opened.read(ROUTE, body, { tenant: 'a' })).ok, true)
})
