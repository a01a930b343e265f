import assert from 'node:assert/strict'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { aServer, inTurn, send } from '../../test/local-server.ts'
import { createClient } from '../client.ts'

const org = { organization_name: 'acme' }
const noContent = inTurn({ status: 204 })

test('the workload API gets the token in its own header', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  await createClient({ address: server.address, token: 's3cret' }).v1.listJobs()
  const [request] = server.received
  assert.equal(request?.headers['x-service-token'], 's3cret')
  assert.equal(request?.headers.authorization, undefined)
})

test('the governance API gets it as a bearer', async (t) => {
  const server = await aServer(t, inTurn({ body: { data: [] } }))
  await createClient({ address: server.address, token: 's3cret' }).v2.listProjects({ params: org })
  const [request] = server.received
  assert.equal(request?.headers.authorization, 'Bearer s3cret')
  assert.equal(request?.headers['x-service-token'], undefined)
  assert.equal(request?.headers.accept, 'application/vnd.api+json')
})

for (const token of [undefined, '', '  ']) {
  test(`the token ${JSON.stringify(token)} is none`, async (t) => {
    const server = await aServer(t, inTurn({ body: [] }))
    await createClient({ address: server.address, token }).v1.listJobs()
    assert.equal(server.received[0]?.headers['x-service-token'], undefined)
  })
}

test('headers of the client and of the call are sent, the latter winning', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const client = createClient({ address: server.address, headers: { 'X-A': '1', 'X-B': '1' } })
  await client.v1.listJobs({ headers: { 'x-b': '2', 'X-Request-Id': 'mine' } })
  const { headers } = server.received[0] ?? {}
  assert.deepEqual(
    [headers?.['x-a'], headers?.['x-b'], headers?.['x-request-id']],
    ['1', '2', 'mine'],
  )
})

test('namespace and region of the client go with workload calls that name none', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const client = createClient({ address: server.address, namespace: 'dev', region: 'north' })
  await client.v1.listJobs()
  await client.v1.listJobs({ query: { namespace: '*', region: undefined } })
  await client.v2.listOrganizations()
  assert.deepEqual(
    server.received.map(({ target }) => target),
    [
      '/v1/jobs?namespace=dev&region=north',
      '/v1/jobs?namespace=*&region=north',
      '/api/v2/organizations',
    ],
  )
})

test('a body of the workload API is JSON', async (t) => {
  const server = await aServer(t, inTurn({ body: {} }))
  await createClient({ address: server.address }).v1.registerJob({ body: { Job: { ID: 'é' } } })
  const [request] = server.received
  assert.equal(request?.method, 'POST')
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.body, '{"Job":{"ID":"é"}}')
})

test('a body of the governance API is JSON:API', async (t) => {
  const server = await aServer(t, inTurn({ status: 201, body: {} }))
  const body = { data: { type: 'projects', attributes: { name: 'web' } } } as const
  await createClient({ address: server.address }).v2.createProject({ params: org, body })
  const [request] = server.received
  assert.equal(request?.headers['content-type'], 'application/vnd.api+json')
  assert.equal(request?.body, JSON.stringify(body))
})

for (const body of [undefined, null]) {
  test(`an optional body that is ${body} is not sent`, async (t) => {
    const server = await aServer(t, inTurn({ status: 202 }))
    const client = createClient({ address: server.address })
    await client.v2.applyRun({ params: { run_id: 'run-1' }, body })
    assert.equal(server.received[0]?.body, '')
    assert.equal(server.received[0]?.headers['content-type'], undefined)
  })
}

function aStream(...chunks: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
}

const rawBodies = [
  { name: 'text', body: 'rule é' },
  { name: 'bytes', body: new TextEncoder().encode('rule é') },
  { name: 'a view of bytes', body: new TextEncoder().encode('--rule é--').subarray(2, 9) },
  { name: 'bytes of shared memory', body: shared('rule é') },
  { name: 'a stream', body: aStream('ru', 'le é') },
]
for (const { name, body } of rawBodies) {
  test(`a raw body may be ${name}`, async (t) => {
    const server = await aServer(t, inTurn({ body: {} }))
    const client = createClient({ address: server.address })
    await client.v2.uploadPolicy({ params: { policy_id: 'pol-1' }, body })
    const [request] = server.received
    assert.equal(request?.headers['content-type'], 'application/octet-stream')
    assert.equal(request?.body, 'rule é')
  })
}

