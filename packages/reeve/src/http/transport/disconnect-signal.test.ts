import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { disconnectSignal } from './disconnect-signal.ts'

async function aRequest(t: TestContext) {
  const arrived = Promise.withResolvers<ServerResponse>()
  const server = createServer((_request, response) => arrived.resolve(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  // A TCP port was taken, so the address is one with a port.
  const { port } = server.address() as AddressInfo
  const client = get({ port, host: '127.0.0.1' })
  client.on('error', () => undefined)
  const response = await arrived.promise
  return { client, response, signal: disconnectSignal(response) }
}

test('disconnect signal: aborts when the client disconnects', async (t) => {
  const { client, response, signal } = await aRequest(t)
  client.destroy()
  await once(response, 'close')
  assert.equal(signal.aborted, true)
})

test('disconnect signal: a complete response does not abort', async (t) => {
  const { response, signal } = await aRequest(t)
  response.end('done')
  await once(response, 'close')
  assert.equal(signal.aborted, false)
})
