import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { aGroup } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { createTestServer, type CallOptions, type Reply, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const TEXT = 'text/plain; charset=utf-8'
const JSON_API = 'application/vnd.api+json'

/** A server without ACLs and with one job: the shell is the same for everybody. */
async function aServer(...jobs: readonly string[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const ID of jobs) await server.ok('registerJob', register({ ID }))
  return server
}

function typeOf(reply: Reply): unknown {
  return reply.headers['content-type']
}

// Two dialects of errors

const V1_ERRORS = [
  {
    name: 'a wrong parameter',
    method: 'GET',
    url: '/v1/jobs?index=x',
    status: 400,
    text: 'Invalid index',
  },
  {
    name: 'an unknown job',
    method: 'GET',
    url: '/v1/job/gone',
    status: 404,
    text: 'job not found',
  },
  {
    name: 'a wrong method',
    method: 'DELETE',
    url: '/v1/jobs',
    status: 405,
    text: 'Invalid method',
  },
  {
    name: 'a method of nobody',
    method: 'OPTIONS',
    url: '/v1/jobs',
    status: 405,
    text: 'Invalid method',
  },
  {
    name: 'a wrong method of a job',
    method: 'PATCH',
    url: '/v1/job/x',
    status: 405,
    text: 'Invalid method',
  },
  {
    name: 'a path that does not decode',
    method: 'GET',
    url: '/v1/job/%zz',
    status: 400,
    text: "'/v1/job/%zz' is not a valid url component",
  },
]

for (const { name, method, url, status, text } of V1_ERRORS)
  test(`/v1 answers ${name} with the bare text`, async () => {
    const reply = await (await aServer()).send(method, url)
    assert.deepEqual([reply.status, reply.text, typeOf(reply)], [status, text, TEXT])
  })

const ALLOWED = [
  { method: 'DELETE', url: '/v1/jobs', allow: 'GET, HEAD, POST, PUT' },
  { method: 'PATCH', url: '/v1/job/a/b', allow: 'POST, PUT, GET, HEAD, DELETE' },
  { method: 'POST', url: '/v1/job/web/summary', allow: 'GET, HEAD' },
  { method: 'POST', url: '/v1/event/stream', allow: 'GET' },
  { method: 'PROPFIND', url: '/v1/agent/self', allow: 'GET, HEAD' },
  { method: 'TRACE', url: '/v1/job/a/evaluate', allow: 'POST, PUT' },
]

for (const { method, url, allow } of ALLOWED)
  test(`/v1 says with 405 what ${url} allows`, async () => {
    const reply = await (await aServer()).send(method, url)
    assert.deepEqual([reply.status, reply.headers['allow']], [405, allow])
  })

for (const url of ['/v1', '/v1/', '/v1/nope', '/v1/jobs/nope/more', '/v1/node/a/b/c', '/nope'])
  test(`${url} is 404 with an empty body`, async () => {
    for (const method of ['GET', 'PROPFIND']) {
      const reply = await (await aServer()).send(method, url)
      assert.deepEqual([reply.status, reply.text, typeOf(reply)], [404, '', undefined])
    }
  })

for (const url of [
  '/v1/allocation/a/foo',
  '/v1/allocation/a/stop/x',
  '/v1/client/allocation/a',
  '/v1/client/allocation/a/foo',
  '/v1/client/allocation/a/snapshot',
  '/v1/client/allocation/a/signal/x',
])
  test(`${url} is no action of an allocation`, async () => {
    for (const method of ['GET', 'POST']) {
      const reply = await (await aServer()).send(method, url)
      assert.deepEqual([reply.status, reply.text, typeOf(reply)], [404, 'resource not found', TEXT])
    }
  })

const V2_ERRORS = [
  {
    name: 'a missing token',
    method: 'GET',
    url: '/api/v2/account/details',
    status: 401,
    title: 'unauthorized',
  },
  {
    name: 'a path that nobody has',
    method: 'GET',
    url: '/api/v2/nope',
    status: 404,
    title: 'not found',
  },
  {
    name: 'a wrong method',
    method: 'DELETE',
    url: '/api/v2/account/details',
    status: 405,
    title: 'method not allowed',
  },
  {
    name: 'a path that does not decode',
    method: 'GET',
    url: '/api/v2/%zz',
    status: 400,
    title: 'bad request',
  },
]

for (const { name, method, url, status, title } of V2_ERRORS)
  test(`/api/v2 answers ${name} with a JSON:API error`, async () => {
    const reply = await (await aServer()).send(method, url)
    assert.deepEqual([reply.status, typeOf(reply)], [status, JSON_API])
    // The answer was held against the contract; this names the part that is looked at.
    const { errors } = JSON.parse(reply.text) as { errors: readonly Record<string, string>[] }
    assert.equal(errors.length, 1)
    assert.deepEqual([errors[0]?.['status'], errors[0]?.['title']], [String(status), title])
  })

test('/api/v2 names the methods that a path has', async () => {
  const reply = await (await aServer()).send('DELETE', '/api/v2/account/details')
  assert.equal(reply.headers['allow'], 'GET, HEAD')
})

test('a bug answers 500, tells nothing of itself and is found by the request id', async () => {
  const health = (): never => assert.fail('secret reason')
  const server = await createTestServer({ aclEnabled: false, agent: { health } })
  const headers = { 'x-request-id': 'mine' }
  const reply = await server.send('GET', '/v1/agent/health', { headers })
  assert.deepEqual(
    [reply.status, reply.text, reply.headers['x-request-id']],
    [500, 'internal error; the server logged it with this request id', 'mine'],
  )
})

test('the root leads to the documentation, and the contract is served', async () => {
  const server = await aServer()
  const root = await server.send('GET', '/')
  assert.deepEqual([root.status, root.headers['location']], [307, '/docs'])
  const document = (await server.send('GET', '/openapi.json')).body
  // The answer was held against the contract; this names the part that is looked at.
  assert.equal((document as { readonly openapi: string }).openapi, '3.1.0')
})

// Methods

/** Ids and indexes differ from one write to the next. */
function masked(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, '#')
}

