import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const WELL = { ok: true, message: 'ok' }
const NO_LEADER = { ok: false, message: 'no leader' }

async function aServer(options: Parameters<typeof createTestServer>[0] = {}): Promise<TestServer> {
  return await createTestServer({ aclEnabled: false, ...options })
}

// Health

const HEALTH = [
  {
    name: 'a server alone',
    health: { server: WELL },
    query: '',
    status: 200,
    body: { server: WELL },
  },
  {
    name: 'both parts',
    health: { server: WELL, client: WELL },
    query: '',
    status: 200,
    body: { client: WELL, server: WELL },
  },
  {
    name: 'one part of both',
    health: { server: WELL, client: WELL },
    query: '?type=client',
    status: 200,
    body: { client: WELL },
  },
  {
    name: 'both by name',
    health: { server: WELL, client: WELL },
    query: '?type=client&type=server',
    status: 200,
    body: { client: WELL, server: WELL },
  },
  {
    name: 'a type that is empty',
    health: { server: WELL, client: WELL },
    query: '?type=',
    status: 200,
    body: { client: WELL, server: WELL },
  },
  {
    name: 'a part that is not well',
    health: { server: NO_LEADER },
    query: '',
    status: 500,
    body: { server: NO_LEADER },
  },
  {
    name: 'a part that is well beside one that is not',
    health: { server: NO_LEADER, client: WELL },
    query: '?type=client',
    status: 200,
    body: { client: WELL },
  },
  {
    name: 'a part that does not run here',
    health: { server: WELL },
    query: '?type=client',
    status: 500,
    body: { client: { ok: false, message: 'client not enabled' } },
  },
  {
    name: 'a server that does not run here',
    health: { client: WELL },
    query: '?type=server',
    status: 500,
    body: { server: { ok: false, message: 'server not enabled' } },
  },
]

for (const { name, health, query, status, body } of HEALTH)
  test(`agent health: ${name} answers ${status}`, async () => {
    const server = await aServer({ agent: { health: () => health } })
    const reply = await server.send('GET', `/v1/agent/health${query}`)
    assert.equal(reply.status, status)
    assert.deepEqual(JSON.parse(reply.text), body)
    // The refusal is JSON text under the type of every refusal.
    const type = status === 200 ? 'application/json' : 'text/plain; charset=utf-8'
    assert.equal(reply.headers['content-type'], type)
  })

for (const query of ['?type=servr', '?type=client&type=Server'])
  test(`agent health: ${query} names no part and is refused`, async () => {
    const server = await aServer({ agent: { health: () => ({ server: WELL, client: WELL }) } })
    const reply = await server.send('GET', `/v1/agent/health${query}`)
    assert.deepEqual([reply.status, reply.text], [400, 'type must be client or server'])
  })

test('agent health: answers while the storage is slow', async () => {
  const server = await aServer()
  const held = server.engine.faultInjector.blockNext()
  const writing = server.ok('registerJob', register())
  await held.started
  await server.ok('readAgentHealth')
  await server.ok('readMetrics')
  held.release()
  await writing
})

// Self, members, status

test('agent self: configuration, statistics and member under lower-case names', async () => {
  const server = await aServer({
    agent: { config: () => ({ region: 'global' }), stats: () => ({ server: { leader: 'true' } }) },
  })
  const self = await server.ok('readAgentSelf')
  assert.deepEqual(
    [self.config, self.stats, self.member.Status],
    [{ region: 'global' }, { server: { leader: 'true' } }, 'alive'],
  )
})

test('agent members: this server', async () => {
  const members = await (await aServer()).ok('listAgentMembers')
  assert.deepEqual(
    [members.ServerName, members.ServerRegion, members.ServerDC],
    ['test', 'global', 'dc1'],
  )
  assert.deepEqual(
    members.Members.map((one) => one.Name),
    ['test'],
  )
})

test('status: leader, peers and regions', async () => {
  const server = await aServer()
  assert.equal((await server.call('readLeader')).text, '"127.0.0.1:4646"')
  assert.deepEqual(await server.ok('listPeers'), ['127.0.0.1:4646'])
  assert.deepEqual(await server.ok('listRegions'), ['global'])
})

test('status: no leader is an empty text', async () => {
  const server = await aServer({ agent: { leader: () => '', peers: () => [] } })
  assert.equal((await server.call('readLeader')).text, '""')
  assert.equal((await server.call('listPeers')).text, '[]')
})

// Metrics

test('metrics: gauges of the state, and samples of requests by route', async () => {
  const server = await aServer()
  await server.ok('registerJob', register())
  await server.send('GET', '/v1/job/web')
  server.clock.advance(10_000)
  const report = await server.ok('readMetrics')
  const gauge = (name: string) => report.Gauges.find((one) => one.Name === `service_${name}`)?.Value
  assert.deepEqual([gauge('jobs'), gauge('evaluations_pending'), gauge('state_index')], [1, 1, 2])
  const routes = report.Samples.map((sample) => sample.Labels['route'])
  assert.ok(routes.includes('/v1/job/*'), 'by route, not by path')
  assert.equal(routes.includes('/v1/job/web'), false)
})

test('metrics: the text format of Prometheus', async () => {
  const server = await aServer()
  const reply = await server.send('GET', '/v1/metrics?format=prometheus')
  assert.equal(reply.status, 200)
  assert.match(String(reply.headers['content-type']), /^text\/plain; version=/)
  assert.match(reply.text, /^service_state_index 1$/m)
})

// Who may

test('agent: health, status, regions and metrics need no token, and an unknown one does no harm', async () => {
  const { server } = await aSecuredServer()
  const token = '11111111-2222-4333-8444-555555555555'
  for (const route of [
    'readAgentHealth',
    'readLeader',
    'listPeers',
    'listRegions',
    'readMetrics',
  ] as const) {
    await server.ok(route)
    await server.ok(route, { token })
  }
})

const GUARDED = [
  { route: 'readAgentSelf', kind: 'agent', other: 'node' },
  { route: 'listAgentMembers', kind: 'node', other: 'agent' },
] as const

for (const { route, kind, other } of GUARDED)
  test(`${route}: needs ${kind}:read`, async () => {
    const { server, root, as, client } = await aSecuredServer()
    for (const policy of ['read', 'write'])
      await server.ok(route, as(await client(`${kind} { policy = "${policy}" }`)))
    await server.ok(route, as(root))
    const denied = [403, 'Permission denied']
    assert.deepEqual(await server.refusal(route), denied)
    for (const rules of [
      `${other} { policy = "write" }`,
      `${kind} { policy = "deny" }`,
      'namespace "*" { policy = "write" }',
    ])
      assert.deepEqual(await server.refusal(route, as(await client(rules))), denied, rules)
  })
