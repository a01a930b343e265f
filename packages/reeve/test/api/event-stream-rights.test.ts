import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { LIMITS } from '../../src/model/index.ts'
import { putNode, register } from './cluster.ts'
import { aListening, type EventReader } from './event-reader.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const LIMIT = { timeout: 300_000 }
const DENIED = [403, 'Permission denied']
const LOST = 'subscription closed by server, client should resubscribe'

async function aSecured(t: TestContext) {
  const secured = await aSecuredServer()
  return { ...secured, ...(await aListening(t, secured.server)) }
}

// Refusals before it begins

const REFUSED = [
  {
    name: 'a text as index',
    query: 'index=x',
    text: 'Unable to parse index: "x" is not a whole number ≥ 0',
  },
  {
    name: 'a negative index',
    query: 'index=-1',
    text: 'Unable to parse index: "-1" is not a whole number ≥ 0',
  },
  {
    name: 'an index beyond numbers',
    query: 'index=99999999999999999999',
    text: 'Unable to parse index: "99999999999999999999" is not a whole number ≥ 0',
  },
  {
    name: 'a topic with two keys',
    query: 'topic=Job&topic=Job:a:b',
    text: 'Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: Job:a:b',
  },
]

for (const { name, query, text } of REFUSED)
  test(`stream: ${name} is refused`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const reply = await server.send('GET', `/v1/event/stream?${query}`)
    assert.deepEqual(
      [reply.status, reply.text, reply.headers['content-type']],
      [400, text, 'text/plain; charset=utf-8'],
    )
  })

for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
  test(`stream: ${method} is refused`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const reply = await server.send(method, '/v1/event/stream')
    assert.deepEqual([reply.status, reply.text], [405, 'Invalid method'])
  })

test('stream: HEAD is refused, because it would have no end', async () => {
  const server = await createTestServer({ aclEnabled: false })
  assert.equal((await server.send('HEAD', '/v1/event/stream')).status, 405)
})

// Rights by topic

const READ_JOB = 'namespace "default" { capabilities = ["read-job"] }'
const NODE = 'node { policy = "read" }'
const MOST =
  'namespace "*" { policy = "write" }\nnode { policy = "write" }\nagent { policy = "write" }\noperator { policy = "write" }'
const RIGHTS = [
  {
    topics: ['Job', 'Allocation', 'Evaluation', 'Deployment', 'Service'],
    rules: READ_JOB,
    may: true,
  },
  {
    topics: ['Job', 'Allocation', 'Evaluation', 'Deployment', 'Service'],
    rules: 'namespace "default" { capabilities = ["list-jobs", "submit-job"] }',
    may: false,
  },
  {
    topics: ['Job', 'Allocation', 'Evaluation', 'Deployment', 'Service'],
    rules: 'namespace "other" { policy = "write" }',
    may: false,
  },
  { topics: ['Node', 'NodeDrain'], rules: NODE, may: true },
  { topics: ['Node', 'NodeDrain'], rules: READ_JOB, may: false },
  { topics: ['Job'], rules: NODE, may: false },
  {
    topics: ['*', 'ACLToken', 'ACLPolicy', 'ACLRole', 'ACLRoles', 'NodePool', 'Nope', '*:web', ''],
    rules: MOST,
    may: false,
  },
]

for (const { topics, rules, may } of RIGHTS)
  test(
    `stream: ${topics.join(', ')} ${may ? 'are open' : 'are closed'} to ${rules.replaceAll('\n', ' ')}`,
    LIMIT,
    async (t) => {
      const { open, client } = await aSecured(t)
      const { SecretID: token } = await client(rules)
      for (const topic of topics)
        assert.equal((await open({ topics: [topic], token })).status, may ? 200 : 403, topic)
    },
  )

test('stream: management may follow everything, also what does not exist', LIMIT, async (t) => {
  const { open, root } = await aSecured(t)
  for (const topics of [[], ['*'], ['ACLToken'], ['NodePool'], ['Nope']])
    assert.equal((await open({ topics, token: root.SecretID })).status, 200, topics.join(' '))
})

test('stream: one topic too many refuses all of them', LIMIT, async (t) => {
  const { open, client } = await aSecured(t)
  const { SecretID: token } = await client(READ_JOB)
  assert.equal((await open({ topics: ['Job', 'Node'], token })).status, 403)
})

test('stream: no token, an unknown one and an expired one are refused alike', LIMIT, async (t) => {
  const { server, root, as, token } = await aSecured(t)
  const expired = await token({ Type: 'management', Policies: null, ExpirationTTL: '60s' })
  server.clock.advance(60_000)
  for (const secret of [undefined, 'nope', expired.SecretID]) {
    const reply = await server.send('GET', '/v1/event/stream', { token: secret })
    assert.deepEqual([reply.status, reply.text], DENIED)
  }
  assert.equal((await server.call('listJobs', as(root))).status, 200)
})

