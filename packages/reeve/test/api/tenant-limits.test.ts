import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../build/until.ts'
import { createTestServer, parkedQueries, type TestServer } from './harness.ts'

const LIMITS = {
  requestsPerSecond: 5,
  anonymousRequestsPerSecond: 3,
  blockingQueriesPerToken: 2,
  eventStreamsPerToken: 2,
  execSessionsPerToken: 2,
  logStreamsPerToken: 2,
  connectionsMax: 1_000,
}

interface World {
  readonly server: TestServer
  /** Two tokens that may read jobs. */
  readonly tokens: readonly [string, string]
}

async function aLimitedServer(t: TestContext): Promise<World> {
  const server = await createTestServer({ limits: LIMITS })
  t.after(() => server.close())
  const { SecretID: root } = await server.ok('bootstrapAcl')
  const params = { policy_name: 'reader' }
  const Rules = 'namespace "default" { policy = "read" }'
  await server.ok('writeAclPolicy', { token: root, params, body: { Name: 'reader', Rules } })
  const create = async (): Promise<string> => {
    const body = { Name: 'client', Type: 'client', Policies: ['reader'] }
    return (await server.ok('createAclToken', { token: root, body })).SecretID
  }
  const tokens = [await create(), await create()] as const
  server.clock.advance(1_000)
  return { server, tokens }
}

async function statuses(server: TestServer, count: number, token?: string): Promise<number[]> {
  const replies: number[] = []
  for (let at = 0; at < count; at++)
    replies.push((await server.send('GET', '/v1/status/leader', { token })).status)
  return replies
}

test('tenant limits: a token has its rate, and one request more is 429', async (t) => {
  const { server, tokens } = await aLimitedServer(t)
  assert.deepEqual(await statuses(server, 5, tokens[0]), [200, 200, 200, 200, 200])
  const reply = await server.send('GET', '/v1/jobs', { token: tokens[0] })
  assert.equal(reply.status, 429)
  assert.match(reply.text, /more than 5 requests in a second .*limits\.requests_per_second/)
  assert.equal(reply.headers['retry-after'], '1')
  assert.deepEqual(await statuses(server, 1, tokens[1]), [200], 'another token is not concerned')
  server.clock.advance(1_000)
  assert.deepEqual(await statuses(server, 1, tokens[0]), [200])
})

test('tenant limits: addresses without a valid token have a rate of their own', async (t) => {
  const { server, tokens } = await aLimitedServer(t)
  assert.deepEqual(await statuses(server, 3), [200, 200, 200])
  const guessed = await server.send('GET', '/v1/jobs', { token: 'guessed' })
  assert.equal(guessed.status, 429)
  assert.match(guessed.text, /limits\.anonymous_requests_per_second/)
  assert.deepEqual(await statuses(server, 1, tokens[0]), [200])
})

test('tenant limits: on /api/v2 the same refusal is a JSON:API error', async (t) => {
  const { server } = await aLimitedServer(t)
  await statuses(server, 3)
  const reply = await server.send('GET', '/api/v2/organizations')
  assert.equal(reply.status, 429)
  assert.match(reply.text, /"errors"/)
})

test('tenant limits: as many blocking queries of a token wait as may, and none more', async (t) => {
  const { server, tokens } = await aLimitedServer(t)
  const ask = (token: string) => server.send('GET', '/v1/jobs?index=99999', { token })
  const waiting = [ask(tokens[0]), ask(tokens[0])]
  await until('two parked queries', () => (parkedQueries() === 2 ? true : undefined))
  const refused = await ask(tokens[0])
  assert.equal(refused.status, 429)
  assert.match(refused.text, /2 blocking queries .*limits\.blocking_queries_per_token/)
  assert.equal(refused.headers['retry-after'], '1')
  const other = ask(tokens[1])
  await until('the query of another token', () => (parkedQueries() === 3 ? true : undefined))
  server.clock.advance(3_600_000)
  for (const reply of await Promise.all([...waiting, other])) assert.equal(reply.status, 200)
})
