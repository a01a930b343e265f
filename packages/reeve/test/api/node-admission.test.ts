import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TokenExpiryLoop } from '../../src/control/index.ts'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { DEFAULT_NODE_ADMISSION } from '../../src/workload/index.ts'
import { atEnd } from '../build/at-end.ts'
import { anId } from '../build/index.ts'
import { aHello, aNodePeer, type HelloFields, type NodePeer } from '../build/node-peer.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const A = anId('node', 1)
const B = anId('node', 2)
const SECRET_B = anId('any', 2)
const MINUTE_MS = 60_000

type ServerOptions = NonNullable<Parameters<typeof createTestServer>[0]>

interface World {
  readonly server: TestServer
  readonly connect: (hello?: HelloFields) => Promise<NodePeer>
  /** The kind of the first answer to a hello, with the text of a refusal. */
  readonly greet: (hello?: HelloFields) => Promise<readonly [string, string]>
}

async function aWorld(t: TestContext, options: ServerOptions = {}): Promise<World> {
  const server = await createTestServer({ aclEnabled: false, ...options })
  atEnd(t, () => server.close())
  const address = await server.listen()
  const connect = (hello?: HelloFields): Promise<NodePeer> => aNodePeer(t, address, hello)
  return {
    server,
    connect,
    async greet(hello) {
      const peer = await connect(hello)
      const first = await peer.first()
      if (first.kind === 'welcome') peer.socket.terminate()
      return [first.kind, first.kind === 'refuse' ? first.message : '']
    },
  }
}

async function aToken({ server }: World, body: object = {}): Promise<string> {
  return (await server.ok('createNodeJoinToken', { body })).SecretID
}

// Join tokens

test('join token: it admits one node, once; then the own secret of the node is enough', async (t) => {
  const world = await aWorld(t)
  const joinToken = await aToken(world)
  assert.deepEqual(await world.greet({ joinToken }), ['welcome', ''])
  const [kind, text] = await world.greet({ node: { ID: B }, secret: SECRET_B, joinToken })
  assert.equal(kind, 'refuse')
  assert.match(text, /^this node is unknown and its join token was used before/)
  assert.deepEqual(await world.greet(), ['welcome', ''])
  assert.deepEqual(
    [...world.server.context.store.tables.nodes.rows()].map(({ ID }) => ID),
    [A],
  )
})

test('join token: of two nodes that show it at the same moment one is admitted', async (t) => {
  const world = await aWorld(t)
  const joinToken = await aToken(world)
  const answers = await Promise.all([
    world.greet({ joinToken }),
    world.greet({ node: { ID: B }, secret: SECRET_B, joinToken }),
  ])
  assert.deepEqual(answers.map(([kind]) => kind).toSorted(), ['refuse', 'welcome'])
  assert.equal(world.server.context.store.tables.nodes.size, 1)
})

test('join token: its secret is shown once and not stored, and the list says who used it', async (t) => {
  const world = await aWorld(t)
  const created = await world.server.ok('createNodeJoinToken', {
    body: { TTL: '10m', NodePool: 'gpu' },
  })
  const { SecretID, ...stub } = created
  assert.equal(stub.ExpiresAt, '2026-01-01T00:10:00.000Z')
  assert.deepEqual(await world.server.ok('listNodeJoinTokens'), [stub])
  const rows = [...world.server.context.store.tables.node_join_tokens.rows()]
  assert.ok(!JSON.stringify(rows).includes(SecretID))
  await world.greet({ joinToken: SecretID, node: { NodePool: 'gpu' } })
  const [used] = await world.server.ok('listNodeJoinTokens')
  assert.deepEqual([used?.UsedBy, used?.UsedAt], [A, '2026-01-01T00:00:00.000Z'])
})

