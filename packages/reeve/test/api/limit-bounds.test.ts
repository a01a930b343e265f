import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, anId, aTask } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { responseTo } from './event-reader.ts'
import { createTestServer, type CallOptions } from './harness.ts'
import { withVersions } from './job-history.ts'

/** A server with the job `web`, and a caller that keeps one connection to it. */
async function aConnection(t: TestContext) {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register())
  const address = await server.listen()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(async () => {
    agent.destroy()
    await server.close()
  })
  const ports = new Set<number | undefined>()
  const send = async (method: string, path: string, body?: object) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'content-type': 'application/json',
      ...(text !== undefined && { 'content-length': Buffer.byteLength(text) }),
    }
    const request = httpRequest(new URL(path, address), { method, agent, headers })
    request.once('socket', (socket) => {
      socket.once('connect', () => ports.add(socket.localPort))
    })
    request.end(text)
    const response = await responseTo(request)
    let answer = ''
    for await (const chunk of response) answer += String(chunk)
    return { status: response.statusCode, text: answer }
  }
  return { server, address, send, ports }
}

const METADATA = JSON.stringify(['m', { note: '' }]).length

/** Each limit that rejects a value: the largest or smallest valid one, and the next one. */
const BOUNDS: readonly {
  readonly limit: keyof typeof LIMITS
  readonly method: string
  readonly path: string
  readonly body: (value: number) => object
  readonly valid: number
  readonly invalid: number
  /** Status of the valid request; 200 unless given. */
  readonly status?: number
  readonly says: string
}[] = [
  {
    limit: 'jobMessageCharsMax',
    method: 'POST',
    path: '/v1/jobs',
    body: (length) => bodyOf(register({}, { Message: 'x'.repeat(length) })),
    valid: LIMITS.jobMessageCharsMax,
    invalid: LIMITS.jobMessageCharsMax + 1,
    says: 'Message is longer than 500 characters',
  },
  {
    limit: 'taskNameBytesMax',
    method: 'POST',
    path: '/v1/jobs',
    body: (length) => jobWithTask({ Name: 'x'.repeat(length) }),
    valid: LIMITS.taskNameBytesMax,
    invalid: LIMITS.taskNameBytesMax + 1,
    says: 'Task name is longer than 200 bytes',
  },
  {
    limit: 'scalingEventCharsMax',
    method: 'POST',
    path: '/v1/job/web/scale',
    body: (length) => ({
      Target: { Group: 'app' },
      Message: 'm',
      Meta: { note: 'x'.repeat(length - METADATA) },
    }),
    valid: LIMITS.scalingEventCharsMax,
    invalid: LIMITS.scalingEventCharsMax + 1,
    says: 'message and meta of a scaling action exceed maximum size; 65537 > 65536',
  },
  {
    limit: 'variableLockMsMin',
    method: 'PUT',
    path: '/v1/var/short?lock-acquire',
    body: (ms) => ({ Path: 'short', Items: {}, Lock: { TTL: `${ms}ms` } }),
    valid: LIMITS.variableLockMsMin,
    invalid: LIMITS.variableLockMsMin - 1,
    says: 'the TTL of a lock must be a duration between 10s and 24h0m0s',
  },
  {
    limit: 'variableLockMsMax',
    method: 'PUT',
    path: '/v1/var/long?lock-acquire',
    body: (ms) => ({ Path: 'long', Items: {}, Lock: { TTL: `${ms}ms` } }),
    valid: LIMITS.variableLockMsMax,
    invalid: LIMITS.variableLockMsMax + 1,
    says: 'the TTL of a lock must be a duration between 10s and 24h0m0s',
  },
  {
    limit: 'variableLockMsMax',
    method: 'PUT',
    path: '/v1/var/delayed?lock-acquire',
    body: (ms) => ({ Path: 'delayed', Items: {}, Lock: { LockDelay: `${ms}ms` } }),
    valid: LIMITS.variableLockMsMax,
    invalid: LIMITS.variableLockMsMax + 1,
    says: 'the LockDelay must be a duration between 0s and 24h0m0s',
  },
  {
    limit: 'fuzzyTextCharsMin',
    method: 'POST',
    path: '/v1/search/fuzzy',
    body: (length) => ({ Text: 'x'.repeat(length) }),
    valid: LIMITS.fuzzyTextCharsMin,
    invalid: LIMITS.fuzzyTextCharsMin - 1,
    says: 'fuzzy search query must be at least 2 characters, got 1',
  },
  {
    limit: 'descriptionCharsMax',
    method: 'PUT',
    path: '/v1/namespace/apps',
    body: (length) => ({ Name: 'apps', Description: 'x'.repeat(length) }),
    valid: LIMITS.descriptionCharsMax,
    invalid: LIMITS.descriptionCharsMax + 1,
    says: 'description longer than 256',
  },
]