test('stream: who has no token has the rights of the anonymous policy', LIMIT, async (t) => {
  const { server, root, as, open } = await aSecured(t)
  assert.equal((await open({ topics: ['Job'] })).status, 403)
  await server.ok(
    'writeAclPolicy',
    as(root, {
      params: { policy_name: 'anonymous' },
      body: { Name: 'anonymous', Rules: READ_JOB },
    }),
  )
  assert.equal((await open({ topics: ['Job'] })).status, 200)
})

// Namespaces

test('stream: * needs the right in every namespace that there is', LIMIT, async (t) => {
  const { server, root, as, open, client } = await aSecured(t)
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const status = async (rules: string) =>
    (
      await open({
        topics: ['Job'],
        query: { namespace: '*' },
        token: (await client(rules)).SecretID,
      })
    ).status
  assert.equal(await status('namespace "*" { policy = "read" }'), 200)
  assert.equal(await status(READ_JOB), 403)
  assert.equal(await status(`${READ_JOB}\nnamespace "other" { policy = "read" }`), 200)
  assert.equal(
    await status('namespace "*" { policy = "read" }\nnamespace "other" { policy = "deny" }'),
    403,
  )
})

test(
  'stream: * shows nothing of a later namespace that the token may not read, and stays open',
  LIMIT,
  async (t) => {
    const { server, root, as, open, client, flush } = await aSecured(t)
    const { SecretID } = await client(READ_JOB)
    const reader = await open({ topics: ['Job'], query: { namespace: '*' }, token: SecretID })
    await server.ok('writeNamespace', as(root, { body: { Name: 'later' } }))
    await server.ok('registerJob', as(root, register({ ID: 'hidden', Namespace: 'later' })))
    await client(NODE)
    await server.ok('registerJob', as(root, register({ ID: 'shown' })))
    flush()
    assert.deepEqual(
      (await reader.take(1)).map((event) => event.Key),
      ['shown'],
    )
  },
)

test('stream: what two tokens may see is kept apart', LIMIT, async (t) => {
  const { server, root, as, open, client, flush } = await aSecured(t)
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const follow = async (rules: string, namespace: string) =>
    await open({ topics: ['Job'], query: { namespace }, token: (await client(rules)).SecretID })
  const own = await follow(READ_JOB, 'default')
  const other = await follow('namespace "other" { policy = "read" }', 'other')
  await server.ok('registerJob', as(root, register({ ID: 'a' })))
  await server.ok('registerJob', as(root, register({ ID: 'b', Namespace: 'other' })))
  flush()
  const [ownEvents, otherEvents] = [await own.take(1), await other.take(1)]
  assert.deepEqual([ownEvents[0]?.Key, otherEvents[0]?.Key], ['a', 'b'])
})

// Rights that go while it runs. The clock stands still: it ends in the turn of the commit.

interface Following {
  readonly server: TestServer
  readonly reader: EventReader
  readonly asRoot: (options: object) => object
  readonly accessor: string
}

const LOSSES: readonly {
  name: string
  reason: string
  lose: (following: Following) => Promise<unknown>
}[] = [
  {
    name: 'its token is deleted',
    reason: 'Permission denied',
    lose: ({ server, asRoot, accessor }) =>
      server.ok('deleteAclToken', asRoot({ params: { accessor_id: accessor } })),
  },
  {
    name: 'its token loses the policy',
    reason: LOST,
    lose: ({ server, asRoot, accessor }) =>
      server.ok(
        'updateAclToken',
        asRoot({
          params: { accessor_id: accessor },
          body: { AccessorID: accessor, Type: 'client', Policies: ['nothing'] },
        }),
      ),
  },
  {
    name: 'the policy is narrowed',
    reason: LOST,
    lose: ({ server, asRoot }) =>
      server.ok(
        'writeAclPolicy',
        asRoot({
          params: { policy_name: 'policy-1' },
          body: { Name: 'policy-1', Rules: 'namespace "default" { policy = "deny" }' },
        }),
      ),
  },
  {
    name: 'the policy is deleted',
    reason: LOST,
    lose: ({ server, asRoot }) =>
      server.ok('deleteAclPolicy', asRoot({ params: { policy_name: 'policy-1' } })),
  },
]

for (const { name, reason, lose } of LOSSES)
  test(`stream: ends when ${name}`, LIMIT, async (t) => {
    const { server, root, as, open, client } = await aSecured(t)
    const token = await client(READ_JOB)
    const reader = await open({ topics: ['Job'], token: token.SecretID })
    await lose({
      server,
      reader,
      asRoot: (options) => as(root, options),
      accessor: token.AccessorID,
    })
    assert.equal(await reader.closed(), reason)
    assert.equal(
      (await server.send('GET', '/v1/event/stream?topic=Job', { token: token.SecretID })).status,
      403,
    )
  })

