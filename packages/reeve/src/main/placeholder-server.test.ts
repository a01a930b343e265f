import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { atEnd } from '../../test/build/at-end.ts'
import { until } from '../../test/build/until.ts'
import { PlaceholderServer } from './placeholder-server.ts'

test('placeholder server: takes the port when it is free, responds with 503, and releases it', async (t) => {
  const before = createServer().listen(0, '127.0.0.1')
  await once(before, 'listening')
  const address = before.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const keeper = new PlaceholderServer({ host: '127.0.0.1', port, tls: undefined })
  before.close()
  const answer = await until('an answer', () => ask(port, '/v1/jobs'))
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /^no leader: this server restarts/)
  const governed = await until('an answer', () => ask(port, '/api/v2/organizations'))
  const { errors } = JSON.parse(await governed.text())
  assert.equal(errors[0].status, '503')
  await keeper.close()
  const after = createServer().listen(port, '127.0.0.1')
  atEnd(t, () => after.close())
  await once(after, 'listening')
})

test('placeholder server: hands an open port over to the next server', async (t) => {
  const port = await aFreePort()
  const keeper = new PlaceholderServer({ host: '127.0.0.1', port, tls: undefined })
  await until('an answer', () => ask(port, '/v1/jobs'))
  const next = createServer((_request, response) => response.end('next'))
  atEnd(t, () => next.close())
  await keeper.handOver(async () => {
    next.listen(port, '127.0.0.1')
    await once(next, 'listening')
  })
  assert.equal(await (await ask(port, '/'))?.text(), 'next')
  next.close()
  next.closeAllConnections()
  await once(next, 'close')
  assert.equal(await ask(port, '/'), undefined, 'nobody keeps it open')
})

test('port keeper: a server that cannot take the port leaves it closed', async () => {
  const port = await aFreePort()
  const keeper = new PlaceholderServer({ host: '127.0.0.1', port, tls: undefined })
  await until('an answer', () => ask(port, '/v1/jobs'))
  await assert.rejects(
    keeper.handOver(() => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await ask(port, '/'), undefined)
})

async function aFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

test('port keeper: one that never got the port lets go of nothing', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  atEnd(t, () => other.close())
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await new PlaceholderServer({ host: '127.0.0.1', port, tls: undefined }).close()
  assert.ok(other.listening)
})

async function ask(port: number, path: string): Promise<Response | undefined> {
  return await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
}