function bodyOf({ body }: CallOptions): object {
  assert.ok(typeof body === 'object' && body !== null)
  return body
}

function jobWithTask(task: object): object {
  return bodyOf(register({ TaskGroups: [aGroup({ tasks: [aTask(task)] })] }))
}

for (const { limit, method, path, body, valid, invalid, status = 200, says } of BOUNDS)
  test(`${limit}: ${valid} is accepted, ${invalid} is rejected by name (${path})`, async (t) => {
    const { server, send, ports } = await aConnection(t)
    const { store } = server.context
    const before = store.index
    const rejected = await send(method, path, body(invalid))
    assert.equal(rejected.status, 400)
    assert.ok(rejected.text.includes(says), rejected.text)
    assert.equal(store.index, before, 'nothing is written')
    const accepted = await send(method, path, body(valid))
    assert.deepEqual(
      [accepted.status, accepted.status === status ? '' : accepted.text],
      [status, ''],
    )
    assert.equal(ports.size, 1, 'the connection goes on')
  })

test('deletedEvaluationsMax: as many as the limit are looked for', async (t) => {
  const { server, send } = await aConnection(t)
  await server.ok('writeSchedulerConfiguration', { body: { PauseEvalBroker: true } })
  const body = (count: number) => ({
    EvalIDs: Array.from({ length: count }, () => anId('eval', 9)),
  })
  const { deletedEvaluationsMax: max } = LIMITS
  const rejected = await send('DELETE', '/v1/evaluations', body(max + 1))
  const says = `request includes ${max + 1} evaluation IDs, must be ${max} or fewer`
  assert.deepEqual(rejected, { status: 400, text: says })
  const sought = await send('DELETE', '/v1/evaluations', body(max))
  assert.deepEqual(sought, { status: 404, text: 'eval not found' })
})

test('diffsCharsMax: diffs of versions may be as long as the limit, and none longer', async () => {
  const server = await withVersions(2)
  const { store } = server.context
  const [newer, older] = (await server.ok('listJobVersions', ofJob())).Versions
  assert.ok(newer !== undefined && older !== undefined)
  const read = async (newerChars: number, olderChars: number) => {
    const grown = [
      { ...newer, Meta: { a: 'n'.repeat(newerChars) } },
      { ...older, Meta: { a: 'o'.repeat(olderChars) } },
    ]
    const changes = () => grown.map((job) => put('job_versions', job))
    await store.commit({ by: 'system', cause: undefined, changes }).durable
    return await server.send('GET', '/v1/job/web/versions?diffs=true')
  }
  assert.equal((await read(1, 1)).status, 200)
  const { Diffs } = await server.ok('listJobVersions', ofJob('web', { diffs: true }))
  assert.ok(Diffs !== null)
  // Both values are in the diff.
  const chars = LIMITS.diffsCharsMax - JSON.stringify(Diffs[0]).length + 2
  assert.equal((await read(1, chars - 1)).status, 200)
  const refused = await read(1, chars)
  const text = `the diffs of these versions are longer than ${LIMITS.diffsCharsMax} characters`
  assert.deepEqual([refused.status, refused.text], [400, text])
  assert.equal((await server.ok('listJobVersions', ofJob())).Versions.length, 2)
})

test('requestTimeoutMs: a request that does not arrive in time is told so', async (t) => {
  const { server, address } = await aConnection(t)
  const http = server.http
  assert.equal(http.requestTimeout, LIMITS.requestTimeoutMs)
  const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1' })
  t.after(() => socket.destroy())
  const accepted = once(http, 'connection')
  socket.write('POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"Job"')
  const [peer] = await accepted
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  const closed = once(socket, 'close')
  // As the runtime does when the time is over, which it looks at every few seconds.
  http.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), peer)
  await closed
  assert.match(
    text,
    /^HTTP\/1\.1 408 Request Timeout\r\n[^]*error-code: request-timeout\r\n[^]*within 15 s, and all of it within 300 s$/,
  )
  assert.equal(server.context.store.tables.jobs.size, 1)
})
