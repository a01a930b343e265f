/** Every route passes every stage of the request pipeline: walked by the table of both APIs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handlingOf, v2, type Route } from '@reeve/contract'
import type { LeaderRouter, ReadConsistency, RegionRouter } from '../../src/http/index.ts'
import { LIMITS } from '../../src/model/index.ts'
import { createTestServer, LOOSE_LIMITS, type Reply, type TestServer } from './harness.ts'

const { routes } = await createTestServer()
const isGovernance = ({ path }: Route): boolean => path.startsWith('/api/v2/')

function urlOf({ path }: Route): string {
  return path.replaceAll(/:\w+/g, 'x')
}

function calls(route: Route): readonly string[] {
  return route.methods.flatMap((method) =>
    method === 'GET' && route.streams !== true ? ['GET', 'HEAD'] : [method],
  )
}

/** Calls every route by every method of it. */
async function walk(
  server: TestServer,
  check: (route: Route, reply: Reply, name: string) => void,
  { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<void> {
  for (const route of routes)
    for (const method of calls(route)) {
      const reply = await server.send(method, `${urlOf(route)}${query}`, { headers })
      check(route, reply, `${method} ${route.path}: ${reply.status} ${reply.text.slice(0, 200)}`)
    }
}

test('the routes of both APIs are walked', () => {
  assert.ok(routes.filter(isGovernance).length > 100)
  assert.ok(routes.filter((route) => !isGovernance(route)).length > 100)
})

test('prepare: every response has the shared headers and a request id', async () => {
  const server = await createTestServer({
    responseHeaders: { 'x-operator': 'yes' },
    leader: ABSENT,
  })
  await walk(server, (_route, { headers }, name) => {
    assert.equal(headers['x-operator'], 'yes', name)
    assert.equal(headers['x-content-type-options'], 'nosniff', name)
    assert.ok(headers['x-request-id'], name)
  })
})

test('admit: every route counts against the request rate of its tenant', async () => {
  const server = await createTestServer({
    limits: {
      ...LOOSE_LIMITS,
      requestsPerSecond: 0.001,
      anonymousRequestsPerSecond: 0.001,
    },
  })
  await server.send('GET', '/v1/status/leader')
  await walk(server, (_route, { status, text, headers }, name) => {
    // Many rejections in a short time are held back.
    server.clock.advance(10)
    assert.equal(status, 429, name)
    assert.ok(headers['retry-after'], name)
    if (!name.startsWith('HEAD')) assert.match(text, /limits\.anonymous_requests_per_second/, name)
  })
})

/** A cluster without a leader. */
const ABSENT: LeaderRouter = {
  route: (_request, { answeredBy }) => (answeredBy === 'self' ? 'local' : 'no-leader'),
  confirmLeadership: async () => false,
  clientAddressOf: () => undefined,
  forward: () => assert.fail('nobody leads'),
  forwardUpgrade: () => assert.fail('nobody leads'),
  isStillLeader: () => true,
  staleness: () => ({ lastContactMs: 0, knownLeader: false }),
}

test('route: the record of every route decides which server answers', async () => {
  let asked: ReadConsistency | undefined
  const leader: LeaderRouter = {
    ...ABSENT,
    route(request, consistency) {
      asked = consistency
      return ABSENT.route(request, consistency)
    },
  }
  const server = await createTestServer({ leader })
  await walk(
    server,
    (route, { status }, name) => {
      const { answeredBy: declared, audit } = handlingOf(route)
      // No server is named: the one that was asked.
      const answeredBy = declared === 'named' ? 'self' : declared
      const isRead = route.methods[0] === 'GET' || audit === 'none'
      assert.deepEqual(asked, { answeredBy, isRead, isStale: true, isConsistent: false }, name)
      assert.equal(status === 503, answeredBy !== 'self', name)
      asked = undefined
    },
    { query: '?stale' },
  )
})

test('route: a region that is not known is rejected wherever a region can be named', async () => {
  const server = await createTestServer()
  await walk(
    server,
    (route, { status, text }, name) => {
      // The answer to HEAD has no text by which the two kinds of 404 could be told apart.
      if (isGovernance(route) && text === '') return
      const isRejected = status === 404 && (text === 'No path to region' || text === '')
      assert.equal(isRejected, !isGovernance(route), name)
    },
    { query: '?region=mars' },
  )
})

test('route: what only the authoritative region writes is forwarded there, and nothing else', async () => {
  let target = ''
  const regions: RegionRouter = {
    regions: { localRegion: 'eu', authoritative: 'us', isRemote: (region) => region === 'us' },
    forwardReasonOf: () => undefined,
    forwardedBy: () => undefined,
    forward(_request, _response, { region, reason, onFailure }) {
      target = `${region} ${reason}`
      onFailure('not today')
    },
    forwardUpgrade: () => assert.fail('no route is called with an upgrade'),
  }
  const server = await createTestServer({ regions, region: 'eu' })
  await walk(server, (route, _reply, name) => {
    const { region } = handlingOf(route)
    // The body decides; of a token that is not known here too.
    if (region !== 'body')
      assert.equal(target, region === 'authoritative' ? 'us authority' : '', name)
    target = ''
  })
  await walk(
    server,
    (route, _reply, name) => {
      assert.equal(target, isGovernance(route) ? '' : 'us named', name)
      target = ''
    },
    { query: '?region=us' },
  )
})

/** Routes that are opened by a key in the path, or by the token of one phase of a run. */
function hasOwnKey({ path }: Route): boolean {
  return path.includes(':upload_key') || path.includes(':phase_id')
}

/** Routes that anyone may call; what they show depends on the caller. */
const OPEN = new Set(['bootstrapAcl', 'exchangeOneTimeToken', 'readOwnAclToken', 'ping'])

test('authenticate: no route takes a token that nobody has', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl')
  const secret = '00000000-0000-4000-8000-000000000000'
  await walk(
    server,
    (route, { status }, name) => {
      if (route.needs === 'none' || OPEN.has(route.id) || hasOwnKey(route)) return
      assert.equal(status, isGovernance(route) ? 401 : 403, name)
    },
    { headers: { 'x-service-token': secret, authorization: `Bearer ${secret}` } },
  )
})

test('body: every route with a body has a limit', async () => {
  const server = await createTestServer({ aclEnabled: true })
  const { SecretID: token } = await server.ok('bootstrapAcl')
  const authorization = `Bearer ${token}`
  for (const route of routes.filter(({ body }) => body !== undefined)) {
    const ofApi = isGovernance(route) ? v2.JSON_BODY_BYTES_MAX : LIMITS.bodyBytesMax
    const body = Buffer.alloc((route.bodyBytesMax ?? ofApi) + 1, 32)
    const [method = ''] = route.methods
    const reply = await server.send(method, urlOf(route), {
      body,
      token,
      headers: { authorization },
    })
    // Governance looks for what the path names first, which is not there.
    const isHidden = isGovernance(route) && (reply.status === 404 || hasOwnKey(route))
    assert.ok(isHidden || reply.status === 413, `${method} ${route.path}: ${reply.status}`)
  }
})

test('audit: a rejected request leaves a record where the route is audited, and only there', async () => {
  const server = await createTestServer()
  const { SecretID: root } = await server.ok('bootstrapAcl')
  const { SecretID: token } = await server.ok('createAclToken', {
    token: root,
    body: { Type: 'client', Policies: ['nothing'] },
  })
  const { audit_records: records } = server.context.store.tables
  const actions = (): ReadonlySet<string> => {
    const found = new Set<string>()
    for (const key of records.keys('')) found.add(records.find(key)?.Action ?? '')
    return found
  }
  const rejected = new Set<string>()
  for (const route of routes.filter((one) => !isGovernance(one) && !OPEN.has(one.id))) {
    const [method = ''] = route.methods
    const { status } = await server.send(method, urlOf(route), { token })
    if (status === 403) rejected.add(route.id)
    // Deferred records are written after 100 ms of the server's clock.
    server.clock.advance(1_000)
    const isAudited = handlingOf(route).audit !== 'none'
    // A session is audited when it is opened as a WebSocket.
    if (status === 403 && route.streams !== true)
      assert.equal(actions().has(route.id), isAudited, `${method} ${route.path}`)
  }
  assert.ok(rejected.size > 80, `only ${rejected.size} routes rejected the token`)
})
