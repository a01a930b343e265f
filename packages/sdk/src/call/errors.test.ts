import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anEmptyAddress, aServer, inTurn, type AnAnswer } from '../../test/local-server.ts'
import { manualTiming } from '../../test/manual-timing.ts'
import { createClient, type Client } from '../client.ts'
import { ApiError, ConnectionError } from '../errors.ts'

const params = { job_id: 'web' }
const org = { organization_name: 'acme' }

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  )
}

async function apiErrorOf(work: Promise<unknown>): Promise<ApiError> {
  const error = await failureOf(work)
  assert.ok(error instanceof ApiError, String(error))
  return error
}

async function connectionErrorOf(work: Promise<unknown>): Promise<ConnectionError> {
  const error = await failureOf(work)
  assert.ok(error instanceof ConnectionError, String(error))
  return error
}

test('a refusal of the workload API is its text', async (t) => {
  const headers = { 'X-Service-Index': '7', 'X-Request-Id': 'r-1' }
  const server = await aServer(t, inTurn({ status: 404, headers, body: 'job not found\n' }))
  const error = await apiErrorOf(createClient({ address: server.address }).v1.readJob({ params }))
  const { status, text, errors, requestId, index, message } = error
  assert.deepEqual(
    { status, text, errors, requestId, index, message },
    {
      status: 404,
      text: 'job not found',
      errors: [],
      requestId: 'r-1',
      index: 7,
      message: 'GET /v1/job/:job_id: 404 job not found',
    },
  )
})

test('a fault of the server names the request for its logs', async (t) => {
  const headers = { 'X-Request-Id': 'r-1' }
  const server = await aServer(t, inTurn({ status: 500, headers, body: 'internal error' }))
  const error = await apiErrorOf(createClient({ address: server.address }).v1.listJobs())
  assert.equal(error.message, 'GET /v1/jobs: 500 internal error (request r-1)')
})

const nameTaken = {
  status: '422',
  title: 'invalid attribute',
  detail: 'Name has already been taken',
  source: { pointer: '/data/attributes/name' },
}
const nameShort = { ...nameTaken, detail: 'Name is too short' }
const elsewhere = { status: '422', title: 'unprocessable entity', detail: 'Workspace is missing' }

test('a refusal of the governance API holds the errors of its document', async (t) => {
  const errors = [nameTaken, elsewhere, nameShort]
  const server = await aServer(t, inTurn({ status: 422, body: { errors } }))
  const body = { data: { type: 'projects', attributes: { name: 'x' } } } as const
  const client = createClient({ address: server.address })
  const error = await apiErrorOf(client.v2.createProject({ params: org, body }))
  assert.deepEqual(error.errors, errors)
  assert.equal(error.text, 'Name has already been taken\nWorkspace is missing\nName is too short')
  assert.deepEqual(error.detailsAt('/data/attributes/name'), [
    'Name has already been taken',
    'Name is too short',
  ])
  assert.deepEqual(error.detailsAt('/data/attributes/description'), [])
})

const strangeDocuments: readonly { readonly name: string; readonly body: string }[] = [
  { name: 'a page of a proxy', body: '<h1>Bad Gateway</h1>' },
  { name: 'no errors', body: '{}' },
  { name: 'errors that are none', body: '{"errors":[null,5,{"status":"1"}]}' },
  { name: 'errors that are no list', body: '{"errors":"many"}' },
  { name: 'null', body: 'null' },
  { name: 'half a document', body: '{"errors":[' },
]
for (const { name, body } of strangeDocuments) {
  test(`an error document that holds ${name} is shown as text`, async (t) => {
    const server = await aServer(t, inTurn({ status: 502, body }))
    const error = await apiErrorOf(createClient({ address: server.address }).v2.ping())
    assert.deepEqual([error.status, error.errors, error.text], [502, [], body])
  })
}

test('an error without body has only its status', async (t) => {
  const server = await aServer(t, inTurn({ status: 405 }))
  const error = await apiErrorOf(createClient({ address: server.address }).v1.listJobs())
  assert.deepEqual([error.text, error.message], ['', 'GET /v1/jobs: 405'])
})