test('POST and PUT do the same on every write', async () => {
  const { server, root, as } = await aSecuredServer()
  const writes = server.routes.filter(
    ({ methods, path }) => methods.includes('POST') && path.startsWith('/v1/'),
  )
  assert.ok(writes.length > 8)
  for (const { id, path, methods } of writes) {
    // Garbage is also collected by GET, as its older callers do.
    const written = methods.filter((method) => method !== 'GET')
    assert.deepEqual(written.toSorted(), ['POST', 'PUT'], id)
    const url = path.replaceAll(/:\w+/g, 'x')
    const [post, put] = [await send('POST'), await send('PUT')]
    assert.deepEqual([post.status, masked(post.text)], [put.status, masked(put.text)], id)
    assert.notEqual(post.status, 405, id)
    function send(method: string): Promise<Reply> {
      return server.send(method, url, as(root, { body: '{"Nothing":1}' }))
    }
  }
})

for (const path of [
  '/v1/jobs',
  '/v1/job/web',
  '/v1/job/web/summary',
  '/v1/nodes',
  '/v1/status/leader',
])
  test(`HEAD ${path} has the headers of GET and no body`, async () => {
    const server = await aServer('web')
    const [head, get] = [await server.send('HEAD', path), await server.send('GET', path)]
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of [
      'content-type',
      'content-length',
      'x-service-index',
      'x-service-knownleader',
    ])
      assert.equal(head.headers[name], get.headers[name], name)
  })

test('HEAD of what is not there is 404 without a body', async () => {
  const reply = await (await aServer()).send('HEAD', '/v1/job/gone')
  assert.deepEqual([reply.status, reply.text, reply.index], [404, '', 1])
})

// Bodies

async function registered(body: unknown, headers = {}) {
  const server = await aServer()
  const reply = await server.send('POST', '/v1/jobs', { body, headers })
  assert.equal(reply.status, 200, reply.text)
  return await server.ok('readJob', ofJob())
}

test('bodies: names match in any case', async () => {
  const job = {
    id: 'web',
    PRIORITY: 70,
    tASKGroups: [
      { name: 'g', COUNT: 2, tasks: [{ NAME: 't', driver: 'raw_exec', config: { command: 'x' } }] },
    ],
  }
  const read = await registered({ job })
  assert.deepEqual(
    [
      read.Priority,
      read.TaskGroups[0]?.Name,
      read.TaskGroups[0]?.Count,
      read.TaskGroups[0]?.Tasks[0]?.Config,
    ],
    [70, 'g', 2, { command: 'x' }],
  )
})

test('bodies: the exact name wins over another spelling, whatever the order', async () => {
  for (const names of [
    ['Priority', 'priority'],
    ['priority', 'Priority'],
  ]) {
    const Job = {
      ID: 'web',
      TaskGroups: [aGroup()],
      ...Object.fromEntries(names.map((name) => [name, name === 'Priority' ? 60 : 40])),
    }
    assert.equal((await registered({ Job })).Priority, 60)
  }
})

