import assert from 'node:assert/strict'
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'

const TEN_MIB = 10 * 1024 * 1024

/** A server with a port, and one policy whose code is `old`. */
async function aPort(): Promise<GovernanceServer & { readonly url: URL; readonly id: string }> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const body = aBody('policies', { name: 'p', 'enforcement-level': 'advisory' })
  const params = { organization_name: 'acme' }
  const { id } = (await it.ok('createPolicy', { params, body })).data
  const url = new URL(`/api/v2/policies/${id}/upload`, await it.server.listen())
  const sent = put(url, it.root)
  sent.end('main = "old"')
  const answer = await answerOf(sent)
  assert.equal(answer.statusCode, 200)
  await text(answer)
  return { ...it, url, id }
}

/** An agent that says that it would use a connection again. */
const KEEPING = new Agent({ keepAlive: true })

/** A request without a word about its length. */
function put(url: URL, token: string): ClientRequest {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
  return request(url, { method: 'PUT', headers, agent: KEEPING })
}

async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  // The type of `once` cannot say it: a response comes with the event.
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

async function stored(it: GovernanceServer, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${it.root}` }
  return (await it.server.send('GET', `/api/v2/policies/${id}/download`, { headers })).text
}

test('upload: a body of unknown length is taken up to the limit', async () => {
  const it = await aPort()
  const sent = put(it.url, it.root)
  const piece = Buffer.alloc(TEN_MIB / 16, '# line\n')
  for (let i = 0; i < 16; i++) sent.write(piece)
  sent.end()
  const answer = await answerOf(sent)
  assert.equal(answer.statusCode, 200)
  assert.notEqual(answer.headers.connection, 'close')
  await text(answer)
  assert.equal((await stored(it, it.id)).length, TEN_MIB)
  KEEPING.destroy()
  await it.server.close()
})

test('upload: beyond the limit the answer comes in mid-way, and what there was stays', async () => {
  const it = await aPort()
  const sent = put(it.url, it.root)
  sent.on('error', () => undefined)
  // It never ends: the answer cannot wait for it.
  sent.write(Buffer.alloc(TEN_MIB, 'a'))
  sent.write('one more')
  const answer = await answerOf(sent)
  assert.equal(answer.statusCode, 413)
  assert.match(await text(answer), /larger than 10485760 bytes/)
  assert.equal(await stored(it, it.id), 'main = "old"')
  KEEPING.destroy()
  await it.server.close()
})

test('too large: who sends everything before looking for an answer finds one', async () => {
  const it = await aPort()
  const cases = [
    { method: 'PUT', path: it.url.pathname, bytes: TEN_MIB + 1 },
    { method: 'PATCH', path: it.url.pathname.replace('/upload', ''), bytes: TEN_MIB },
  ]
  for (const { method, path, bytes } of cases) {
    const socket = connect(Number(it.url.port), it.url.hostname)
    const head = [
      `${method} ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${it.root}`,
      `Content-Length: ${bytes}`,
    ]
    let answer = ''
    // Paused until all is sent: a connection that was broken meanwhile would lose the answer.
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    await new Promise<void>((sent, broken) => {
      socket.once('error', broken)
      socket.end(Buffer.alloc(bytes, 'a'), sent)
    })
    for await (const chunk of socket) answer += String(chunk)
    assert.match(answer, /^HTTP\/1\.1 413 /)
  }
  assert.equal(await stored(it, it.id), 'main = "old"')
  KEEPING.destroy()
  await it.server.close()
})

test('upload: a stranger is answered without being read', async () => {
  const it = await aPort()
  const { token } = await it.team('acme', 'readers', { 'read-policies': true })
  for (const [secret, status] of [
    ['wrong', 401],
    [token, 404],
  ] as const) {
    const sent = put(it.url, secret)
    sent.on('error', () => undefined)
    sent.write('main = "never ends"')
    const answer = await answerOf(sent)
    assert.equal(answer.statusCode, status)
    sent.destroy()
  }
  assert.equal(await stored(it, it.id), 'main = "old"')
  KEEPING.destroy()
  await it.server.close()
})

test('upload: a caller that goes in mid-way leaves nothing', async () => {
  const it = await aPort()
  const sent = put(it.url, it.root)
  sent.on('error', () => undefined)
  await new Promise((sentOne) => sent.write('main = "half', sentOne))
  sent.destroy()
  await new Promise((closed) => sent.once('close', closed))
  const again = put(it.url, it.root)
  again.end('main = "new"')
  const answer = await answerOf(again)
  assert.equal(answer.statusCode, 200)
  await text(answer)
  assert.equal(await stored(it, it.id), 'main = "new"')
  KEEPING.destroy()
  await it.server.close()
})
