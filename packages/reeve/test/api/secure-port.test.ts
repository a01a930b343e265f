import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as ask } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect } from 'node:tls'
import { httpTlsOptions } from '../../src/main/tls-wiring.ts'
import { atEnd } from '../build/at-end.ts'
import { aTls, certificate } from '../build/certificates.ts'
import { createTestServer, untilParked } from './harness.ts'

const { ca } = certificate('user')

test('secure port: what is asked over HTTPS is answered, and a plain request ends nothing', async (t) => {
  const { address, port } = await aSecureServer(t)
  const plain = connectPlain(port, '127.0.0.1')
  plain.on('error', () => undefined)
  plain.write('GET /v1/jobs HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(plain, 'close')
  const { status, index } = await get(`${address}/v1/namespaces`)
  assert.equal(status, 200)
  assert.ok(index > 0)
})

test('secure port: a query that waits is answered by a change, on the connection it has', async (t) => {
  const { server, address } = await aSecureServer(t)
  const { index } = await get(`${address}/v1/namespaces`)
  const waiting = get(`${address}/v1/namespaces?index=${index}&wait=60s`)
  await untilParked()
  await server.ok('writeNamespace', { body: { Name: 'news' } })
  const news = await waiting
  assert.ok(news.index > index)
  assert.match(news.text, /news/)
})

test('secure port: a stop waits for nobody who says nothing', async (t) => {
  const { server, address, port } = await aSecureServer(t)
  const silent = connectPlain(port, '127.0.0.1')
  await once(silent, 'connect')
  const idle = connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  await once(idle, 'secureConnect')
  for (const socket of [silent, idle]) socket.on('error', () => undefined)
  const { index } = await get(`${address}/v1/namespaces`)
  const waiting = get(`${address}/v1/namespaces?index=${index}&wait=60s`)
  await untilParked()
  const closed = [once(silent, 'close'), once(idle, 'close')]
  await server.close()
  await Promise.all(closed)
  assert.equal((await waiting).status, 200, 'who waited is answered')
})

test('secure port: a stop waits for nobody who has sent half a request', async (t) => {
  const { server, port } = await aSecureServer(t)
  const slow = connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  slow.on('error', () => undefined)
  slow.write('POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n')
  slow.write('expect: 100-continue\r\n\r\n{"Job"')
  const [answer]: Buffer[] = await once(slow, 'data')
  assert.match(String(answer), /^HTTP\/1\.1 100/)
  const closed = once(slow, 'close')
  await server.close()
  await closed
})

async function aSecureServer(t: TestContext) {
  const security = httpTlsOptions(await aTls('server'))
  const server = await createTestServer({ aclEnabled: false, security })
  let isClosed = false
  const close = server.close.bind(server)
  atEnd(t, async () => void (isClosed || (await close())))
  const address = await server.listen()
  return {
    server: {
      ...server,
      close: async () => {
        isClosed = true
        await close()
      },
    },
    address,
    port: Number(new URL(address).port),
  }
}

async function get(url: string) {
  const asked = ask(url, { ca, agent: false }).end()
  const [answer] = await once(asked, 'response')
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  const index = Number(answer.headers['x-service-index'] ?? 0)
  return { status: Number(answer.statusCode), index, text }
}
