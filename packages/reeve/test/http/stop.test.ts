import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { GracefulShutdown, SHUTDOWN_GRACE_MS } from '../../src/http/transport/shutdown.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { aPipeline } from '../build/pipeline.ts'

async function aListeningShell() {
  const lifecycle = new GracefulShutdown()
  const app = createHttpServer({
    pipeline: aPipeline().pipeline,
    log: SILENT_LOG,
    responseHeaders: {},
    usesPlainHttp: false,
    isDraining: () => lifecycle.isDraining,
    observerOf: () => () => undefined,
    isUpgrade: () => true,
  })
  lifecycle.track(app.server)
  const slow = { asked: Promise.withResolvers<void>(), answer: Promise.withResolvers<string>() }
  app.post('/body', () => 'read')
  app.get('/slow', () => {
    slow.asked.resolve()
    return slow.answer.promise
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  // A TCP port was taken, so the address is one with a port.
  const { port } = app.server.address() as AddressInfo
  const clock = new SimulatedClock()
  const close = (): Promise<void> => lifecycle.close(app, clock)
  return { app, lifecycle, port, slow, clock, close }
}

test('stop: a connection that never asked for anything does not hold it up', async () => {
  const { app, lifecycle, port, close } = await aListeningShell()
  const accepted = once(app.server, 'connection')
  const socket = connect({ port, host: '127.0.0.1' })
  await accepted
  const closed = once(socket.resume(), 'close')
  lifecycle.drain()
  await close()
  await closed
})

test('stop: a running request is answered, and its kept-alive connection closed', async () => {
  const { lifecycle, port, slow, close } = await aListeningShell()
  const agent = new Agent({ keepAlive: true })
  const request = get({ port, host: '127.0.0.1', path: '/slow', agent })
  // Node's documentation: this event has one argument, the answer.
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  await slow.asked.promise
  lifecycle.drain()
  const stopped = close()
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

/** Sends this text, and is heard until the server sees that it came. */
async function aCaller({ app, port }: Awaited<ReturnType<typeof aListeningShell>>, sent: Sent) {
  app.server.on('upgrade', (_request, upgraded) => upgraded.on('error', () => undefined))
  const arrived = once(app.server, sent.event)
  const socket = connect({ port, host: '127.0.0.1' })
  const closed = once(socket.on('error', () => undefined).resume(), 'close')
  socket.write(`${sent.head.join('\r\n')}\r\n\r\n${sent.body ?? ''}`)
  await arrived
  return { closed }
}

interface Sent {
  readonly event: 'request' | 'upgrade'
  readonly head: readonly string[]
  readonly body?: string
}

test('stop: a request whose body has not come is not waited for', async () => {
  const shell = await aListeningShell()
  const head = ['POST /body HTTP/1.1', 'host: x', 'content-length: 1000']
  const { closed } = await aCaller(shell, { event: 'request', head, body: '{"Job"' })
  shell.lifecycle.drain()
  await shell.close()
  await closed
})

const HANGING = [
  { name: 'a request that is not answered', event: 'request', head: ['GET /slow HTTP/1.1'] },
  {
    name: 'an upgrade that nobody ends',
    event: 'upgrade',
    head: ['GET /x HTTP/1.1', 'connection: upgrade', 'upgrade: echo'],
  },
] as const
for (const { name, event, head } of HANGING)
  test(`stop: ${name} holds it up for a short time only`, async () => {
    const shell = await aListeningShell()
    const { closed } = await aCaller(shell, { event, head: [...head, 'host: x'] })
    shell.lifecycle.drain()
    const stopped = shell.close()
    shell.clock.advance(SHUTDOWN_GRACE_MS - 1)
    assert.equal(await Promise.race([stopped.then(() => 'stopped'), someTurns()]), 'waits')
    shell.clock.advance(1)
    await stopped
    await closed
  })

async function someTurns(): Promise<string> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  return 'waits'
}