function shared(content: string): Uint8Array {
  const bytes = new TextEncoder().encode(content)
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

test('the reply holds the data and what the headers say', async (t) => {
  const headers = {
    'X-Service-Index': '42',
    'X-Service-NextToken': 'web-2',
    'X-Service-KnownLeader': 'true',
    'X-Service-LastContact': '17',
    'X-Request-Id': 'r-1',
    'X-More': 'yes',
  }
  const server = await aServer(t, inTurn({ headers, body: [{ ID: 'web' }] }))
  const reply = await createClient({ address: server.address }).v1.listJobs()
  assert.equal(reply.data[0]?.ID, 'web')
  assert.equal(reply.headers.get('x-more'), 'yes')
  const { status, index, nextToken, knownLeader, lastContact, requestId } = reply
  assert.deepEqual(
    { status, index, nextToken, knownLeader, lastContact, requestId },
    {
      status: 200,
      index: 42,
      nextToken: 'web-2',
      knownLeader: true,
      lastContact: 17,
      requestId: 'r-1',
    },
  )
})

test('headers that are absent or senseless are undefined', async (t) => {
  const headers = { 'X-Service-Index': 'many', 'X-Service-NextToken': '' }
  const server = await aServer(t, inTurn({ headers, body: [] }))
  const reply = await createClient({ address: server.address }).v1.listJobs()
  const { index, nextToken, knownLeader, lastContact, requestId } = reply
  for (const one of [index, nextToken, knownLeader, lastContact, requestId]) {
    assert.equal(one, undefined)
  }
})

test('an empty answer has no data, whatever its status', async (t) => {
  const server = await aServer(t, inTurn({ status: 200 }, { status: 204 }))
  const client = createClient({ address: server.address })
  const params = { namespace_name: 'dev' }
  assert.equal((await client.v1.deleteNamespace({ params })).data, undefined)
  assert.equal((await client.v2.ping()).data, undefined)
})

test('bytes come as bytes', async (t) => {
  const bytes = Uint8Array.of(0, 255, 10, 128)
  const server = await aServer(t, (_request, response) => response.end(bytes))
  const client = createClient({ address: server.address })
  const file = await client.v1.readFile({ params: { alloc_id: 'a' }, query: { path: '/x' } })
  assert.deepEqual(file.data, bytes)
  const code = await client.v2.downloadPolicy({ params: { policy_id: 'pol-1' } })
  assert.deepEqual(code.data, bytes)
})

test('text comes as text', async (t) => {
  const server = await aServer(t, inTurn({ body: '{"looks": "like JSON"}' }))
  const client = createClient({ address: server.address })
  const { data } = await client.v2.readPolicyCheckOutput({ params: { policy_check_id: 'x' } })
  assert.equal(data, '{"looks": "like JSON"}')
})

test('an answer that has not changed is no error', async (t) => {
  const server = await aServer(t, inTurn({ status: 304 }))
  const client = createClient({ address: server.address })
  const headers = { 'If-None-Match': '"abc"' }
  const reply = await client.v2.downloadPolicy({ params: { policy_id: 'pol-1' }, headers })
  assert.deepEqual([reply.status, reply.data], [304, undefined])
  assert.equal(server.received[0]?.headers['if-none-match'], '"abc"')
})

test('a success that the route does not declare is read like the one it does', async (t) => {
  const server = await aServer(t, inTurn({ status: 201, body: { EvalID: 'e' } }))
  const { data } = await createClient({ address: server.address }).v1.registerJob({ body: {} })
  assert.equal(data.EvalID, 'e')
})

test('a compressed answer is read', async (t) => {
  const { gzipSync } = await import('node:zlib')
  const server = await aServer(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    response.end(gzipSync('[{"ID":"web"}]'))
  })
  const { data } = await createClient({ address: server.address }).v1.listJobs()
  assert.equal(data[0]?.ID, 'web')
})

test('an opened answer is left to the caller', async (t) => {
  const server = await aServer(t, inTurn({ body: 'reeve_jobs 3\n' }))
  const client = createClient({ address: server.address })
  const { data } = await client.open('readMetrics', { query: { format: 'prometheus' } })
  assert.equal(await text(data), 'reeve_jobs 3\n')
  assert.equal(server.received[0]?.target, '/v1/metrics?format=prometheus')
})

test('an endless answer is given as a stream', async (t) => {
  const server = await aServer(t, (_request, response) => void response.write('first'))
  const client = createClient({ address: server.address })
  const query = { task: 'web', type: 'stdout', plain: true }
  const { data } = await client.v1.streamLogs({ params: { alloc_id: 'a' }, query })
  const reader = data.getReader()
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'first')
  await reader.cancel()
})

test('a fetch of one’s own is used', async () => {
  const asked: string[] = []
  const client = createClient({
    address: 'http://unreachable.invalid',
    fetch: async (input) => {
      asked.push(new Request(input).url)
      return new Response('[]')
    },
  })
  assert.deepEqual((await client.v1.listRegions()).data, [])
  assert.deepEqual(asked, ['http://unreachable.invalid/v1/regions'])
})

test('calls over one client do not disturb each other', async (t) => {
  const server = await aServer(t, ({ target }, response) =>
    send(response, { body: { ID: target } }),
  )
  const client = createClient({ address: server.address })
  const ids = Array.from({ length: 20 }, (_, i) => `job-${i}`)
  const replies = await Promise.all(ids.map((job_id) => client.v1.readJob({ params: { job_id } })))
  assert.deepEqual(
    replies.map(({ data }) => data.ID),
    ids.map((id) => `/v1/job/${id}`),
  )
})

test('a route without parameters needs no argument', async (t) => {
  const server = await aServer(t, noContent)
  assert.equal((await createClient({ address: server.address }).v2.ping()).status, 204)
})
