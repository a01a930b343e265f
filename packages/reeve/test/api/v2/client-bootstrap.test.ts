import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import type { Reply } from '../harness.ts'
import { aGovernanceServer, refusedBy } from './harness.ts'

const PING = '/api/v2/ping'
const DETAILS = '/api/v2/account/details'

function rateOf({ headers }: Reply): readonly unknown[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`])
}

function bearer(token: string) {
  return { headers: { authorization: `Bearer ${token}` } }
}

test('B2 limiter: the ping tells the limit as a number', async () => {
  const { server } = await aGovernanceServer({ requestsPerSecond: 30 })
  assert.deepEqual(rateOf(await server.send('GET', PING)), ['30', '29', '0.000'])
})

test('B2 limiter: without a limit there is no header', async () => {
  const { server } = await aGovernanceServer()
  assert.deepEqual(rateOf(await server.send('GET', PING)), [undefined, undefined, undefined])
})

test('B3 retry: one too many is 429, with the seconds to wait; after them it is answered', async () => {
  const { server, root } = await aGovernanceServer({ requestsPerSecond: 2 })
  const ask = () => server.send('GET', DETAILS, bearer(root))
  assert.deepEqual([(await ask()).status, (await ask()).status], [200, 200])
  const refused = await ask()
  assert.deepEqual(rateOf(refused), ['2', '0', '0.500'])
  assert.equal(refused.headers['retry-after'], '1')
  assert.deepEqual(refusedBy(refused), [
    429,
    'Too many requests: Too many requests; X-RateLimit-Reset says how long to wait.',
  ])
  server.clock.advance(500)
  assert.equal((await ask()).status, 200)
})

test('B3 retry: the time to wait is rounded up, and never nothing', async () => {
  const { server } = await aGovernanceServer({ requestsPerSecond: 3 })
  const ask = () => server.send('GET', PING)
  for (let i = 0; i < 3; i++) assert.equal((await ask()).status, 204)
  assert.deepEqual(rateOf(await ask()), ['3', '0', '0.334'])
  server.clock.advance(333)
  const early = await ask()
  assert.equal(early.status, 429)
  assert.deepEqual(rateOf(early), ['3', '0', '0.001'])
  assert.equal(early.headers['retry-after'], '1')
})

test('B3 retry: tokens of one user count together, those of others and addresses apart', async () => {
  const it = await aGovernanceServer({ requestsPerSecond: 3 })
  const { server } = it
  const ada = await it.user('ada')
  server.clock.advance(1_000)
  const body = { data: { type: 'authentication-tokens', attributes: {} } }
  const second = await it.created('createUserToken', { params: { user_id: ada.id }, body })
  const ask = async (token: string) => (await server.send('GET', DETAILS, bearer(token))).status
  server.clock.advance(1_000)
  const tokens = [ada.token, second.data.attributes.token, ada.token, ada.token]
  const statuses = []
  for (const token of tokens) statuses.push(await ask(token))
  assert.deepEqual(statuses, [200, 200, 200, 429])
  assert.equal(await ask(it.root), 200)
  assert.equal((await server.send('GET', PING)).status, 204)
  assert.deepEqual([await ask('x'), await ask('y'), await ask('z')], [401, 401, 429])
})

const REFUSALS = [
  { name: 'a path that is none', method: 'GET', url: '/api/v2/nowhere', status: 404 },
  { name: 'a method that is none', method: 'PUT', url: DETAILS, status: 405 },
  { name: 'a body that is no JSON', method: 'POST', url: '/api/v2/organizations', status: 400 },
  {
    name: 'a parameter that is none',
    method: 'GET',
    url: '/api/v2/organizations?page%5Bsize%5D=x',
    status: 400,
  },
]
for (const { name, method, url, status } of REFUSALS)
  test(`B4 errors: ${name} has title and detail that clients can join`, async () => {
    const { server, root } = await aGovernanceServer()
    const { headers } = bearer(root)
    const body = method === 'POST' ? { body: '{' } : {}
    const reply = await server.send(method, url, {
      ...body,
      headers: { ...headers, 'content-type': v2.JSON_API_TYPE },
    })
    const [got, text = ''] = refusedBy(reply)
    assert.equal(got, status)
    assert.match(text, /^[A-Za-z ]+: .+/)
    assert.equal(reply.headers['content-type'], v2.JSON_API_TYPE)
  })

test('B5 include: an unknown name says so in the words that clients look for', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const [status, text = ''] = await it.refusal('listTeams', {
    params: { organization_name: 'acme' },
    query: { include: 'nonsense' },
  })
  assert.equal(status, 400)
  assert.match(text, /include parameter/i)
})

test('B5 include: a route that includes nothing says so; a write ignores it', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const params = { organization_name: 'acme' }
  const query = { include: 'nonsense' }
  // The contract has no such parameter, so the query is written by hand.
  const read = await it.server.send(
    'GET',
    '/api/v2/organizations/acme/reserved-tag-keys?include=nonsense',
    bearer(it.root),
  )
  assert.deepEqual(refusedBy(read), [
    400,
    'bad request: Invalid include parameter "nonsense": nothing can be included here',
  ])
  await it.created('createOrganizationToken', { params, query })
})

test('B6 headers: those of a client, and of somebody else, are tolerated', async () => {
  const { server, root } = await aGovernanceServer()
  const reply = await server.send('GET', DETAILS, {
    headers: {
      ...bearer(root).headers,
      accept: v2.JSON_API_TYPE,
      'content-type': v2.JSON_API_TYPE,
      'user-agent': 'client/1.0',
      'x-custom': 'anything',
    },
  })
  assert.equal(reply.status, 200)
})
