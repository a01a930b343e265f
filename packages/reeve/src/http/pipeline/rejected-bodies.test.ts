import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DRAIN_LIMITS, RejectedBodyDrain } from './request-body.ts'

/** A request whose body is still on its way, and the headers of its response. */
function aRejected(length = '10') {
  const raw = Object.assign(new PassThrough(), { complete: false })
  const sent = new Map<string, string>([['connection', 'keep-alive']])
  // All that is used of a request and a reply here.
  const request = { raw, headers: { 'content-length': length } } as unknown as FastifyRequest
  const response = {
    header: (name: string, value: string) => sent.set(name, value),
    removeHeader: (name: string) => sent.delete(name),
  }
  // As above.
  const reply = response as unknown as FastifyReply
  return { raw, request, reply, connection: () => sent.get('connection') }
}

test('rejected bodies: as many as the limit are drained, the next one ends its connection', () => {
  const bodies = new RejectedBodyDrain()
  const drained = Array.from({ length: DRAIN_LIMITS.bodiesMax }, () => aRejected())
  for (const { request, reply } of drained) bodies.drain(request, reply)
  assert.deepEqual(new Set(drained.map(({ connection }) => connection())), new Set([undefined]))
  const next = aRejected()
  bodies.drain(next.request, next.reply)
  assert.equal(next.connection(), 'close')
  for (const { raw } of drained) raw.destroy()
})

test('rejected bodies: one that has arrived makes room for another', async () => {
  const bodies = new RejectedBodyDrain({ ...DRAIN_LIMITS, bodiesMax: 1 })
  const first = aRejected()
  bodies.drain(first.request, first.reply)
  const closed = new Promise((resolve) => void first.raw.once('close', resolve))
  first.raw.end('0123456789')
  await closed
  const second = aRejected()
  bodies.drain(second.request, second.reply)
  assert.equal(second.connection(), undefined)
  second.raw.destroy()
})

test('rejected bodies: a body with a Content-Length above the limit closes its connection', () => {
  const bodies = new RejectedBodyDrain()
  const { request, reply, connection } = aRejected(String(DRAIN_LIMITS.bytesMax + 1))
  bodies.drain(request, reply)
  assert.equal(connection(), 'close')
})
