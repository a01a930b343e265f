import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { deflateSync, gunzip, gzipSync } from 'node:zlib'
import { LIMITS } from '../../src/model/index.ts'
import { aGroup, aTask } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { responseTo } from './event-reader.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const LIMIT = { timeout: 300_000 }
const TOO_LARGE = [413, `the request body is larger than ${LIMITS.bodyBytesMax} bytes`]

async function aServer(): Promise<TestServer> {
  return await createTestServer({ aclEnabled: false })
}

async function aListening(t: TestContext) {
  const server = await aServer()
  const address = new URL(await server.listen())
  t.after(() => server.close())
  return { server, address, port: Number(address.port) }
}

/** The job's text, made so long by something that is ignored. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify(register().body)
  return body + ' '.repeat(bytes - body.length)
}

async function goesOn(server: TestServer): Promise<void> {
  assert.equal((await server.send('GET', '/v1/jobs')).status, 200)
}

// Bodies

test('limits: a body may have as many bytes as the limit, and none more', async () => {
  const server = await aServer()
  const send = async (bytes: number) =>
    await server.send('POST', '/v1/jobs', { body: bodyOf(bytes) })
  assert.equal((await send(LIMITS.bodyBytesMax)).status, 200)
  const reply = await send(LIMITS.bodyBytesMax + 1)
  assert.deepEqual([reply.status, reply.text], TOO_LARGE)
  assert.equal(reply.headers['content-type'], 'text/plain; charset=utf-8')
  assert.equal(server.context.store.index, 2)
})

for (const [encoding, compress] of [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const) {
  test(`limits: a body that is ${encoding} counts as it is without`, async () => {
    const server = await aServer()
    const headers = { 'content-encoding': encoding }
    const send = async (bytes: number) =>
      await server.send('POST', '/v1/jobs', { body: compress(bodyOf(bytes)), headers })
    assert.equal((await send(LIMITS.bodyBytesMax)).status, 200)
    const reply = await send(LIMITS.bodyBytesMax + 1)
    assert.deepEqual([reply.status, reply.text], TOO_LARGE)
  })

  test(`limits: a ${encoding} bomb is refused before it is large`, async () => {
    const server = await aServer()
    const bomb = compress(Buffer.alloc(300 * 1024 * 1024))
    assert.ok(bomb.length < LIMITS.bodyBytesMax)
    const headers = { 'content-encoding': encoding }
    const reply = await withBuffersBelow(100 * 1024 * 1024, () =>
      server.send('POST', '/v1/jobs', { body: bomb, headers }),
    )
    assert.deepEqual([reply.status, reply.text], TOO_LARGE)
    await goesOn(server)
  })

  test(`limits: what is not ${encoding} is refused`, async () => {
    const server = await aServer()
    const good = compress(JSON.stringify(register().body))
    const bad = [
      Buffer.from('{"Job":{}}'),
      good.subarray(0, -8),
      good.subarray(4),
      Buffer.from([0x1f, 0x8b]),
    ]
    for (const body of bad) {
      const reply = await server.send('POST', '/v1/jobs', {
        body,
        headers: { 'content-encoding': encoding },
      })
      assert.deepEqual(
        [reply.status, reply.headers['content-type']],
        [400, 'text/plain; charset=utf-8'],
      )
    }
    assert.equal(server.context.store.index, 1)
  })
}

test('limits: a bomb that breaks after it was refused ends nothing', LIMIT, async (t) => {
  const { server, address } = await aListening(t)
  const whole = gzipSync(Buffer.alloc(LIMITS.bodyBytesMax + 1024 * 1024))
  const body = Buffer.concat([whole.subarray(0, -8), Buffer.alloc(100, 'x')])
  const headers = { 'content-encoding': 'gzip' }
  const response = await fetch(new URL('/v1/jobs', address), { method: 'POST', body, headers })
  assert.equal(response.status, 413)
  assert.equal((await server.send('POST', '/v1/jobs', { body, headers })).status, 413)
  // As long as the server needs to come upon what is broken.
  await assert.rejects(promisify(gunzip)(body))
  await goesOn(server)
})

test('limits: a bomb whose sender goes harms nobody', LIMIT, async (t) => {
  const { server, address } = await aListening(t)
  const headers = { 'content-encoding': 'gzip' }
  const request = httpRequest(new URL('/v1/jobs', address), {
    method: 'POST',
    agent: false,
    headers,
  })
  request.on('error', () => undefined)
  request.write(gzipSync(Buffer.alloc(6 * LIMITS.bodyBytesMax)).subarray(0, -8))
  // The answer was held against the contract; this names the part that is looked at.
  const response = await responseTo(request)
  assert.equal(response.statusCode, 413)
  request.destroy()
  await once(response, 'close')
  await goesOn(server)
})

for (const how of ['content-length', 'transfer-encoding'] as const)
  test(`limits: who sends a body that is too long is told so (${how})`, LIMIT, async (t) => {
    const { server, address } = await aListening(t)
    const body = Buffer.alloc(LIMITS.bodyBytesMax + 1024 * 1024, 'a')
    const sent = { 'content-length': String(body.length), 'transfer-encoding': 'chunked' }[how]
    // One after the other: a connection that is cut while the body is under way tells nothing.
    for (let round = 0; round < 4; round++) {
      const request = httpRequest(new URL('/v1/jobs', address), {
        method: 'POST',
        headers: { [how]: sent },
      })
      const response = responseTo(request)
      for (let at = 0; at < body.length; at += 65_536) {
        request.write(body.subarray(at, at + 65_536))
        await new Promise(setImmediate)
      }
      request.end()
      assert.equal((await response).statusCode, 413)
      ;(await response).resume()
      await once(request, 'close')
    }
    await goesOn(server)
  })

test('limits: a body that says it is too long is refused before it is sent', LIMIT, async (t) => {
  const { server, port } = await aListening(t)
  const answer = await raw(
    port,
    `POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${LIMITS.bodyBytesMax + 1}\r\n\r\n{`,
  )
  assert.match(answer, /^HTTP\/1\.1 413 /)
  await goesOn(server)
})

// Depth and width

function nested(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth)
}

test('limits: JSON that nests without end is refused before it is parsed', async () => {
  const server = await aServer()
  const text = `the JSON is nested more than ${LIMITS.jsonBodyDepthMax} levels deep`
  const deep = nested(1_000_000, '[', ']')
  const job = JSON.stringify(register().body)
  const ignored = `${job.slice(0, -1)},"Nope":${deep}}`
  for (const body of [
    deep,
    `{"Job":${deep}}`,
    '['.repeat(2_000_000),
    '{"a":'.repeat(500_000),
    ignored,
  ]) {
    const reply = await server.send('POST', '/v1/jobs', { body })
    assert.deepEqual([reply.status, reply.text], [400, text])
  }
})

test('limits: a long body may be deep in what is ignored, up to the limit', async () => {
  const server = await aServer()
  const job = JSON.stringify(register().body).slice(0, -1)
  const padding = JSON.stringify('x'.repeat(100_000))
  const send = async (depth: number) => {
    const body = `${job},"Padding":${padding},"Nope":${nested(depth - 1, '[', ']')}}`
    return (await server.send('POST', '/v1/jobs', { body })).status
  }
  assert.equal(await send(LIMITS.jsonBodyDepthMax), 200)
  assert.equal(await send(LIMITS.jsonBodyDepthMax + 1), 400)
})

test('limits: JSON of very many objects, or very many names, is refused by a sentence', async () => {
  const server = await aServer()
  const names = Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join()
  for (const [body, text] of [
    [`[${'{},'.repeat(1_000_000)}1]`, 'the JSON has more than 100000 objects and lists'],
    [`{"Nope":{${names}}}`, 'the JSON has more than 30000 different names'],
  ] as const) {
    const reply = await server.send('POST', '/v1/jobs', { body })
    assert.deepEqual([reply.status, reply.text], [400, text])
  }
})

test(`limits: free-form values may nest ${LIMITS.jsonDepthMax} levels`, async () => {
  const server = await aServer()
  const send = async (depth: number) => {
    let value: unknown = 1
    for (let i = 0; i < depth; i++) value = [value]
    const tasks = [aTask({ Config: { command: 'x', args: value } })]
    return await server.send('POST', '/v1/jobs', register({ TaskGroups: [aGroup({ tasks })] }))
  }
  assert.equal((await send(LIMITS.jsonDepthMax)).status, 200)
  const reply = await send(LIMITS.jsonDepthMax + 1)
  assert.deepEqual([reply.status, reply.text.startsWith('json: cannot unmarshal')], [400, true])
})

test('limits: a job of very many groups is refused by a rule, in time', LIMIT, async () => {
  const server = await aServer()
  const TaskGroups = Array.from({ length: 20_000 }, (_, i) => ({ Name: `g${i}`, Count: 100 }))
  const text = `Job has 20000 task groups and tasks; at most ${LIMITS.jobPartsMax} are allowed`
  const call = register({ TaskGroups })
  assert.deepEqual(await server.refusal('registerJob', call), [400, text])
  const plan = { params: { job_id: 'web' }, body: call.body }
  assert.deepEqual(await server.refusal('planJob', plan), [400, text])
  const { ValidationErrors } = await server.ok('validateJob', { body: call.body })
  assert.deepEqual(ValidationErrors, [text])
})

test('limits: of two large jobs that must be the first of their id, one is', async () => {
  const server = await aServer()
  const groups = Array.from({ length: 200 }, (_, i) => aGroup({ Name: `g${i}` }))
  const call = register({ TaskGroups: groups }, { EnforceIndex: true, JobModifyIndex: 0 })
  const replies = await Promise.all([
    server.call('registerJob', call),
    server.call('registerJob', call),
  ])
  // Large bodies are read in slices, so either of the two can come first.
  const [first, second] = replies.toSorted((a, b) => a.status - b.status)
  assert.deepEqual([first?.status, second?.status], [200, 409])
  assert.match(second?.text ?? '', /job already exists/)
})

test('limits: regular expressions that stand for too much are refused before they are compiled', async () => {
  const server = await aServer()
  const rule = { LTarget: '${attr.a}', RTarget: 'a{1000}'.repeat(500), Operand: 'regexp' }
  const Constraints = Array.from({ length: 1_000 }, () => rule)
  assert.deepEqual(await server.refusal('registerJob', register({ Constraints })), [
    400,
    'Regular expressions of the job have more than 20000 instructions together',
  ])
})

test('limits: a job may ask for 50,000 instances and none more', async () => {
  const server = await aServer()
  const send = async (Count: number) =>
    await server.call('registerJob', register({ TaskGroups: [aGroup({ Count })] }))
  assert.equal((await send(LIMITS.jobCountMax)).status, 200)
  const reply = await send(LIMITS.jobCountMax + 1)
  assert.equal(reply.status, 400)
  assert.match(reply.text, /total count was greater than configured job_max_count: 50001 > 50000/)
})

test('limits: numbers that are none, or too large to be one, are refused', async () => {
  const server = await aServer()
  for (const count of ['1e400', '-1', '1e300', '0.5', 'NaN', '01']) {
    const body = `{"Job":{"ID":"web","TaskGroups":[{"Name":"a","Count":${count},"Tasks":[{"Name":"t","Driver":"raw_exec"}]}]}}`
    assert.equal((await server.send('POST', '/v1/jobs', { body })).status, 400, count)
  }
})

// URLs and headers

test('limits: a URL may be as long as the limit, and no longer', LIMIT, async (t) => {
  const { server, address } = await aListening(t)
  const send = async (length: number) => {
    const path = '/v1/jobs?x='
    const response = await fetch(new URL(path + 'a'.repeat(length - path.length), address))
    return [response.status, response.status === 200 ? '' : await response.text()]
  }
  assert.deepEqual(await send(LIMITS.urlBytesMax), [200, ''])
  assert.deepEqual(await send(LIMITS.urlBytesMax + 1), [414, 'the URL is longer than 65536 bytes'])
  await goesOn(server)
})

test('limits: headers beyond the limit are refused in plain text', LIMIT, async (t) => {
  const { server, port } = await aListening(t)
  const head = `GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'a'.repeat(90_000)}\r\n\r\n`
  const answer = await raw(port, head)
  assert.match(answer, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  assert.match(answer, /content-type: text\/plain; charset=utf-8\r\n/)
  assert.match(answer, /the headers are longer than 16384 bytes$/)
  await goesOn(server)
})

const NO_REQUESTS = [
  'nonsense\r\n\r\n',
  'GET /v1/jobs HTTP/9.9\r\n\r\n',
  '\u0000\u0001\r\n\r\n',
  'GET /v1/jobs HTTP/1.1\r\nContent-Length: x\r\n\r\n',
]

for (const text of NO_REQUESTS)
  test(`limits: ${JSON.stringify(text)} is no request and is refused`, LIMIT, async (t) => {
    const { server, port } = await aListening(t)
    const answer = await raw(port, text)
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    assert.match(answer, /\r\nx-content-type-options: nosniff\r\n/)
    assert.match(answer, /\r\n\r\nBad Request$/)
    await goesOn(server)
  })

test('limits: what came whole before something unreadable is answered first', LIMIT, async (t) => {
  const { server, port } = await aListening(t)
  const answers = await raw(
    port,
    `${'GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2)}{"a":1}`,
  )
  const statuses = Array.from(answers.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)
  assert.deepEqual(statuses, ['200', '200', '400'])
  await goesOn(server)
})

test('limits: an answer that goes on does not keep an unreadable connection', LIMIT, async (t) => {
  const { server, port } = await aListening(t)
  const answer = await raw(port, 'GET /v1/event/stream HTTP/1.1\r\nHost: localhost\r\n\r\n{"a":1}')
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  assert.doesNotMatch(answer, /400/)
  await goesOn(server)
})

test('limits: an id that is longer than a path may have is refused', async () => {
  const server = await aServer()
  const reply = await server.send(
    'GET',
    `/v1/allocation/${'a'.repeat(LIMITS.pathParamCharsMax + 1)}`,
  )
  assert.deepEqual(
    [reply.status, reply.headers['content-type']],
    [414, 'text/plain; charset=utf-8'],
  )
})

test('limits: the longest id of a job is read by its path', async () => {
  const server = await aServer()
  const id = 'ä'.repeat(LIMITS.pathParamCharsMax)
  await server.ok('registerJob', register({ ID: id }))
  assert.equal((await server.ok('readJob', ofJob(id))).ID, id)
})

test('limits: very many parameters are read in time', LIMIT, async () => {
  const server = await aServer()
  const query = Array.from({ length: 8_000 }, (_, i) => `p${i}=1`).join('&')
  assert.equal((await server.send('GET', `/v1/jobs?${query}`)).status, 200)
})

const ODD_PATHS = [
  '/v1/job/%00',
  '/v1/job/..%2f..%2fetc',
  '/v1/job/%ff',
  '//v1//jobs',
  '/v1/job/a%0d%0aX:%20y',
  '/v1/job/%F0%9F%92%A9',
  '/v1/jobs;x=1',
  '/V1/JOBS',
]

for (const path of ODD_PATHS)
  test(`limits: GET ${path} is answered 400 or 404 and tells nothing`, async () => {
    const server = await aServer()
    const reply = await server.send('GET', path)
    assert.ok(reply.status === 400 || reply.status === 404, `${reply.status}`)
    assert.equal(/\bat \w|node_modules|\.ts\b/.test(reply.text), false)
  })

// Connections

test('limits: a client that offers another protocol is answered in this one', LIMIT, async (t) => {
  const { port } = await aListening(t)
  for (const upgrade of ['h2c', 'websocket']) {
    const head = `GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: ${upgrade}\r\n\r\n`
    assert.match(await raw(port, head), /^HTTP\/1\.1 200 OK\r\n/, upgrade)
  }
})

test(
  'limits: requests that are sent ahead of their answers are answered in order',
  LIMIT,
  async (t) => {
    const { port } = await aListening(t)
    const one = 'GET /v1/status/leader HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const last = 'GET /v1/job/gone HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
    const answer = await raw(port, one.repeat(20) + last)
    assert.equal(answer.match(/HTTP\/1\.1 200 OK/g)?.length, 20)
    assert.match(answer, /HTTP\/1\.1 404 Not Found[^]*job not found$/)
  },
)

test('limits: a caller that goes in the middle of its body harms nobody', LIMIT, async (t) => {
  const { server, port } = await aListening(t)
  for (const encoding of ['identity', 'gzip']) {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.write(
      `POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: ${encoding}\r\nContent-Length: 1000\r\n\r\n{"Job"`,
    )
    await once(socket, 'connect')
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  await goesOn(server)
})

test('limits: who has no right cannot make the server read a long filter', async () => {
  const { server } = await aSecuredServer()
  const filter = '('.repeat(20_000)
  const reply = await server.send('GET', `/v1/jobs?filter=${filter}`)
  assert.deepEqual([reply.status, reply.text], [403, 'Permission denied'])
})

/**
 * Asserts in every turn of the event loop that buffers have not grown by so much: unlike the memory
 * of the process, their size does not depend on the tests before.
 */
async function withBuffersBelow<T>(bytesMax: number, work: () => Promise<T>): Promise<T> {
  const before = process.memoryUsage().arrayBuffers
  let peak = before
  let next: NodeJS.Immediate
  const measure = (): void => {
    peak = Math.max(peak, process.memoryUsage().arrayBuffers)
    next = setImmediate(measure)
  }
  next = setImmediate(measure)
  const result = await work().finally(() => clearImmediate(next))
  assert.ok(peak - before < bytesMax, `buffers of ${peak - before} bytes`)
  return result
}

/** Sends bytes as they are and gives all that comes back until the server closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1')
  socket.on('error', () => undefined)
  let answer = ''
  socket.on('data', (part: string) => (answer += part))
  socket.write(text, 'latin1')
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}
