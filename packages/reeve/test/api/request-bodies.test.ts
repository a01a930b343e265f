import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { until } from '../build/until.ts'
import { createTestServer, IS_PLAIN_HTTP } from './harness.ts'

interface Client {
  readonly socket: Socket
  received: string
}

async function aClient(t: TestContext, port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  const client: Client = { socket, received: '' }
  socket.on('data', (bytes) => (client.received += bytes.toString()))
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return client
}

async function aServer(t: TestContext): Promise<number> {
  const server = await createTestServer()
  t.after(() => server.close())
  return Number(new URL(await server.listen()).port)
}

const routes = ['/v1/jobs', '/v1/search', '/v1/validate/job', '/v1/var/a', '/api/v2/organizations']

for (const route of routes)
  test(`request bodies: without a token nothing of a body is waited for (${route})`, async (t) => {
    const client = await aClient(t, await aServer(t))
    client.socket.write(
      `POST ${route} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
    )
    await until('an answer', () => (client.received.includes('\r\n\r\n') ? true : undefined))
    assert.match(client.received, /^HTTP\/1\.1 40[13] /)
  })

test('request bodies: a body of single bytes without a token ends the connection', async (t) => {
  const client = await aClient(t, await aServer(t))
  const head = 'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
  client.socket.write(head)
  const chunks = '1\r\n \r\n'.repeat(10_000)
  // Bounded: an end after 200,000 chunks is what is waited for, not memory that runs out.
  for (let at = 0; at < 20 && !client.socket.closed; at++) {
    if (!client.socket.write(chunks))
      await Promise.race([once(client.socket, 'drain'), once(client.socket, 'close')])
  }
  await until('the end of the connection', () => (client.socket.closed ? true : undefined))
  // Without undocumented members of Node the connection ends before the response is sent.
  assert.match(client.received, IS_PLAIN_HTTP ? /^$/ : /^HTTP\/1\.1 403 /)
})

test('request bodies: the connection is usable after a body that nobody wanted', async (t) => {
  const client = await aClient(t, await aServer(t))
  client.socket.write('POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n')
  await until('an answer', () => (client.received.includes('403') ? true : undefined))
  client.socket.write('0123456789GET /v1/agent/health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('the next answer', () => (client.received.includes('200 OK') ? true : undefined))
})