test('join token: a used one stays used after a restart', async (t) => {
  const disk = new MemoryDisk()
  const first = await createTestServer({ aclEnabled: false, disk })
  const address = await first.listen()
  const { SecretID: joinToken } = await first.ok('createNodeJoinToken', { body: {} })
  await (await aNodePeer(t, address, { joinToken })).next('welcome')
  await first.close()
  const world = await aWorld(t, { disk })
  const [kind] = await world.greet({ node: { ID: B }, secret: SECRET_B, joinToken })
  assert.equal(kind, 'refuse')
  assert.deepEqual(await world.greet(), ['welcome', ''])
})

const demands = [
  { name: 'any pool and name', body: {}, node: { NodePool: 'gpu', Name: 'x' } },
  { name: 'its own pool', body: { NodePool: 'gpu' }, node: { NodePool: 'gpu' } },
  {
    name: 'another pool',
    body: { NodePool: 'gpu' },
    node: { NodePool: 'default' },
    says: /is for pool "gpu": set client.node_pool to it$/,
  },
  { name: 'its own name', body: { NodeName: 'web-1' }, node: { Name: 'web-1' } },
  {
    name: 'another name',
    body: { NodeName: 'web-1' },
    node: { Name: 'web-2' },
    says: /is for the name "web-1": set name to it$/,
  },
]
for (const { name, body, node, says } of demands)
  test(`join token: a node with ${name} is ${says === undefined ? 'admitted' : 'refused'}`, async (t) => {
    const world = await aWorld(t)
    const joinToken = await aToken(world, body)
    const [kind, text] = await world.greet({ joinToken, node })
    assert.equal(kind, says === undefined ? 'welcome' : 'refuse')
    assert.match(text, says ?? /^$/)
    const [token] = await world.server.ok('listNodeJoinTokens')
    assert.equal(token?.UsedBy, says === undefined ? A : '', 'a refused node does not use it up')
  })

test('join token: its pool holds for later registrations of the node', async (t) => {
  const world = await aWorld(t)
  const joinToken = await aToken(world, { NodePool: 'gpu' })
  await world.greet({ joinToken, node: { NodePool: 'gpu' } })
  const [kind, text] = await world.greet({ node: { NodePool: 'prod' } })
  assert.deepEqual([kind, /is for pool "gpu"/.test(text)], ['refuse', true])
  const peer = await world.connect({ node: { NodePool: 'gpu' } })
  await peer.next('welcome')
  peer.say({ kind: 'node', node: aHello({ node: { NodePool: 'prod' } }).node })
  assert.match((await peer.closed()).text, /is for pool "gpu"/)
})

test('join token: an expired one admits nobody, is not listed, and is collected', async (t) => {
  const world = await aWorld(t)
  const { server } = world
  const joinToken = await aToken(world, { TTL: '1m' })
  server.clock.advance(MINUTE_MS - 1)
  assert.equal((await server.ok('listNodeJoinTokens')).length, 1)
  server.clock.advance(1)
  const [, text] = await world.greet({ joinToken })
  assert.match(text, /its join token has expired/)
  assert.deepEqual(await server.ok('listNodeJoinTokens'), [])
  new TokenExpiryLoop({ ...server.context, log: SILENT, checkClock: () => undefined }).runOnce()
  assert.equal(server.context.store.tables.node_join_tokens.size, 0)
})

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

test('join token: a revoked one admits nobody; the node that used it stays', async (t) => {
  const world = await aWorld(t)
  const { server } = world
  const used = await server.ok('createNodeJoinToken', { body: {} })
  const unused = await server.ok('createNodeJoinToken', { body: {} })
  await world.greet({ joinToken: used.SecretID })
  for (const { ID } of [used, unused])
    await server.ok('deleteNodeJoinToken', { params: { token_id: ID } })
  const other = { node: { ID: B }, secret: SECRET_B, joinToken: unused.SecretID }
  assert.match((await world.greet(other))[1], /its join token is not valid/)
  assert.deepEqual(await world.greet(), ['welcome', ''])
  const missing = { params: { token_id: unused.ID } }
  assert.deepEqual(await server.refusal('deleteNodeJoinToken', missing), [
    404,
    'join token not found',
  ])
})

