import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { test } from 'node:test'
import { register } from './cluster.ts'
import { createTestServer } from './harness.ts'

/** Asks over the network: a call in memory has no address. */
async function answerTo(options: RequestOptions): Promise<IncomingMessage> {
  const asking = request({ host: '127.0.0.1', agent: false, ...options })
  asking.end()
  // What the event carries.
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return answer.resume()
}

const PAGE = { origin: 'https://evil.example.com', 'content-type': 'text/plain' }
const { body: JOB } = register({ ID: 'a' })

test('a page from elsewhere writes nothing where no token is asked for', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const origin of [PAGE.origin, 'null']) {
    const headers = { ...PAGE, origin }
    const reply = await server.send('POST', '/v1/jobs', { headers, body: JOB })
    assert.equal(reply.status, 403)
    assert.match(reply.text, /http_api_cors_origins/)
    assert.ok(reply.headers['x-request-id'])
  }
  assert.deepEqual(await server.ok('listJobs'), [])
  const own = { origin: 'http://localhost:4646' }
  const host = { host: 'localhost:4646' }
  const reply = await server.send('POST', '/v1/jobs', { headers: { ...own, ...host }, body: JOB })
  assert.equal(reply.status, 200, reply.text)
})

test('an image of a page from elsewhere collects no garbage where no token is asked for', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const headers = { host: 'localhost:4646', 'sec-fetch-site': 'cross-site' }
  const id = '5b3f0e9c-0000-4000-8000-000000000000'
  for (const path of ['/v1/client/gc', `/v1/client/allocation/${id}/gc`]) {
    const reply = await server.send('GET', path, { headers })
    assert.equal(reply.status, 403, path)
    assert.match(reply.text, /a page of another website may not write here/)
    const own = { ...headers, 'sec-fetch-site': 'same-origin' }
    assert.notEqual((await server.send('GET', path, { headers: own })).status, 403, path)
  }
  assert.equal((await server.send('GET', '/v1/jobs', { headers })).status, 200)
})

test('a page whose name was made to lead here reads nothing where no token is asked for', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const { port } = new URL(await server.listen())
  const statusOf = async (path: string, headers: object): Promise<number | undefined> => {
    return (await answerTo({ port, path, headers: { ...headers } })).statusCode
  }
  const rebound = { host: `evil.example:${port}` }
  for (const path of ['/v1/jobs', '/ui/', '/openapi.json', '/api/v2/ping'])
    assert.equal(await statusOf(path, rebound), 403, path)
  const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'a' }
  const exec = '/v1/client/allocation/5b3f0e9c-0000-4000-8000-000000000000/exec?task=a&command=[]'
  assert.equal(await statusOf(exec, { ...rebound, ...upgrade }), 403)
  assert.equal(await statusOf('/v1/jobs', { host: `localhost:${port}` }), 200)
  await server.close()
})

test('where a token is asked for, that protects from pages: any name serves', async () => {
  const server = await createTestServer()
  const { port } = new URL(await server.listen())
  const reply = await server.send('POST', '/v1/jobs', { headers: PAGE, body: JOB })
  assert.deepEqual([reply.status, reply.text], [403, 'Permission denied'])
  const headers = { host: 'any.example' }
  assert.equal((await answerTo({ port, path: '/v1/status/leader', headers })).statusCode, 200)
  await server.close()
})
