import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { REJECTION_PACE } from '../../src/http/pipeline/rate-limit.ts'
import { CHUNK_LIMITS } from '../../src/http/transport/pipelining.ts'
import { execClient, execPath } from './exec-client.ts'
import { createTestServer, IS_PLAIN_HTTP } from './harness.ts'

const LIMITS = {
  requestsPerSecond: 1,
  anonymousRequestsPerSecond: 1,
  blockingQueriesPerToken: 1,
  eventStreamsPerToken: 1,
  execSessionsPerToken: 1,
  logStreamsPerToken: 1,
  connectionsMax: 1_000,
}

/** A server whose clock stands still: after the first request every other is past the rate. */
async function aServerPastItsRate(t: TestContext) {
  const server = await createTestServer({ limits: LIMITS, responseHeaders: { 'X-Team': 'a' } })
  t.after(() => server.close())
  const address = await server.listen()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const send = async (path: string, body?: string) => {
    const method = body === undefined ? 'GET' : 'POST'
    const request = httpRequest(`${address}${path}`, { agent, method }).end(body)
    // The runtime's event carries one argument, which @types describes.
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const { statusCode: status, headers } = response
    return { status, headers, text, socket: request.socket }
  }
  const { SecretID: root } = await server.ok('bootstrapAcl')
  server.clock.advance(1_000)
  const { socket } = await send('/v1/status/leader')
  return { server, address, send, socket, root }
}

const REQUESTS = [
  { name: 'a read', path: '/v1/jobs', body: undefined, type: /^text\/plain/ },
  { name: 'a write', path: '/v1/jobs', body: '{}', type: /^text\/plain/ },
  { name: 'JSON:API', path: '/api/v2/organizations', body: undefined, type: /vnd\.api\+json/ },
]
for (const { name, path, body, type } of REQUESTS)
  test(`rate rejections: ${name} has the headers of every response`, async (t) => {
    const { send, socket } = await aServerPastItsRate(t)
    const reply = await send(path, body)
    assert.equal(reply.status, 429)
    assert.match(reply.text, /limits\.anonymous_requests_per_second/)
    assert.equal(reply.headers['retry-after'], '1')
    assert.equal(reply.headers['x-team'], 'a')
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    assert.match(reply.headers['x-request-id']?.toString() ?? '', /^[\w-]{36}$/)
    assert.match(reply.headers['content-type'] ?? '', type)
    assert.equal(reply.socket, socket, 'the connection is kept')
  })

test('rate rejections: those past the burst are held back', async (t) => {
  const { send, server, root } = await aServerPastItsRate(t)
  for (let count = 0; count < REJECTION_PACE.burst; count++)
    assert.equal((await send('/v1/jobs')).status, 429)
  let isAnswered = false
  // In memory, so that it has arrived before the next request.
  const held = server.send('GET', '/v1/jobs').then((reply) => {
    isAnswered = true
    return reply
  })
  assert.equal((await server.call('listJobs', { token: root })).status, 200, 'a tenant of its own')
  assert.equal(isAnswered, false)
  server.clock.advance(REJECTION_PACE.heldMsMax)
  assert.equal((await held).status, 429)
})

test('rate rejections: a WebSocket is counted too', async (t) => {
  const { address } = await aServerPastItsRate(t)
  const path = execPath('00000000-0000-0000-0000-000000000000', { task: 'web', command: ['sh'] })
  const client = execClient(new WebSocket(`${address.replace('http', 'ws')}${path}`))
  const [status, text] = await client.closed
  assert.equal(status, 429)
  assert.match(text, /limits\.anonymous_requests_per_second/)
})

test('rate rejections: tiny chunks are answered late, and end the connection', async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  const { port } = new URL(await server.listen())
  const startedMs = performance.now()
  const client = connect(Number(port), '127.0.0.1')
  const head = 'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
  client.write(head + '1\r\n \r\n'.repeat(CHUNK_LIMITS.chunksFree + 1))
  let text = ''
  for await (const chunk of client.setEncoding('utf8')) text += chunk
  // Without undocumented members of Node the connection ends before the response is sent.
  if (IS_PLAIN_HTTP) return assert.equal(text, '')
  assert.match(text, /^HTTP\/1\.1 400 [^]*chunks of less than 16 bytes/)
  // Timers may be early by a millisecond.
  assert.ok(performance.now() - startedMs >= CHUNK_LIMITS.heldMs - 2)
})
