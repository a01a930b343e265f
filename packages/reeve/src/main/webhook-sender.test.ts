import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createWebhookSender } from './webhook-sender.ts'

test('webhook: a loopback address is rejected with the reason and the remedy', async () => {
  const sender = createWebhookSender({ allowsLocal: false, version: '1', otherHeaders: {} })
  for (const host of ['127.0.0.1', 'localhost']) {
    const { code, body } = await sender.send({
      url: `http://${host}:1/hook`,
      body: '',
      headers: {},
    })
    assert.equal(code, null)
    assert.match(
      body,
      /^The receiver \S+ resolves to \S+, a loopback, link-local or cloud metadata address; use an address that other machines can reach$/,
    )
  }
})

test('webhook: literal local addresses are rejected in every notation', async () => {
  const sender = createWebhookSender({ allowsLocal: false, version: '1', otherHeaders: {} })
  for (const host of ['[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '2130706433']) {
    const { code, body } = await sender.send({ url: `http://${host}:1/`, body: '', headers: {} })
    assert.equal(code, null)
    assert.match(body, /a loopback, link-local or cloud metadata address/)
  }
})

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/** A sender, and the URL of a local receiver. */
async function aReceiver(t: TestContext, respond: Respond) {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  // A TCP server has an address with a port.
  const { port } = server.address() as AddressInfo
  const otherHeaders = { 'x-own': 'x-other' }
  const sender = createWebhookSender({ allowsLocal: true, version: '1.2', otherHeaders })
  return { sender, url: `http://127.0.0.1:${port}/hook` }
}

test('webhook: a request has its body and the headers under both names', async (t) => {
  let text = ''
  let headers: IncomingMessage['headers'] = {}
  const { sender, url } = await aReceiver(t, (request, response) => {
    ;({ headers } = request)
    request.on('data', (piece: Buffer) => (text += piece.toString()))
    request.on('end', () => response.writeHead(202).end('accepted'))
  })
  const answer = await sender.send({ url, body: 'é!', headers: { 'x-own': 'a' } })
  assert.deepEqual(answer, { code: 202, body: 'accepted' })
  assert.equal(text, 'é!')
  assert.deepEqual(
    ['user-agent', 'content-length', 'x-own', 'x-other'].map((name) => headers[name]),
    ['reeve/1.2', '3', 'a', 'a'],
  )
})

test('webhook: redirects are not followed, and a long response is cut', async (t) => {
  const paths: (string | undefined)[] = []
  const { sender, url } = await aReceiver(t, (request, response) => {
    paths.push(request.url)
    response.writeHead(302, { location: '/elsewhere' }).end('x'.repeat(5_000))
  })
  const { code, body } = await sender.send({ url, body: '', headers: {} })
  assert.deepEqual([code, body.length, paths], [302, 1_024, ['/hook']])
})

test('webhook: a request is aborted by its signal', async (t) => {
  const controller = new AbortController()
  const { sender, url } = await aReceiver(t, () => controller.abort())
  const { signal } = controller
  const answer = await sender.send({ url, body: '', headers: {}, signal })
  assert.deepEqual(answer, { code: null, body: 'The operation was aborted' })
})

test('webhook: a receiver that does not respond in time is named with the limit', async (t) => {
  const expired = AbortSignal.abort(new DOMException('late', 'TimeoutError'))
  const { mock } = t.mock.method(AbortSignal, 'timeout', () => expired)
  const { sender, url } = await aReceiver(t, () => undefined)
  const answer = await sender.send({ url, body: '', headers: {} })
  assert.deepEqual(answer, { code: null, body: 'no response within 10 s' })
  assert.deepEqual(mock.calls[0]?.arguments, [10_000])
})

test('webhook: a refused connection has a reason, also for a name with several addresses', async (t) => {
  const { sender, url } = await aReceiver(t, (_request, response) => response.destroy())
  assert.match((await sender.send({ url, body: '', headers: {} })).body, /socket hang up/)
  const refused = await sender.send({ url: 'http://localhost:1/', body: '', headers: {} })
  assert.equal(refused.code, null)
  assert.match(refused.body, /ECONNREFUSED/)
})