test('bodies: unknown fields are ignored, at every depth', async () => {
  const group = { ...aGroup(), Extra: [1, { Deep: null }] }
  const read = await registered({ Job: { ID: 'web', Nope: {}, TaskGroups: [group] }, Nope: 1 })
  assert.equal('Nope' in read, false)
  assert.equal('Extra' in (read.TaskGroups[0] ?? {}), false)
})

test('bodies: null leaves a field at its default', async () => {
  const Job = {
    ID: 'web',
    Priority: null,
    Type: null,
    Datacenters: null,
    Meta: null,
    TaskGroups: [{ ...aGroup(), Count: null }],
  }
  const read = await registered({ Job, EnforceIndex: null, EvalPriority: null })
  assert.deepEqual(
    [read.Priority, read.Type, read.Datacenters, read.Meta, read.TaskGroups[0]?.Count],
    [50, 'service', ['*'], null, 1],
  )
})

test('bodies: a job is taken as it was read, and with a delay of years', async () => {
  const years = 10 * 365 * 24 * 3_600 * 1e9
  const first = await registered(
    register({ TaskGroups: [aGroup({ MaxClientDisconnect: years })] }).body,
  )
  assert.ok(!Number.isSafeInteger(first.SubmitTime))
  const again = await registered({ Job: first })
  assert.equal(again.TaskGroups[0]?.MaxClientDisconnect, years)
})

test('bodies: only the first JSON value is read', async () => {
  const text = JSON.stringify(register().body)
  for (const rest of ['\n', '{"Job":null}', ' garbage', ']'])
    assert.equal((await registered(text + rest)).ID, 'web')
})

test('bodies: keys of free-form maps keep their case', async () => {
  const read = await registered(register({ Meta: { Team: 'a', team: 'b', __proto__x: 'c' } }).body)
  assert.deepEqual(read.Meta, { Team: 'a', team: 'b', __proto__x: 'c' })
})

for (const type of [
  undefined,
  'application/json',
  'application/x-www-form-urlencoded',
  'text/xml; charset=x',
  'nonsense',
])
  test(`bodies: the content type ${type} says nothing`, async () => {
    const headers = type === undefined ? {} : { 'content-type': type }
    assert.equal((await registered(JSON.stringify(register().body), headers)).ID, 'web')
  })

function wrong(found: string, path: string, wanted: string): string {
  return `json: cannot unmarshal ${found} into field ${path} of type ${wanted}`
}

const WRONG_TYPES = [
  { body: { Job: 'web' }, text: wrong('string', 'Job', 'object') },
  { body: { Job: [] }, text: wrong('array', 'Job', 'object') },
  { body: { Job: { ID: 7 } }, text: wrong('number', 'Job.ID', 'string') },
  { body: { job: { id: true } }, text: wrong('bool', 'Job.ID', 'string') },
  { body: { Job: { Priority: '50' } }, text: wrong('string', 'Job.Priority', 'integer') },
  { body: { Job: { Priority: 1.5 } }, text: wrong('number', 'Job.Priority', 'integer') },
  { body: { Job: { AllAtOnce: 1 } }, text: wrong('number', 'Job.AllAtOnce', 'boolean') },
  { body: { Job: { Datacenters: 'dc1' } }, text: wrong('string', 'Job.Datacenters', 'array') },
  {
    body: { Job: { Datacenters: ['dc1', 2] } },
    text: wrong('number', 'Job.Datacenters[1]', 'string'),
  },
  { body: { Job: { Meta: { a: 1 } } }, text: wrong('number', 'Job.Meta[a]', 'string') },
  {
    body: { Job: { TaskGroups: [{}, { Count: '1' }] } },
    text: wrong('string', 'Job.TaskGroups[1].Count', 'integer'),
  },
  {
    body: { Job: { TaskGroups: [{ Tasks: [{ Config: 'x' }] }] } },
    text: wrong('string', 'Job.TaskGroups[0].Tasks[0].Config', 'object'),
  },
  { body: { EnforceIndex: 'yes' }, text: wrong('string', 'EnforceIndex', 'boolean') },
  {
    body: { Job: { Priority: 1e30 } },
    text: `${wrong('number', 'Job.Priority', 'integer')}: it is too large, beyond ±9007199254740991`,
  },
  { body: [], text: 'json: cannot unmarshal array into a value of type object' },
  { body: '"x"', text: 'json: cannot unmarshal string into a value of type object' },
  { body: 'null', text: 'Job must be specified' },
]

for (const { body, text } of WRONG_TYPES)
  test(`bodies: ${JSON.stringify(body)} is refused with the path of the wrong type`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal('registerJob', { body }), [400, text])
  })

for (const body of ['[]', '"x"', '7', 'true'])
  test(`bodies: ${body} in place of an object is refused`, async () => {
    const [status, text] = await (await aServer()).refusal('registerJob', { body })
    assert.deepEqual([status, text.startsWith('json: cannot unmarshal ')], [400, true])
  })

