import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { CHANNEL_MESSAGE_BYTES_MAX, NODE_CHANNEL_PATH } from '@reeve/contract'
import { WebSocketServer, type WebSocket } from 'ws'
import { certificate } from '../../test/build/certificates.ts'
import { channelUrl, websocketDialer } from './websocket-dialer.ts'

interface Listening {
  readonly url: string
  readonly paths: string[]
}

/** A server on a port of its own that hands each connection to the test. */
async function listen(t: TestContext, connected: (socket: WebSocket) => void): Promise<Listening> {
  const http = createServer()
  const paths: string[] = []
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket, request) => {
    paths.push(request.url ?? '')
    connected(socket)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    http.close()
  })
  // A server on a TCP port has an address of this form.
  const { port } = http.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, paths }
}

const addresses = [
  { server: 'http://127.0.0.1:4646', url: `ws://127.0.0.1:4646${NODE_CHANNEL_PATH}` },
  { server: 'https://reeve.example/base?x=1', url: `wss://reeve.example${NODE_CHANNEL_PATH}` },
]
for (const c of addresses) {
  test(`channelUrl: ${c.server}`, () => assert.equal(channelUrl(c.server), c.url))
}

test('texts go both ways, and those that come before anyone listens are kept', async (t) => {
  const { url, paths } = await listen(t, (socket) => {
    socket.send('early')
    socket.on('message', () => socket.send('answer'))
  })
  const channel = await websocketDialer([url])()
  channel.send('hello')
  const texts: string[] = []
  await new Promise<void>((resolve) => {
    channel.onMessage((text) => {
      texts.push(text)
      if (texts.length === 2) resolve()
    })
  })
  assert.deepEqual(texts, ['early', 'answer'])
  assert.deepEqual(paths, [NODE_CHANNEL_PATH])
  channel.close()
})

test('close listeners are called for both sides, even if added late', async (t) => {
  const { url } = await listen(t, (socket) => socket.close(4001, 'go away'))
  const channel = await websocketDialer([url])()
  const reason = await new Promise<string>((resolve) => channel.onClose(resolve))
  assert.equal(reason, 'go away')
  assert.equal(await new Promise<string>((resolve) => channel.onClose(resolve)), 'go away')
  channel.send('into the void')
  channel.close()
})

for (const c of [
  {
    name: 'a message longer than the contract allows',
    send: 'x'.repeat(CHANNEL_MESSAGE_BYTES_MAX + 1),
  },
  { name: 'a binary frame', send: Buffer.from([1, 2, 3]) },
]) {
  test(`${c.name} ends the channel`, async (t) => {
    const { url } = await listen(t, (socket) => socket.send(c.send))
    const channel = await websocketDialer([url])()
    const reason = await new Promise<string>((resolve) => {
      channel.onMessage(() => undefined)
      channel.onClose(resolve)
    })
    assert.notEqual(reason, '')
  })
}

test('the reason of a rejected connection is reported', async (t) => {
  const http = createServer()
  http.on('upgrade', (_request, socket) => {
    const why = 'the certificate does not name a node'
    socket.end(`HTTP/1.1 403 Forbidden\r\ncontent-length: ${why.length}\r\n\r\n${why}`)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => http.close())
  // A server on a TCP port has an address of this form.
  const { port } = http.address() as AddressInfo
  await assert.rejects(websocketDialer([`http://127.0.0.1:${port}`])(), {
    kind: 'dial',
    message: /:\d+: it answered 403: the certificate does not name a node$/,
  })
})

test('a server that rejects the certificate of the node has the reason in its log', async (t) => {
  const options = { ...certificate('server'), requestCert: true, rejectUnauthorized: true }
  const https = createSecureServer(options)
  https.on('tlsClientError', () => undefined)
  https.listen(0, '127.0.0.1')
  await once(https, 'listening')
  t.after(() => https.close())
  // A server on a TCP port has an address of this form.
  const { port } = https.address() as AddressInfo
  const { ca } = certificate('client')
  const dial = websocketDialer([`https://127.0.0.1:${port}`], () => ({
    ...certificate('server-auth-only'),
    ca,
  }))
  await assert.rejects(dial(), { kind: 'dial', message: HANG_UP })
})

/** Which of the two the runtime says depends on when the connection ends. */
const HANG_UP =
  /: (?:socket hang up|read ECONNRESET); the server may reject the certificate of this node/

test('servers are dialled round-robin; an unreachable one is a fault', async (t) => {
  const { url, paths } = await listen(t, () => undefined)
  const dial = websocketDialer(['http://127.0.0.1:1', url])
  await assert.rejects(dial(), { kind: 'dial' })
  const channel = await dial()
  channel.close()
  assert.equal(paths.length, 1)
  await assert.rejects(websocketDialer([])(), { kind: 'dial' })
})
