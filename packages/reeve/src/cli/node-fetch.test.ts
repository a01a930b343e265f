import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import test, { type TestContext } from 'node:test'
import { text as readText } from 'node:stream/consumers'
import { constants, createGzip, gzipSync } from 'node:zlib'
import type { FetchInit } from '@reeve/sdk'
import { certificate } from '../../test/build/certificates.ts'
import { createNodeFetch, withRateLimitRetries } from './node-fetch.ts'

const ask = createNodeFetch()

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/** The address of a server that answers like this. */
async function aServer(t: TestContext, handle: Handler, isSecure = false): Promise<string> {
  const answer = (request: IncomingMessage, response: ServerResponse) =>
    void handle(request, response)
  const server = isSecure
    ? createSecureServer({ ...certificate('server'), requestCert: true }, answer)
    : createServer(answer)
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = server.address()
  assert.ok(typeof place === 'object' && place !== null)
  return `${isSecure ? 'https' : 'http'}://127.0.0.1:${place.port}`
}

function anInit(fields: Partial<FetchInit> = {}): FetchInit {
  const { signal } = new AbortController()
  return { method: 'GET', headers: {}, redirect: 'manual', signal, ...fields }
}

/** What came, as the server saw it. */
async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, headers } = request
  response.end(JSON.stringify({ method, headers, body: await readText(request) }))
}

const bodies = [
  { name: 'text', body: () => 'grün', length: '5' },
  { name: 'bytes', body: () => new TextEncoder().encode('grün'), length: '5' },
  { name: 'a stream', body: () => new Response('grün').body ?? '', length: undefined },
]
const ways = [
  { over: 'http', isSecure: false, ask },
  { over: 'https with certificates', isSecure: true, ask: createNodeFetch(certificate('user')) },
]
for (const way of ways)
  for (const method of ['POST', 'DELETE'])
    for (const { name, body, length } of bodies)
      test(`fetch: ${name} as the body of a ${method} over ${way.over} arrives whole`, async (t) => {
        const address = await aServer(t, echo, way.isSecure)
        const init = anInit({ method, headers: { 'x-a': '1' }, body: body() })
        const answer = await way.ask(address, init)
        const seen = JSON.parse(Buffer.from(await answer.arrayBuffer()).toString())
        assert.deepEqual(
          [seen.method, seen.body, seen.headers['x-a'], seen.headers['content-length']],
          [method, 'grün', '1', length],
        )
      })

test('fetch: an answer is read with its status and headers, whatever their case', async (t) => {
  const address = await aServer(t, (_request, response) => {
    response.writeHead(404, { 'X-Some': ['a', 'b'] }).end('none')
  })
  const answer = await ask(address, anInit())
  assert.deepEqual([answer.status, answer.ok], [404, false])
  assert.equal(answer.headers.get('x-SOME'), 'a, b')
  assert.equal(answer.headers.get('x-other'), null)
  assert.equal(Buffer.from(await answer.arrayBuffer()).toString(), 'none')
})

test('fetch: a redirect is not followed, an empty answer has no body', async (t) => {
  const address = await aServer(t, ({ url }, response) => {
    response.writeHead(url === '/none' ? 204 : 302, { location: '/none' }).end()
  })
  assert.equal((await ask(address, anInit())).status, 302)
  assert.equal((await ask(`${address}/none`, anInit())).body, null)
})

test('fetch: a compressed answer comes as it was before', async (t) => {
  const address = await aServer(t, ({ headers }, response) => {
    assert.equal(headers['accept-encoding'], 'gzip')
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain'))
  })
  const answer = await ask(address, anInit())
  assert.equal(Buffer.from(await answer.arrayBuffer()).toString(), 'plain')
})

test('fetch: chunks of a compressed stream are delivered as they arrive', async (t) => {
  const address = await aServer(t, (_request, response) => {
    const gzip = createGzip()
    response.writeHead(200, { 'content-encoding': 'gzip' })
    gzip.pipe(response)
    gzip.write('first')
    gzip.flush(constants.Z_SYNC_FLUSH)
  })
  const answer = await ask(address, anInit())
  assert.equal(answer.body, answer.body)
  const reader = answer.body?.getReader()
  const first = await reader?.read()
  assert.equal(Buffer.from(first?.value ?? []).toString(), 'first')
  await reader?.cancel()
})

test('fetch: what is not reached fails with the code of the system in its cause', async (t) => {
  const address = await aServer(t, (request) => request.socket.destroy())
  const causedBy = (code: string) => (thrown: unknown) => {
    assert.ok(thrown instanceof TypeError && thrown.cause instanceof Error)
    assert.equal(Reflect.get(thrown.cause, 'code'), code)
    return true
  }
  await assert.rejects(ask('http://127.0.0.1:1', anInit()), causedBy('ECONNREFUSED'))
  await assert.rejects(ask(address, anInit()), causedBy('ECONNRESET'))
})

test('fetch: a signal ends it, with its reason until the answer begins', async (t) => {
  const address = await aServer(t, ({ url }, response) => {
    if (url === '/begun') response.writeHead(200).write('half')
  })
  const reason = new Error('enough')
  await assert.rejects(ask(address, anInit({ signal: AbortSignal.abort(reason) })), reason)
  const waiting = new AbortController()
  const asked = ask(address, anInit({ signal: waiting.signal }))
  waiting.abort(reason)
  await assert.rejects(asked, reason)
  const reading = new AbortController()
  const answer = await ask(`${address}/begun`, anInit({ signal: reading.signal }))
  const read = answer.arrayBuffer()
  reading.abort(reason)
  await assert.rejects(read)
})

test('fetch: an answer that is cut fails while it is read', async (t) => {
  const address = await aServer(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('half')
    setImmediate(() => response.destroy())
  })
  await assert.rejects(async () => await (await ask(address, anInit())).arrayBuffer())
})

for (const { name, reset, body, sent, status } of [
  {
    name: 'is repeated when its second has passed',
    reset: '0.01',
    body: 'x',
    sent: 2,
    status: 200,
  },
  { name: 'with a long wait is not repeated', reset: '60', body: 'x', sent: 1, status: 429 },
  { name: 'without a time is not repeated', reset: undefined, body: 'x', sent: 1, status: 429 },
  {
    name: 'with a stream is not repeated',
    reset: '0.01',
    body: new ReadableStream<Uint8Array>(),
    sent: 1,
    status: 429,
  },
])
  test(`a request over the rate limit ${name}`, async () => {
    let count = 0
    const fetch = withRateLimitRetries(() => {
      count += 1
      const headers = reset === undefined ? {} : { 'x-ratelimit-reset': reset }
      return Promise.resolve(new Response('', { status: count === 1 ? 429 : 200, headers }))
    })
    const init: FetchInit = {
      method: 'PUT',
      headers: {},
      body,
      redirect: 'manual',
      signal: new AbortController().signal,
    }
    const response = await fetch('http://reeve.test', init)
    assert.deepEqual([response.status, count], [status, sent])
  })