for (const body of ['{', 'x', '{"Job":', '{"Job" 1}', '{"Job":{"ID":"\u0001"}}'])
  test(`bodies: ${JSON.stringify(body)} is no JSON and is refused`, async () => {
    const [status, text] = await (await aServer()).refusal('registerJob', { body })
    assert.equal(status, 400)
    assert.match(text, /JSON/)
  })

for (const body of [undefined, '', ' \n'])
  test(`bodies: ${JSON.stringify(body)} is empty and is refused`, async () => {
    const server = await aServer()
    const options: CallOptions = body === undefined ? {} : { body }
    assert.deepEqual(await server.refusal('registerJob', options), [400, 'Request body is empty'])
    assert.deepEqual(await server.refusal('updateJob', { ...options, ...ofJob() }), [
      400,
      'Request body is empty',
    ])
  })

test('bodies: null is no job', async () => {
  const server = await aServer()
  const [status] = await server.refusal('registerJob', { body: 'null' })
  assert.equal(status, 400)
})

// Compression

for (const [encoding, compress] of [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
] as const)
  test(`compression: a body may come as ${encoding}`, async () => {
    const body = compress(JSON.stringify(register().body))
    assert.equal((await registered(body, { 'content-encoding': encoding })).ID, 'web')
  })

test('compression: an encoding that nobody knows is refused by its name', async () => {
  const headers = { 'content-encoding': 'br' }
  const reply = await (await aServer()).send('POST', '/v1/jobs', { body: '{}', headers })
  assert.deepEqual(
    [reply.status, reply.text],
    [415, 'content-encoding "br" is not supported; use gzip or deflate'],
  )
})

test('compression: a body that is not what its encoding says is refused', async () => {
  const headers = { 'content-encoding': 'gzip' }
  const reply = await (await aServer()).send('POST', '/v1/jobs', { body: '{}', headers })
  assert.deepEqual(
    [reply.status, reply.text],
    [400, 'the body is not what its content-encoding says'],
  )
})

const MANY = Array.from({ length: 20 }, (_, i) => `job-${i}`)
const ACCEPTED = [
  { accept: 'gzip', encoding: 'gzip' },
  { accept: 'deflate', encoding: 'deflate' },
  { accept: 'deflate, gzip;q=0.5, br', encoding: 'gzip' },
  { accept: 'GZIP', encoding: 'gzip' },
  { accept: 'gzip;q=0', encoding: undefined },
  { accept: 'gzip; q=0.0, deflate', encoding: 'deflate' },
  { accept: 'br', encoding: undefined },
  { accept: 'identity', encoding: undefined },
]

for (const { accept, encoding } of ACCEPTED)
  test(`compression: Accept-Encoding: ${accept} is answered with ${encoding ?? 'plain text'}`, async () => {
    const server = await aServer(...MANY)
    const plain = await server.send('GET', '/v1/jobs')
    assert.equal(plain.headers['content-encoding'], undefined)
    const reply = await server.send('GET', '/v1/jobs', { headers: { 'accept-encoding': accept } })
    assert.equal(reply.headers['content-encoding'], encoding)
    const inflate = { gzip: gunzipSync, deflate: inflateSync, none: (bytes: Buffer) => bytes }
    const bytes = inflate[encoding === 'gzip' || encoding === 'deflate' ? encoding : 'none'](
      reply.bytes,
    )
    assert.equal(bytes.toString('utf8'), plain.text)
    if (encoding !== undefined) assert.equal(reply.headers['vary'], 'Accept-Encoding')
  })

test('compression: what fits one packet is not compressed', async () => {
  const reply = await (
    await aServer()
  ).send('GET', '/v1/jobs', { headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual([reply.headers['content-encoding'], reply.text], [undefined, '[]'])
})

test('compression: a list that is written piece by piece is compressed too', async () => {
  const server = await aServer()
  const Meta = { padding: 'x'.repeat(1_000_000) }
  for (const ID of ['a', 'b', 'c', 'd', 'e']) await server.ok('registerJob', register({ ID, Meta }))
  const headers = { 'accept-encoding': 'gzip' }
  const reply = await server.send('GET', '/v1/jobs?meta=true', { headers })
  assert.equal(reply.headers['content-encoding'], 'gzip')
  assert.ok(reply.bytes.length < 100_000)
  const plain = await server.send('GET', '/v1/jobs?meta=true')
  assert.ok(plain.bytes.length > 5_000_000)
  assert.ok(gunzipSync(reply.bytes).equals(plain.bytes))
})
