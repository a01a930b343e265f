import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADERS } from '@reeve/contract'
import { ofJob, register } from './cluster.ts'
import { createTestServer, itemsOf, type Reply, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

async function aServer(...jobs: readonly string[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const ID of jobs) await server.ok('registerJob', register({ ID }))
  return server
}

// Request ids and headers of every answer

test('headers: an answer that cannot be sent is told of in plain text', async () => {
  const server = await createTestServer({ aclEnabled: false, responseHeaders: { 'x-team': '€' } })
  const reply = await server.send('GET', '/v1/jobs')
  assert.deepEqual(
    [reply.status, reply.headers['content-type'], reply.text],
    [500, 'text/plain; charset=utf-8', 'internal error; the server logged it with this request id'],
  )
})

test('request id: one that the caller gives comes back', async () => {
  const headers = { 'x-request-id': 'trace-1.a:b_c' }
  const reply = await (await aServer()).send('GET', '/v1/jobs', { headers })
  assert.equal(reply.headers['x-request-id'], 'trace-1.a:b_c')
})

for (const id of [undefined, '', 'a b', '"', 'x'.repeat(129), '<script>'])
  test(`request id: ${JSON.stringify(id?.slice(0, 20))} is replaced by one of ours`, async () => {
    const headers = id === undefined ? {} : { 'x-request-id': id }
    const reply = await (await aServer()).send('GET', '/v1/jobs', { headers })
    assert.match(String(reply.headers['x-request-id']), /^[0-9a-f-]{36}$/)
  })

const EVERY_KIND = [
  { name: 'a list', method: 'GET', url: '/v1/jobs', status: 200 },
  { name: 'a write', method: 'DELETE', url: '/v1/job/web', status: 200 },
  { name: 'a wrong parameter', method: 'GET', url: '/v1/jobs?index=x', status: 400 },
  { name: 'an unknown job', method: 'GET', url: '/v1/job/gone', status: 404 },
  { name: 'an unknown path', method: 'GET', url: '/nope', status: 404 },
  { name: 'a wrong method', method: 'PATCH', url: '/v1/jobs', status: 405 },
  { name: 'a path that does not decode', method: 'GET', url: '/v1/job/%zz', status: 400 },
  {
    name: 'a path that is too long',
    method: 'GET',
    url: `/v1/node/${'a'.repeat(5_000)}`,
    status: 414,
  },
  { name: 'a wrong topic', method: 'GET', url: '/v1/event/stream?topic=a:b:c', status: 400 },
  {
    name: 'an error of the other dialect',
    method: 'GET',
    url: '/api/v2/account/details',
    status: 401,
  },
  { name: 'the contract', method: 'GET', url: '/openapi.json', status: 200 },
  { name: 'a page of the documentation', method: 'GET', url: '/docs/none', status: 404 },
]

for (const { name, method, url, status } of EVERY_KIND)
  test(`headers: ${name} has the security headers, a request id and the operator's headers`, async () => {
    const responseHeaders = { 'x-team': 'platform', 'strict-transport-security': 'max-age=1' }
    const server = await createTestServer({ aclEnabled: false, responseHeaders })
    const reply = await server.send(method, url, { headers: { 'x-request-id': 'mine' } })
    assert.equal(reply.status, status)
    const { headers } = reply
    assert.deepEqual(
      {
        nosniff: headers['x-content-type-options'],
        frames: headers['x-frame-options'],
        referrer: headers['referrer-policy'],
        cache: headers['cache-control'],
        team: headers['x-team'],
        transport: headers['strict-transport-security'],
        id: headers['x-request-id'],
      },
      {
        nosniff: 'nosniff',
        frames: 'DENY',
        referrer: 'no-referrer',
        cache: 'no-store',
        team: 'platform',
        transport: 'max-age=1',
        id: 'mine',
      },
    )
    assert.equal(headers['server'], undefined)
    assert.equal(headers['x-powered-by'], undefined)
  })

// Other origins

const UI = 'https://ui.example.com'
const PREFLIGHT = {
  origin: UI,
  'access-control-request-method': 'PUT',
  'access-control-request-headers': 'x-service-token',
}

function corsOf(reply: Reply): readonly string[] {
  return Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'))
}

test('CORS: off unless an origin is configured', async () => {
  const server = await aServer()
  const reply = await server.send('GET', '/v1/jobs', { headers: { origin: UI } })
  assert.deepEqual([reply.status, corsOf(reply)], [200, []])
  const preflight = await server.send('OPTIONS', '/v1/jobs', { headers: PREFLIGHT })
  assert.deepEqual([preflight.status, corsOf(preflight)], [405, []])
})

test('CORS: a configured origin may read answers and the headers of this API', async () => {
  const server = await createTestServer({ aclEnabled: false, corsOrigins: [UI] })
  for (const url of ['/v1/jobs', '/v1/job/gone', '/api/v2/account/details']) {
    const { headers } = await server.send('GET', url, { headers: { origin: UI } })
    assert.equal(headers['access-control-allow-origin'], UI)
    assert.equal(headers['vary'], 'Origin')
    const exposed = String(headers['access-control-expose-headers'])
    for (const name of [HEADERS.index, HEADERS.nextToken, HEADERS.knownLeader, HEADERS.lastContact])
      assert.ok(exposed.includes(name), name)
    // Clients in a browser need these to slow down (docs/how-to/use-the-governance-api.md).
    for (const name of ['Limit', 'Remaining', 'Reset'])
      assert.ok(exposed.includes(`X-RateLimit-${name}`), name)
    assert.ok(exposed.includes('Retry-After'))
    assert.ok(exposed.includes(HEADERS.truncated), 'a page sees that a list is truncated')
  }
})

test('CORS: a configured origin may send what this API takes', async () => {
  const server = await createTestServer({ corsOrigins: [UI] })
  for (const url of ['/v1/jobs', '/v1/job/a/b', '/v1/event/stream', '/api/v2/account/details']) {
    const reply = await server.send('OPTIONS', url, { headers: PREFLIGHT })
    assert.deepEqual([reply.status, reply.text], [204, ''])
    assert.equal(reply.headers['access-control-allow-origin'], UI)
    assert.equal(
      reply.headers['access-control-allow-methods'],
      'GET, HEAD, POST, PUT, PATCH, DELETE',
    )
    const allowed = String(reply.headers['access-control-allow-headers'])
    for (const name of [HEADERS.token, 'Authorization', 'Content-Type'])
      assert.ok(allowed.includes(name))
    assert.equal(reply.headers['access-control-allow-credentials'], undefined)
  }
})

test('CORS: any other origin gets nothing', async () => {
  const server = await createTestServer({ aclEnabled: false, corsOrigins: [UI] })
  for (const origin of [
    'https://evil.example.com',
    'null',
    `${UI}.evil.com`,
    'https://UI.example.com',
  ]) {
    const reply = await server.send('GET', '/v1/jobs', { headers: { origin } })
    assert.deepEqual([reply.status, corsOf(reply)], [200, []])
    const preflight = await server.send('OPTIONS', '/v1/jobs', {
      headers: { ...PREFLIGHT, origin },
    })
    assert.deepEqual([preflight.status, corsOf(preflight)], [405, []])
  }
})

test('CORS: * is every origin', async () => {
  const server = await createTestServer({ aclEnabled: false, corsOrigins: ['*'] })
  const { headers } = await server.send('GET', '/v1/jobs', { headers: { origin: 'http://a' } })
  assert.equal(headers['access-control-allow-origin'], 'http://a')
})

test('CORS: a compressed answer varies by both', async () => {
  const server = await createTestServer({ aclEnabled: false, corsOrigins: [UI] })
  const headers = { origin: UI, 'accept-encoding': 'gzip' }
  const reply = await server.send('GET', '/openapi.json', { headers })
  assert.deepEqual(
    [reply.headers['content-encoding'], reply.headers['vary']],
    ['gzip', 'Origin, Accept-Encoding'],
  )
})

// Common parameters

const PRETTY = [
  { query: 'pretty', isPretty: true },
  { query: 'pretty=1', isPretty: true },
  { query: 'pretty=x', isPretty: true },
  { query: 'pretty=0', isPretty: false },
  { query: '', isPretty: false },
]

for (const { query, isPretty } of PRETTY)
  test(`pretty: "${query}" gives ${isPretty ? 'indented' : 'compact'} JSON`, async () => {
    const server = await aServer('web')
    for (const path of ['/v1/jobs', '/v1/job/web', '/v1/status/leader']) {
      const { text } = await server.send('GET', `${path}?${query}`)
      const value: unknown = JSON.parse(text)
      assert.equal(text, isPretty ? `${JSON.stringify(value, null, 4)}\n` : JSON.stringify(value))
    }
    const { text } = await server.send('DELETE', `/v1/job/web?${query}`)
    assert.equal(text.endsWith('\n'), isPretty)
  })

test('JSON: <, > and & are as they are', async () => {
  const server = await aServer()
  await server.ok('registerJob', register({ Meta: { a: '<&>' } }))
  assert.ok((await server.call('readJob', ofJob())).text.includes('"<&>"'))
})

test('headers of a read: index, leader and contact, also when nothing is found', async () => {
  const server = await aServer('web')
  const READS = [
    { url: '/v1/jobs', status: 200, index: '2' },
    { url: '/v1/job/web', status: 200, index: '2' },
    { url: '/v1/job/gone', status: 404, index: '2' },
    { url: '/v1/job/gone/summary', status: 404, index: '2' },
    { url: '/v1/job/gone/evaluations', status: 200, index: '2' },
    { url: '/v1/allocation/aaaaaaaa-0000-4000-8000-000000000000', status: 404, index: '1' },
    { url: '/v1/evaluation/aaaaaaaa-0000-4000-8000-000000000000', status: 404, index: '2' },
    { url: '/v1/node/aaaaaaaa-0000-4000-8000-000000000000', status: 404, index: '1' },
  ]
  for (const { url, status, index } of READS) {
    const reply = await server.send('GET', url)
    assert.deepEqual(
      [
        reply.status,
        ...[HEADERS.index, HEADERS.knownLeader, HEADERS.lastContact].map(
          (name) => reply.headers[name.toLowerCase()],
        ),
      ],
      [status, index, 'true', '0'],
      url,
    )
  }
})

test('headers of a list: the index is never 0, because nobody could block on it', async () => {
  const server = await aServer()
  for (const url of ['/v1/jobs', '/v1/allocations', '/v1/evaluations', '/v1/nodes'])
    assert.equal((await server.send('GET', url)).index, 1)
})

test('headers of a write: the index of its commit', async () => {
  const server = await aServer()
  assert.equal((await server.call('registerJob', register())).index, 2)
  assert.equal((await server.call('stopJob', ofJob())).index, 3)
})

test('headers of a read without state: no index', async () => {
  const server = await aServer()
  for (const url of ['/v1/status/leader', '/v1/agent/health', '/v1/regions', '/v1/metrics']) {
    const { headers } = await server.send('GET', url)
    assert.equal(headers[HEADERS.index.toLowerCase()], undefined, url)
  }
})

const CONSISTENCY = [
  'stale',
  'stale=',
  'stale=true',
  'stale=0',
  'consistent',
  'consistent=',
  'consistent=true',
  'consistent=maybe',
  'stale&consistent',
]

for (const query of CONSISTENCY)
  test(`consistency: ?${query} is answered`, async () => {
    const server = await aServer('web')
    for (const path of ['/v1/jobs', '/v1/job/web', '/v1/nodes', '/v1/status/leader'])
      assert.equal((await server.send('GET', `${path}?${query}`)).status, 200, path)
  })

test('consistency: a stale that is no boolean is refused', async () => {
  const reply = await (await aServer()).send('GET', '/v1/jobs?stale=maybe')
  assert.deepEqual(
    [reply.status, reply.text],
    [400, 'Expect `true` or `false` for `stale` query string parameter'],
  )
})

const WRONG_QUERIES = [
  { url: '/v1/jobs?per_page=x', text: 'Expect a number for `per_page` query string parameter' },
  { url: '/v1/jobs?wait=10', text: 'Invalid wait time' },
  { url: '/v1/jobs?index=-1', text: 'Invalid index' },
  { url: '/v1/jobs?index=1.5', text: 'Invalid index' },
  { url: '/v1/jobs?index=99999999999999999999', text: 'Invalid index' },
  { url: '/v1/jobs?wait=x&index=x', text: 'Invalid wait time' },
  {
    url: '/v1/jobs?stale=x&wait=x',
    text: 'Expect `true` or `false` for `stale` query string parameter',
  },
  {
    url: '/v1/jobs?meta=maybe',
    text: 'Failed to parse value of "meta" (maybe) as a bool: strconv.ParseBool: parsing "maybe": invalid syntax',
  },
  {
    url: '/v1/allocations?resources=2',
    text: 'Failed to parse value of "resources" (2) as a bool: strconv.ParseBool: parsing "2": invalid syntax',
  },
]

for (const { url, text } of WRONG_QUERIES)
  test(`parameters: ${url} is refused`, async () => {
    const reply = await (await aServer()).send('GET', url)
    assert.deepEqual([reply.status, reply.text], [400, text])
  })

test('parameters: unknown ones are ignored, and of repeated ones the first counts', async () => {
  const server = await aServer('web', 'api')
  const reply = await server.send('GET', '/v1/jobs?nope=1&prefix=w&prefix=a&__proto__=x')
  assert.deepEqual(
    // The answer was held against the contract; this names the part that is looked at.
    itemsOf(reply).map(({ ID }) => ID),
    ['web'],
  )
})

for (const url of ['/v1/jobs', '/v1/job/web', '/v1/nodes', '/v1/event/stream', '/v1/agent/self'])
  test(`region: ${url} of a region that nobody knows is not found`, async () => {
    const reply = await (await aServer()).send('GET', `${url}?region=mars`)
    assert.deepEqual([reply.status, reply.text], [404, 'No path to region'])
  })

test('region: a write to a region that nobody knows writes nothing', async () => {
  const server = await aServer()
  const options = { ...register(), query: { region: 'mars' } }
  const reply = await server.send('POST', '/v1/jobs?region=mars', options)
  assert.deepEqual([reply.status, reply.text], [404, 'No path to region'])
  assert.equal(server.context.store.index, 1)
})

test('region: the own one and an empty one are this one', async () => {
  const server = await createTestServer({ aclEnabled: false, region: 'europe' })
  for (const region of ['', 'europe'])
    assert.equal((await server.send('GET', `/v1/jobs?region=${region}`)).status, 200)
})

// Tokens

test('token: in its own header, trimmed, or as a bearer; the own header wins', async () => {
  const { server, root } = await aSecuredServer()
  const secret = root.SecretID
  const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await server.send('GET', '/v1/jobs', { headers })).status
  assert.equal(await status({ 'x-service-token': secret }), 200)
  assert.equal(await status({ 'X-SERVICE-TOKEN': ` ${secret} ` }), 200)
  assert.equal(await status({ authorization: `Bearer ${secret}` }), 200)
  assert.equal(await status({ authorization: `bearer   ${secret}` }), 200)
  assert.equal(await status({ 'x-service-token': '', authorization: `Bearer ${secret}` }), 200)
  assert.equal(await status({ 'x-service-token': 'wrong', authorization: `Bearer ${secret}` }), 403)
  assert.equal(await status({ authorization: `Basic ${secret}` }), 403)
  assert.equal(await status({}), 403)
})

test('token: an unknown one is refused even where none is needed for a part', async () => {
  const { server } = await aSecuredServer()
  for (const token of ['nope', '11111111-2222-4333-8444-555555555555', 'x'.repeat(5_000)])
    assert.deepEqual(await server.refusal('listJobs', { token }), [403, 'Permission denied'])
})