const badTokens = [
  { body: { TTL: '59s' }, says: 'TTL must be a duration from 1m to 24h, such as "30m"' },
  { body: { TTL: '1m' } },
  { body: { TTL: '24h' } },
  { body: { TTL: '24h1s' }, says: 'TTL must be a duration from 1m to 24h, such as "30m"' },
  { body: { TTL: 'soon' }, says: 'TTL must be a duration from 1m to 24h, such as "30m"' },
  {
    body: { NodePool: 'all' },
    says: 'NodePool is no valid name of a pool, or "all", which no node is in',
  },
  {
    body: { NodeName: 'a b' },
    says: 'NodeName is no valid name of a node: letters, digits, ".", "_" and "-"',
  },
]
for (const { body, says } of badTokens)
  test(`join token: ${JSON.stringify(body)} is ${says === undefined ? 'created' : 'refused'}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const { status, text } = await server.call('createNodeJoinToken', { body })
    assert.deepEqual([status, says === undefined ? '' : text], [says ? 400 : 200, says ?? ''])
    await server.close()
  })

test('join token: there are at most so many at once', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const {
    ID: _id,
    SecretID: _secret,
    ...row
  } = await server.ok('createNodeJoinToken', {
    body: {},
  })
  const rows = Array.from({ length: LIMITS.joinTokensMax - 2 }, (_, i) =>
    put('node_join_tokens', { ...row, ID: anId('any', i + 1), SecretHash: String(i) }),
  )
  await server.context.store.commit({ by: 'system', cause: undefined, changes: () => rows }).durable
  await server.ok('createNodeJoinToken', { body: {} })
  assert.deepEqual(await server.refusal('createNodeJoinToken', { body: {} }), [
    429,
    `there are ${LIMITS.joinTokensMax} join tokens that have not expired: revoke some of them`,
  ])
  await server.close()
})

// The shared token

test('shared join token: after a rotation the new one admits nodes, also after a restart', async (t) => {
  const disk = new MemoryDisk()
  const first = await createTestServer({ aclEnabled: false, disk })
  const { SecretID: joinToken, IsEnabled } = await first.ok('rotateSharedJoinToken', { body: {} })
  assert.equal(IsEnabled, true)
  await first.close()
  const world = await aWorld(t, { disk })
  assert.match((await world.greet({ joinToken: 'join' }))[1], /its join token is not valid/)
  assert.deepEqual(await world.greet({ joinToken }), ['welcome', ''])
})

test('shared join token: it can be given, which is the way back to the configured one', async (t) => {
  const world = await aWorld(t)
  const given = 'a token of sixteen or more'
  await world.server.ok('rotateSharedJoinToken', { body: { SecretID: given } })
  assert.deepEqual(await world.greet({ joinToken: given }), ['welcome', ''])
  const text = 'SecretID must be text of 16 to 1024 characters'
  for (const SecretID of ['x'.repeat(15), 'x'.repeat(1_025)])
    assert.deepEqual(await world.server.refusal('rotateSharedJoinToken', { body: { SecretID } }), [
      400,
      text,
    ])
  for (const SecretID of ['x'.repeat(16), 'x'.repeat(1_024)])
    await world.server.ok('rotateSharedJoinToken', { body: { SecretID } })
})

test('shared join token: where it is turned off only a token of its own admits a node', async (t) => {
  const nodeAdmission = { ...DEFAULT_NODE_ADMISSION, allowsSharedToken: false }
  const world = await aWorld(t, { nodeAdmission })
  const [kind, text] = await world.greet({ joinToken: 'join' })
  assert.equal(kind, 'refuse')
  assert.match(text, /the shared join token is turned off \(server.shared_join_token\)/)
  const { IsEnabled } = await world.server.ok('rotateSharedJoinToken', { body: {} })
  assert.equal(IsEnabled, false)
  assert.deepEqual(await world.greet({ joinToken: await aToken(world) }), ['welcome', ''])
})

test('shared join token: rotating it needs management, not node:write', async () => {
  const { server, as, client, root } = await aSecuredServer()
  const operator = await client('node { policy = "write" }\noperator { policy = "write" }')
  const call: CallOptions = { body: {} }
  assert.deepEqual(await server.refusal('rotateSharedJoinToken', as(operator, call)), [
    403,
    'Permission denied',
  ])
  await server.ok('rotateSharedJoinToken', as(root, call))
  await server.close()
})

const lesser = [
  { route: 'createNodeJoinToken', call: { body: {} } },
  { route: 'deleteNodeJoinToken', call: { params: { token_id: A } } },
  { route: 'revokeNode', call: { params: { node_id: A }, body: {} } },
  { route: 'unrevokeNode', call: { params: { node_id: A } } },
  { route: 'rotateNodeSecret', call: { params: { node_id: A } } },
] as const
for (const { route, call } of lesser)
  test(`${route}: node:read is not enough, nor is write on node pools`, async () => {
    const { server, as, client } = await aSecuredServer()
    for (const rules of ['node { policy = "read" }', 'node_pool "*" { policy = "write" }'])
      assert.deepEqual(await server.refusal(route, as(await client(rules), call)), [
        403,
        'Permission denied',
      ])
    await server.close()
  })

// How many

test('new nodes: one address adds so many a minute, and then some each second', async (t) => {
  const max = 3
  const nodeAdmission = { ...DEFAULT_NODE_ADMISSION, newNodesPerAddressMax: max }
  const world = await aWorld(t, { nodeAdmission })
  const join = (n: number): Promise<readonly [string, string]> =>
    world.greet({ node: { ID: anId('node', n) }, secret: anId('any', n), joinToken: 'join' })
  for (let n = 1; n <= max; n++) assert.deepEqual(await join(n), ['welcome', ''])
  const [kind, text] = await join(max + 1)
  assert.equal(kind, 'refuse')
  assert.match(text, /^more than 3 new nodes a minute came from .*127.0.0.1 \(server.max_new_/)
  assert.deepEqual(await join(1), ['welcome', ''], 'a known node does not count')
  world.server.clock.advance(MINUTE_MS / max)
  assert.deepEqual(await join(max + 1), ['welcome', ''])
})

test('new nodes: a server adds so many a minute, and 0 is any number', async (t) => {
  const join = (world: World, n: number): Promise<readonly [string, string]> =>
    world.greet({ node: { ID: anId('node', n) }, secret: anId('any', n), joinToken: 'join' })
  const limits = { newNodesPerMinuteMax: 1, newNodesPerAddressMax: 0 }
  const few = await aWorld(t, { nodeAdmission: { ...DEFAULT_NODE_ADMISSION, ...limits } })
  await join(few, 1)
  assert.match(
    (await join(few, 2))[1],
    /^this server admits 1 new nodes a minute \(server.max_new_/,
  )
  const any = { newNodesPerMinuteMax: 0, newNodesPerAddressMax: 0 }
  const many = await aWorld(t, { nodeAdmission: { ...DEFAULT_NODE_ADMISSION, ...any } })
  for (let n = 1; n <= 5; n++) assert.deepEqual(await join(many, n), ['welcome', ''])
})

test('new nodes: a name that another node has is pointed out', async (t) => {
  const world = await aWorld(t)
  await world.greet({ joinToken: 'join' })
  await world.greet({ node: { ID: B }, secret: SECRET_B, joinToken: 'join' })
  const { Events } = await world.server.ok('readNode', { params: { node_id: B } })
  assert.equal(Events.at(-1)?.Message, `Node has the same name as node ${A}`)
})
