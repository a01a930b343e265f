import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { CHUNK_LIMITS } from '../transport/pipelining.ts'
import { BODY_LIMITS, RequestBodies, type BodyLimits } from './request-body.ts'

function aReceiver(limits: Partial<BodyLimits> = {}) {
  const clock = new SimulatedClock()
  const bodies = new RequestBodies(clock, { ...BODY_LIMITS, ...limits })
  return {
    clock,
    bodies,
    /** A body that is sent by hand, and what becomes of it. */
    receive: (tenant = 'a', bytesMax = 1_000_000, headers: object = {}) => {
      const payload = new PassThrough()
      // A body that comes through decompression: all that `read` uses of such a request.
      const request = { body: payload, raw: {}, headers } as unknown as FastifyRequest
      const received = Promise.resolve(bodies.read(request, { tenant, bytesMax })).then(
        (bytes) => bytes.toString(),
        (error: unknown) => `${Reflect.get(Object(error), 'statusCode')} ${String(error)}`,
      )
      return { payload, received }
    },
  }
}

async function writeAll(payload: PassThrough, chunk: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    payload.write(chunk)
    // Written together, a stream hands several chunks over as one.
    await setImmediate()
  }
}

test('body: chunks are put together in order', async () => {
  const { receive, bodies } = aReceiver()
  const { payload, received } = receive()
  await writeAll(payload, 'abc', 3)
  payload.end('!')
  assert.equal(await received, 'abcabcabc!')
  assert.equal(bodies.bytes, 0)
})

test('body: as many bytes as the limit are received, and none more', async () => {
  const { receive, bodies } = aReceiver()
  const exact = receive('a', 10)
  exact.payload.end('x'.repeat(10))
  assert.equal(await exact.received, 'x'.repeat(10))
  const more = receive('a', 10)
  more.payload.write('x'.repeat(11))
  assert.match(await more.received, /^413 .*larger than 10 bytes/)
  assert.equal(bodies.bytes, 0)
})

for (const isFlowing of [false, true])
  test(`body: all of a body that has arrived in two chunks is read${isFlowing ? ' while it flows' : ''}`, () => {
    const { bodies } = aReceiver()
    const raw = new IncomingMessage(new Socket())
    raw.push('abc')
    raw.push('def')
    raw.complete = true
    if (isFlowing) raw.resume()
    const request: unknown = { body: raw, raw, headers: { 'content-length': '6' } }
    // All that `read` uses of a request.
    const bytes = bodies.read(request as FastifyRequest, { tenant: 'a', bytesMax: 10 })
    assert.ok(bytes instanceof Uint8Array)
    assert.equal(Buffer.from(bytes).toString(), 'abcdef')
  })

test('body: an announced length that is too large is rejected unread', () => {
  const { bodies } = aReceiver()
  const request = { body: new PassThrough(), raw: {}, headers: { 'content-length': '11' } }
  // As above.
  const asked = request as unknown as FastifyRequest
  assert.throws(() => bodies.read(asked, { tenant: 'a', bytesMax: 10 }), /larger than 10 bytes/)
})

test('body: a Content-Length alone reserves no memory', async () => {
  const { receive, bodies } = aReceiver()
  const { payload, received } = receive('a', 100_000_000, { 'content-length': '90000000' })
  await writeAll(payload, 'x', 1)
  assert.ok(bodies.bytes < 100_000, `${bodies.bytes} bytes are reserved`)
  payload.destroy()
  assert.match(await received, /^400 .*ended early/)
})

test('body: single bytes are received up to the limit of free chunks, then rejected', async () => {
  const { receive } = aReceiver()
  const free = CHUNK_LIMITS.chunksFree
  const few = receive()
  await writeAll(few.payload, 'x', free)
  few.payload.end()
  assert.equal(await few.received, 'x'.repeat(free))
  const many = receive()
  await writeAll(many.payload, 'x', free + 1)
  assert.match(await many.received, /^400 .*chunks of less than 16 bytes/)
})

test('body: the unfinished bodies of a tenant are bounded together, those of others are not', async () => {
  const { receive, bodies } = aReceiver({ tenantBytesMax: 40_000 })
  const first = receive('a')
  await writeAll(first.payload, 'x'.repeat(16_384), 1)
  const second = receive('a')
  await writeAll(second.payload, 'x'.repeat(16_384), 1)
  const third = receive('a')
  await writeAll(third.payload, 'x'.repeat(16_384), 1)
  assert.match(await third.received, /^429 .*wait until other requests have finished/)
  const other = receive('b')
  other.payload.end('x')
  assert.equal(await other.received, 'x')
  first.payload.end()
  second.payload.end()
  await Promise.all([first.received, second.received])
  assert.equal(bodies.bytes, 0)
})

test('body: the unfinished bodies of all tenants are bounded', async () => {
  const { receive } = aReceiver({ bytesMax: 20_000 })
  const first = receive('a')
  await writeAll(first.payload, 'x', 1)
  const second = receive('b')
  await writeAll(second.payload, 'x', 1)
  assert.match(await second.received, /^429 /)
})

test('body: a slow one is rejected after the grace period', async () => {
  const { receive, clock } = aReceiver({ bytesPerSecondMin: 10, graceMs: 10_000 })
  const fast = receive()
  const slow = receive()
  await writeAll(fast.payload, 'x'.repeat(100), 1)
  await writeAll(slow.payload, 'x'.repeat(99), 1)
  clock.advance(10_000)
  assert.match(await slow.received, /^408 .*at least 10 bytes a second/)
  fast.payload.end()
  assert.equal((await fast.received).length, 100)
})

test('body: a large one counts until it is answered, also when a thread has taken its bytes', async () => {
  const { bodies } = aReceiver()
  const payload = new PassThrough()
  // As above.
  const request = { body: payload, raw: {}, headers: {} } as unknown as FastifyRequest
  const answer: (() => void)[] = []
  const onAnswered = (release: () => void): void => void answer.push(release)
  const received = bodies.read(request, {
    tenant: 'a',
    bytesMax: 10_000_000,
    onCompleted: onAnswered,
  })
  payload.end(Buffer.alloc(1_000_000))
  const bytes = await received
  assert.ok(bodies.bytes >= bytes.length)
  assert.ok(bytes.buffer instanceof ArrayBuffer)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  for (const answered of answer) answered()
  assert.equal(bodies.bytes, 0)
})

test('body: the memory of one that ended early is released at once', async () => {
  const { receive } = aReceiver()
  const length = 20_000_000
  const { payload, received } = receive('a', length, { 'content-length': String(length) })
  const beforeBytes = process.memoryUsage().arrayBuffers
  payload.write(Buffer.alloc(1_000_000))
  await setImmediate()
  assert.ok(process.memoryUsage().arrayBuffers >= beforeBytes + length)
  payload.destroy()
  assert.match(await received, /^400 .*ended early/)
  assert.ok(process.memoryUsage().arrayBuffers < beforeBytes + length / 2)
})
