import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { until } from '../../../test/build/until.ts'
import { handleClientError } from './client-error.ts'
import { limitPipelining } from './pipelining.ts'

const LIMITS = { servedMax: 2, waitingMax: 4, waitingTotalMax: 10, lingerMs: 60_000 }

interface World {
  /** Responses of the requests that were started, in order. */
  readonly started: ServerResponse[]
  readonly connect: () => Promise<Client>
}

interface Client {
  readonly socket: Socket
  received: string
}

async function aServer(
  t: TestContext,
  { isAnswering = false, plainHttp = false } = {},
): Promise<World> {
  const started: ServerResponse[] = []
  const server = createServer((request, response) => {
    started.push(response)
    if (isAnswering) response.end(`<${request.url?.slice(1)}>`)
  })
  limitPipelining(server, { limits: LIMITS, plainHttp })
  server.on('clientError', handleClientError)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    started,
    connect: async () => {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      await once(socket, 'connect')
      const client: Client = { socket, received: '' }
      socket.on('data', (bytes) => (client.received += bytes.toString()))
      socket.on('error', () => undefined)
      return client
    },
  }
}

function requests(count: number, from = 0): string {
  return Array.from(
    { length: count },
    (_, at) => `GET /${from + at} HTTP/1.1\r\nHost:\r\n\r\n`,
  ).join('')
}

const isGone = (socket: Socket): true | undefined => (socket.closed ? true : undefined)

test('pipelining: requests served in parallel per connection are limited', async (t) => {
  const { started, connect: open } = await aServer(t)
  const first = await open()
  first.socket.write(requests(6))
  await until('two requests', () => (started.length === 2 ? true : undefined))
  const second = await open()
  second.socket.write(requests(1))
  await until('the request of another connection', () => (started.length === 3 ? true : undefined))
  started[0]?.end()
  await until('the next request', () => (started.length === 4 ? true : undefined))
})

test('pipelining: as many requests as may wait are answered in order', async (t) => {
  const { connect: open } = await aServer(t, { isAnswering: true })
  const client = await open()
  client.socket.write(requests(6))
  await until('six responses', () => (client.received.includes('<5>') ? true : undefined))
  assert.deepEqual(client.received.match(/<\d+>/g), ['<0>', '<1>', '<2>', '<3>', '<4>', '<5>'])
  client.socket.write(requests(1, 6))
  await until('a later request', () => (client.received.includes('<6>') ? true : undefined))
})

test('pipelining: one request more is rejected after the others, and ends the connection', async (t) => {
  const { started, connect: open } = await aServer(t)
  const client = await open()
  client.socket.write(requests(200))
  for (let at = 0; at < 6; at++) (await until(`request ${at}`, () => started[at])).end('served')
  await until('the end of the connection', () => isGone(client.socket))
  assert.equal(client.received.match(/served/g)?.length, 6)
  assert.match(
    client.received,
    /HTTP\/1\.1 429 Too Many Requests[^]*retry-after: 1[^]*too many requests/,
  )
  assert.equal(started.length, 6)
})

test('pipelining: waiting requests are dropped when the client disconnects', async (t) => {
  const { started, connect: open } = await aServer(t)
  const [first, second, third] = [await open(), await open(), await open()]
  first.socket.write(requests(6))
  second.socket.write(requests(6))
  await until('two requests of each', () => (started.length === 4 ? true : undefined))
  first.socket.destroy()
  second.socket.destroy()
  // Eight of at most ten waited: there is room for four more only if those were dropped.
  await until('both connections to close', () =>
    started.every((response) => response.destroyed) ? true : undefined,
  )
  third.socket.write(requests(6))
  await until('the third connection', () => (started.length === 6 ? true : undefined))
  started[4]?.end()
  started[5]?.end()
  await until('those that waited on it', () => (started.length === 8 ? true : undefined))
  assert.equal(first.received, '')
})

test('pipelining: a connection is cut off when too many requests wait on all of them', async (t) => {
  const { started, connect: open } = await aServer(t)
  const clients = [await open(), await open(), await open()]
  for (const [at, client] of clients.entries()) {
    client.socket.write(requests(6))
    await until(`connection ${at}`, () => (started.length === 2 * (at + 1) ? true : undefined))
  }
  await until('the third to be cut off', () =>
    clients[2] === undefined ? undefined : isGone(clients[2].socket),
  )
  assert.equal(clients[0]?.socket.closed, false)
})

test('pipelining: with documented members alone, one request more closes the connection', async (t) => {
  const { started, connect: open } = await aServer(t, { plainHttp: true })
  const client = await open()
  client.socket.write(requests(200))
  await until('the end of the connection', () => isGone(client.socket))
  assert.equal(started.length, 2)
})

test('pipelining: a request that cannot be read is rejected after the responses before it', async (t) => {
  const { started, connect: open } = await aServer(t)
  const client = await open()
  client.socket.write(`${requests(3)}NONSENSE\r\n\r\n`)
  for (let at = 0; at < 3; at++) (await until(`request ${at}`, () => started[at])).end('served')
  await until('the end of the connection', () => isGone(client.socket))
  assert.match(client.received, /served[^]*served[^]*served[^]*HTTP\/1\.1 400 Bad Request/)
})
