import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import test from 'node:test'
import { Lifecycle } from '../../src/http/lifecycle.ts'
import { createShell } from '../../src/http/server.ts'

async function aListeningShell() {
  const lifecycle = new Lifecycle()
  const app = createShell({
    log: { error: () => undefined, debug: () => undefined },
    corsOrigins: [],
    responseHeaders: {},
    isDraining: () => lifecycle.isDraining,
    observerOf: () => () => undefined,
  })
  lifecycle.follow(app.server)
  const slow = { asked: Promise.withResolvers<void>(), answer: Promise.withResolvers<string>() }
  app.get('/slow', () => {
    slow.asked.resolve()
    return slow.answer.promise
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  // A TCP port was taken, so the address is one with a port.
  const { port } = app.server.address() as AddressInfo
  return { app, lifecycle, port, slow }
}

test('stop: a connection that never asked for anything does not hold it up', async () => {
  const { app, lifecycle, port } = await aListeningShell()
  const accepted = once(app.server, 'connection')
  const socket = connect({ port, host: '127.0.0.1' })
  await accepted
  const closed = once(socket.resume(), 'close')
  lifecycle.drain()
  await app.close()
  await closed
})

test('stop: a running request is answered, and its kept-alive connection closed', async () => {
  const { app, lifecycle, port, slow } = await aListeningShell()
  const agent = new Agent({ keepAlive: true })
  const request = get({ port, host: '127.0.0.1', path: '/slow', agent })
  // Node's documentation: this event has one argument, the answer.
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  await slow.asked.promise
  lifecycle.drain()
  const stopped = app.close()
  slow.answer.resolve('here')
  const [response] = await answered
  assert.equal(response.headers.connection, 'close')
  assert.equal(
    await response
      .setEncoding('utf8')
      .toArray()
      .then((parts) => parts.join('')),
    'here',
  )
  await stopped
  agent.destroy()
})