test('an endless error is read up to a limit, and shown in part', async (t) => {
  const server = await aServer(t, (_request, response) => {
    response.writeHead(500)
    const more = (): void => {
      while (response.write('x'.repeat(16_384)));
      response.once('drain', more)
    }
    more()
  })
  const error = await apiErrorOf(createClient({ address: server.address }).v1.listJobs())
  assert.equal(error.text.length, 65_536)
  assert.ok(error.message.length < 1_100)
})

const patience: readonly (readonly [
  string,
  Readonly<Record<string, string>>,
  number | undefined,
])[] = [
  ['seconds', { 'Retry-After': '3' }, 3_000],
  ['parts of a second', { 'X-RateLimit-Reset': '0.25' }, 250],
  ['for ever', { 'Retry-After': '999999999' }, 600_000],
  ['nothing', {}, undefined],
  ['nonsense', { 'Retry-After': 'later' }, undefined],
]
for (const [name, headers, retryAfterMs] of patience) {
  test(`a server that asks for patience (${name}) is heard`, async (t) => {
    const server = await aServer(t, inTurn({ status: 429, headers }))
    const error = await apiErrorOf(createClient({ address: server.address }).v1.listJobs())
    assert.equal(error.retryAfterMs, retryAfterMs)
  })
}

test('a server that is not there is named, with what to try', async () => {
  const address = await anEmptyAddress()
  const error = await connectionErrorOf(createClient({ address }).v1.listJobs())
  assert.deepEqual([error.reason, error.address], ['unreachable', address])
  assert.equal(
    error.message,
    `cannot reach ${address}: nothing listens there. Is the server running, and is the port right?`,
  )
})

test('a failure that the platform does not explain still says what to try', async () => {
  const cause = new TypeError('Failed to fetch')
  const fetch = () => Promise.reject(cause)
  const client = createClient({ address: 'http://reeve.example', fetch })
  const error = await connectionErrorOf(client.v1.listJobs())
  assert.match(
    error.message,
    /^cannot reach http:\/\/reeve\.example: no answer\. Is the server running/,
  )
  assert.equal(error.cause, cause)
})

test('a platform that gives up before the server is a timeout', async () => {
  const cause = Object.assign(new Error('headers'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
  const error = await connectionErrorOf(
    createClient({ address: 'http://reeve.example', fetch }).v1.listJobs(),
  )
  assert.equal(error.reason, 'timeout')
  assert.match(error.message, /shorter wait/)
})

test('a connection that is cut inside an answer is told apart', async (t) => {
  const server = await aServer(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('[', () => response.destroy())
  })
  const error = await connectionErrorOf(createClient({ address: server.address }).v1.listJobs())
  assert.equal(error.reason, 'cut')
})

const unreadable: readonly AnAnswer[] = [
  { body: '<html>', headers: { 'content-type': 'text/html' } },
  { body: '[{' },
]
for (const answer of unreadable) {
  test(`an answer of ${JSON.stringify(answer.body)} is not JSON`, async (t) => {
    const server = await aServer(t, inTurn(answer))
    const error = await connectionErrorOf(createClient({ address: server.address }).v1.listJobs())
    assert.equal(error.reason, 'unreadable')
    assert.match(error.message, /not JSON .*Is this the address of a server/)
  })
}

for (const status of [301, 302, 307, 308]) {
  test(`a redirect (${status}) is not followed, so the token stays here`, async (t) => {
    const other = await aServer(t, inTurn({ body: [] }))
    const headers = { location: `${other.address}/v1/jobs?t=s3cret` }
    const server = await aServer(t, inTurn({ status, headers }))
    const client = createClient({ address: server.address, token: 's3cret' })
    const error = await connectionErrorOf(client.v1.listJobs())
    assert.equal(error.reason, 'redirect')
    assert.ok(error.message.includes(`redirects to ${other.address}/v1/jobs?t=<token>;`))
    assert.equal(other.received.length, 0)
  })
}

test('a server that does not answer in time is a timeout', async (t) => {
  const server = await aServer(t, () => undefined)
  const timing = manualTiming((ms) => ms === 1_500)
  const client = createClient({ address: server.address, timing, timeoutMs: 1_500 })
  const error = await connectionErrorOf(client.v1.listJobs())
  assert.equal(error.reason, 'timeout')
  assert.match(error.message, /did not answer within 1\.5 s\. Try again, or raise timeoutMs\.$/)
})

test('a body that does not end in time is one too', async (t) => {
  const server = await aServer(t, (_request, response) => void response.write('['))
  const timing = manualTiming((ms) => ms === 1_500)
  const client = createClient({ address: server.address, timing })
  const error = await connectionErrorOf(client.v1.listJobs({ timeoutMs: 1_500 }))
  assert.equal(error.reason, 'timeout')
})

test('a timeout of 0 starts no timer', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const timing = manualTiming()
  await createClient({ address: server.address, timing, timeoutMs: 0 }).v1.listJobs()
  assert.deepEqual(timing.delays, [])
})