test('stream: ends when a role of its token is deleted', LIMIT, async (t) => {
  const { server, root, as, open, client, token } = await aSecured(t)
  await client(READ_JOB)
  const role = await server.ok(
    'createAclRole',
    as(root, { body: { Name: 'r', Policies: [{ Name: 'policy-1' }] } }),
  )
  const made = await token({ Policies: null, Roles: [{ ID: role.ID }] })
  const reader = await open({ topics: ['Job'], token: made.SecretID })
  assert.equal(reader.status, 200)
  await server.ok('deleteAclRole', as(root, { params: { role_id: role.ID } }))
  assert.equal(await reader.closed(), LOST)
})

test('stream: ends when its token expires', LIMIT, async (t) => {
  const { server, open, token } = await aSecured(t)
  const made = await token({ Type: 'management', Policies: null, ExpirationTTL: '60s' })
  const reader = await open({ token: made.SecretID })
  server.clock.advance(59_999)
  await reader.heartbeats(2)
  server.clock.advance(1)
  assert.equal(await reader.closed(), 'ACL token expired')
})

test('stream: ends for who has no token when the anonymous policy goes', LIMIT, async (t) => {
  const { server, root, as, open } = await aSecured(t)
  const params = { policy_name: 'anonymous' }
  await server.ok(
    'writeAclPolicy',
    as(root, { params, body: { Name: 'anonymous', Rules: READ_JOB } }),
  )
  const reader = await open({ topics: ['Job'] })
  await server.ok('deleteAclPolicy', as(root, { params }))
  assert.equal(await reader.closed(), LOST)
})

test('stream: a change that leaves it its rights leaves it open', LIMIT, async (t) => {
  const { server, root, as, open, client, token, flush } = await aSecured(t)
  const made = await client(READ_JOB)
  const reader = await open({ topics: ['Job'], token: made.SecretID })
  await token()
  const wider = { Name: 'policy-1', Rules: `${READ_JOB}\n${NODE}` }
  await server.ok('writeAclPolicy', as(root, { params: { policy_name: 'policy-1' }, body: wider }))
  await server.ok('registerJob', as(root, register()))
  flush()
  await reader.take(1)
})

test('stream: the last line says where to resume, and nothing is lost there', LIMIT, async (t) => {
  const { server, root, as, open, token, flush } = await aSecured(t)
  const made = await token({ Type: 'management', Policies: null })
  const reader = await open({ topics: ['Job', 'Node'], token: made.SecretID })
  await server.ok('registerJob', as(root, register({ ID: 'a' })))
  flush()
  await reader.take(1)
  const late = server.call('registerJob', as(root, register({ ID: 'b' })))
  await server.ok('deleteAclToken', as(root, { params: { accessor_id: made.AccessorID } }))
  await late
  await reader.closed()
  const index = reader.lines.at(-1)?.Index ?? assert.fail()
  const seen = reader.events().map((event) => event.Key)
  const again = await open({
    topics: ['Job', 'Node'],
    query: { index: index + 1 },
    token: root.SecretID,
  })
  await putNode(server)
  flush()
  await again.line((line) => line.Events?.some((event) => event.Topic === 'Node') === true)
  assert.deepEqual([...seen, ...again.events().map((event) => event.Key)].slice(0, 2), ['a', 'b'])
  assert.equal(seen.length + again.events().length, 3)
})

// How many

test(`stream: a token may have ${LIMITS.eventStreamsPerToken} of them`, LIMIT, async (t) => {
  const { server, root, open, client } = await aSecured(t)
  const { SecretID: token } = await client(READ_JOB)
  const readers: EventReader[] = []
  for (let i = 0; i < LIMITS.eventStreamsPerToken; i++)
    readers.push(await open({ topics: ['Job'], token }))
  const refused = await server.send('GET', '/v1/event/stream?topic=Job', { token })
  assert.deepEqual(
    [refused.status, refused.text],
    [
      429,
      '64 event streams of this token are open (limits.event_streams_per_token); close one first',
    ],
  )
  assert.equal((await open({ token: root.SecretID })).status, 200, 'another token is not concerned')
  readers[0]?.leave()
  await untilReaders(server, LIMITS.eventStreamsPerToken)
  assert.equal((await open({ topics: ['Job'], token })).status, 200)
})

test('stream: a reader that goes leaves nothing behind', LIMIT, async (t) => {
  const { server, open, root } = await aSecured(t)
  const readers = [
    await open({ token: root.SecretID }),
    await open({ topics: ['Job'], token: root.SecretID }),
    await open({ query: { index: 99 }, token: root.SecretID }),
  ]
  await untilReaders(server, 3)
  for (const reader of readers) reader.leave()
  await untilReaders(server, 0)
})

async function untilReaders(server: TestServer, count: number): Promise<void> {
  for (;;) {
    const { Gauges } = await server.ok('readMetrics')
    if (Gauges.find((gauge) => gauge.Name === 'service_event_streams')?.Value === count) return
    // A call in memory does not let connections be heard.
    await setImmediate()
  }
}