test('the time of a blocking query is not counted', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const timing = manualTiming()
  const client = createClient({ address: server.address, timing, timeoutMs: 1_000 })
  await client.v1.listJobs({ query: { index: 5, wait: '16s' } })
  assert.deepEqual(timing.delays, [18_000])
})

test('a signal that has aborted keeps the call from being made', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const reason = new Error('never mind')
  const client = createClient({ address: server.address })
  const error = await failureOf(client.v1.listJobs({ signal: AbortSignal.abort(reason) }))
  assert.equal(error, reason)
  assert.equal(server.received.length, 0)
})

test('a signal that aborts ends the call with its reason', async (t) => {
  const controller = new AbortController()
  const reason = new Error('never mind')
  const server = await aServer(t, () => controller.abort(reason))
  const client = createClient({ address: server.address })
  assert.equal(await failureOf(client.v1.listJobs({ signal: controller.signal })), reason)
})

test('a signal that aborts inside the body does too', async (t) => {
  const controller = new AbortController()
  const reason = new Error('never mind')
  const server = await aServer(t, (_request, response) => {
    response.write('[', () => controller.abort(reason))
  })
  const client = createClient({ address: server.address })
  assert.equal(await failureOf(client.v1.listJobs({ signal: controller.signal })), reason)
})

test('a signal ends a stream that was opened with it', async (t) => {
  const controller = new AbortController()
  const reason = new Error('never mind')
  const server = await aServer(t, (_request, response) => void response.write('a'))
  const client = createClient({ address: server.address })
  const { data } = await client.open('listJobs', { signal: controller.signal })
  const reader = data.getReader()
  await reader.read()
  controller.abort(reason)
  assert.equal(await failureOf(reader.read()), reason)
})

const badOptions: readonly (readonly [string, () => Client, RegExp])[] = [
  ['a token with a newline', () => aClient({ token: 's3cret\nX: y' }), /token holds characters/],
  ['a token with other letters', () => aClient({ token: 's3crét' }), /token holds characters/],
  ['a bad header name', () => aClient({ headers: { 'a b': '1' } }), /"a b" has a bad name/],
  ['a bad header value', () => aClient({ headers: { a: 's3cret\n' } }), /"a" has a value/],
]

function aClient(options: object): Client {
  return createClient({ address: 'http://127.0.0.1:1', ...options })
}

for (const [name, make, says] of badOptions) {
  test(`${name} is refused without repeating it`, () => {
    assert.throws(make, (error: Error) => says.test(error.message) && !/s3c/.test(error.message))
  })
}

test('no failure repeats the token, even if the server does', async (t) => {
  const body = { errors: [{ status: '401', title: 'unauthorized', detail: 'bad token s3cret' }] }
  const server = await aServer(t, inTurn({ status: 401, body }))
  const client = createClient({ address: server.address, token: 's3cret' })
  const failures = [
    await failureOf(client.v1.listJobs()),
    await failureOf(client.v2.ping()),
    await failureOf(aClient({ token: 's3cret' }).v1.listJobs()),
    await failureOf(client.v1.readJob({ params: { job_id: '..' } })),
  ]
  for (const error of failures) {
    assert.ok(error instanceof Error)
    const everything = JSON.stringify([error, error.message, error.stack, error.cause])
    assert.doesNotMatch(everything, /s3cret/)
  }
})

const cuts = [
  { scheme: 'http', advice: /the connection was cut\. Does the server want https/ },
  { scheme: 'https', advice: /the connection was cut\. It may reject the certificate/ },
]
for (const { scheme, advice } of cuts)
  test(`a connection over ${scheme} that is cut says what to look at`, async () => {
    const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const cutOff = () => Promise.reject(new TypeError('fetch failed', { cause }))
    const client = createClient({ address: `${scheme}://a.example`, fetch: cutOff })
    assert.match((await connectionErrorOf(client.v1.readJob({ params }))).message, advice)
  })
