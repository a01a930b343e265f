import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../src/state/index.ts'
import { registerNode } from '../../src/workload/index.ts'
import { aJob, anId, aNode } from '../build/index.ts'
import { putNode, register } from './cluster.ts'
import { createTestServer, untilParked, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const NOT_FOUND = [404, 'node pool not found']
const UNKNOWN = anId('node', 1)

async function aServer() {
  return await createTestServer({ aclEnabled: false })
}

function ofPool(name: string, body?: unknown, query = {}): CallOptions {
  return { params: { pool_name: name }, query, ...(body === undefined ? {} : { body }) }
}

async function names(server: TestServer, query = {}) {
  return (await server.ok('listNodePools', { query })).map((pool) => pool.Name)
}

// Reading

test('node pools: two are there from the start', async () => {
  const server = await aServer()
  const pools = await server.ok('listNodePools')
  assert.deepEqual(
    pools.map((pool) => [pool.Name, pool.Description]),
    [
      ['all', 'Node pool with all nodes in the cluster'],
      ['default', 'Default node pool'],
    ],
  )
})

test('node pools: listed by name, by prefix, page by page, filtered', async () => {
  const server = await aServer()
  for (const Name of ['gpu-b', 'gpu-a', 'edge'])
    await server.ok('writeNodePool', { body: { Name, Meta: { size: Name } } })
  assert.deepEqual(await names(server), ['all', 'default', 'edge', 'gpu-a', 'gpu-b'])
  assert.deepEqual(await names(server, { prefix: 'gpu' }), ['gpu-a', 'gpu-b'])
  assert.deepEqual(await names(server, { filter: 'Meta["size"] == "edge"' }), ['edge'])
  const page = await server.call('listNodePools', { query: { per_page: 2 } })
  assert.equal(page.nextToken, 'edge')
  assert.deepEqual(await names(server, { per_page: 2, next_token: 'edge' }), ['edge', 'gpu-a'])
  assert.deepEqual(await names(server, { reverse: true, per_page: 1 }), ['gpu-b'])
})

test('node pool: an unknown one is not found, and may be waited for', async () => {
  const server = await aServer()
  assert.deepEqual(await server.refusal('readNodePool', ofPool('gpu')), NOT_FOUND)
  const { index } = await server.call('readNodePool', ofPool('gpu'))
  const waiting = server.ok('readNodePool', ofPool('gpu', undefined, { index }))
  await untilParked()
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  assert.equal((await waiting).Name, 'gpu')
})

// Writing

test('node pool: written in full, and read back', async () => {
  const server = await aServer()
  const SchedulerConfiguration = {
    SchedulerAlgorithm: 'spread',
    MemoryOversubscriptionEnabled: true,
  }
  const body = { Description: 'cards', Meta: { team: 'ml' }, SchedulerConfiguration }
  const { index } = await server.call('writeNodePoolByName', ofPool('gpu_1', body))
  const pool = await server.ok('readNodePool', ofPool('gpu_1'))
  assert.match(pool.Hash, /^[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(pool, {
    Name: 'gpu_1',
    ...body,
    Hash: pool.Hash,
    CreateIndex: index,
    ModifyIndex: index,
  })
  await server.ok('writeNodePoolByName', ofPool('gpu_1', { Name: 'gpu_1' }))
  const next = await server.ok('readNodePool', ofPool('gpu_1'))
  assert.deepEqual(
    [next.Description, next.Meta, next.SchedulerConfiguration, next.CreateIndex],
    ['', null, null, index],
  )
  assert.notEqual(next.Hash, pool.Hash)
})

const long = 'x'.repeat(257)
for (const { name, call, text } of [
  { name: 'no body', call: {}, text: 'Request body is empty' },
  {
    name: 'no name',
    call: { body: {} },
    text: 'invalid node pool "": 1 error occurred:\n\t* invalid name "", must match regex ^[a-zA-Z0-9-_]{1,128}$\n\n',
  },
  {
    name: 'a name with a dot',
    call: { body: { Name: 'a.b' } },
    text: 'invalid node pool "a.b": 1 error occurred:\n\t* invalid name "a.b", must match regex ^[a-zA-Z0-9-_]{1,128}$\n\n',
  },
  {
    name: 'a long description and an unknown algorithm',
    call: {
      body: {
        Name: 'a',
        Description: long,
        SchedulerConfiguration: { SchedulerAlgorithm: 'best' },
      },
    },
    text: 'invalid node pool "a": 2 errors occurred:\n\t* description longer than 256\n\t* invalid scheduler algorithm: best\n\n',
  },
  {
    name: 'the pool of all nodes',
    call: { body: { Name: 'all' } },
    text: 'modifying node pool "all" is not allowed',
  },
  {
    name: 'the default pool',
    call: { body: { Name: 'default' } },
    text: 'modifying node pool "default" is not allowed',
  },
])
  test(`node pool: a write with ${name} is refused`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal('writeNodePool', call), [400, text])
    assert.deepEqual(await names(server), ['all', 'default'])
  })

test('node pool: a name other than that in the path is refused', async () => {
  const server = await aServer()
  assert.deepEqual(await server.refusal('writeNodePoolByName', ofPool('a', { Name: 'b' })), [
    400,
    'Node pool name does not match request path',
  ])
})

// Deleting

test('node pool: deleted when nothing uses it', async () => {
  const server = await aServer()
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  await server.ok('deleteNodePool', ofPool('gpu'))
  assert.deepEqual(await server.refusal('deleteNodePool', ofPool('gpu')), NOT_FOUND)
  for (const name of ['all', 'default'])
    assert.deepEqual(await server.refusal('deleteNodePool', ofPool(name)), [
      400,
      `deleting node pool "${name}" is not allowed`,
    ])
})

test('node pool: kept while it has nodes or live jobs', async () => {
  const server = await aServer()
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  await putNode(server, { NodePool: 'gpu' })
  await server.ok('registerJob', register({ NodePool: 'gpu' }))
  assert.deepEqual(await server.refusal('deleteNodePool', ofPool('gpu')), [
    409,
    '2 errors occurred:\n\t* node pool "gpu" has nodes in regions: [global]\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n\n',
  ])
  await server.ok('purgeNode', { params: { node_id: UNKNOWN } })
  assert.deepEqual(await server.refusal('deleteNodePool', ofPool('gpu')), [
    409,
    '1 error occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n\n',
  ])
})

// What is in a pool

test('node pool nodes: its own, of `all` every one', async () => {
  const server = await aServer()
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  for (const [i, NodePool] of ['gpu', 'default', 'gpu'].entries())
    await putNode(server, { ID: anId('node', i + 1), Name: `node-${i + 1}`, NodePool })
  const nodes = async (pool: string, query = {}) =>
    (await server.ok('listNodePoolNodes', ofPool(pool, undefined, query))).map((one) => one.Name)
  assert.deepEqual(await nodes('gpu'), ['node-1', 'node-3'])
  assert.deepEqual(await nodes('all'), ['node-1', 'node-2', 'node-3'])
  assert.deepEqual(await nodes('gpu', { per_page: 1, next_token: anId('node', 2) }), ['node-3'])
  assert.deepEqual(await nodes('gpu', { filter: 'Name == "node-1"' }), ['node-1'])
  assert.deepEqual(await nodes('gpu', { reverse: true }), ['node-3', 'node-1'])
})

test('node pool jobs: those that name it, in one namespace or all', async () => {
  const server = await aServer()
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  const jobs = [
    aJob({ ID: 'a', NodePool: 'gpu' }),
    aJob({ ID: 'b', NodePool: 'default' }),
    aJob({ ID: 'c', NodePool: 'gpu', Namespace: 'other' }),
    aJob({ ID: 'd', NodePool: 'all' }),
  ]
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => jobs.map((job) => put('jobs', job)),
  })
  const ids = async (pool: string, query = {}) =>
    (await server.ok('listNodePoolJobs', ofPool(pool, undefined, query))).map((job) => job.ID)
  assert.deepEqual(await ids('gpu'), ['a'])
  assert.deepEqual(await ids('gpu', { namespace: '*' }), ['a', 'c'])
  assert.deepEqual(await ids('gpu', { namespace: '*', per_page: 1, next_token: 'other.c' }), ['c'])
  assert.deepEqual(await ids('all', { namespace: '*' }), ['d'])
})

for (const route of ['listNodePoolNodes', 'listNodePoolJobs'] as const)
  test(`${route}: an unknown pool is not found, a prefix is refused`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal(route, ofPool('gpu')), NOT_FOUND)
    assert.deepEqual(await server.refusal(route, ofPool('default', undefined, { prefix: 'a' })), [
      400,
      'prefix argument not allowed',
    ])
    assert.deepEqual(await server.ok(route, ofPool('default', undefined, { prefix: '' })), [])
  })

test('node pool: a node that names one that is not there makes it', async () => {
  const server = await aServer()
  const registered = await registerNode(server.context, {
    kind: 'hello',
    version: 1,
    node: aNode({ NodePool: 'gpu' }),
    secret: anId('any', 1),
    joinToken: 'join',
  })
  assert.ok(registered.ok)
  const pool = await server.ok('readNodePool', ofPool('gpu'))
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  assert.equal((await server.ok('readNodePool', ofPool('gpu'))).Hash, pool.Hash)
})

// Who may

test('node pools: a token sees those that it may read', async () => {
  const { server, as, client, root } = await aSecuredServer()
  for (const Name of ['gpu-a', 'gpu-b', 'edge'])
    await server.ok('writeNodePool', as(root, { body: { Name } }))
  const seen = async (rules: string) =>
    (await server.ok('listNodePools', as(await client(rules)))).map((pool) => pool.Name)
  assert.deepEqual(await seen('node_pool "gpu-*" { policy = "read" }'), ['gpu-a', 'gpu-b'])
  assert.deepEqual(await seen('node { policy = "write" }'), [])
  assert.deepEqual(await server.ok('listNodePools'), [])
})

const rights = [
  { route: 'readNodePool', enough: 'policy = "read"', missing: 'capabilities = ["write"]' },
  { route: 'writeNodePoolByName', enough: 'capabilities = ["write"]', missing: 'policy = "read"' },
  { route: 'deleteNodePool', enough: 'capabilities = ["delete"]', missing: 'policy = "read"' },
] as const
for (const { route, enough, missing } of rights)
  test(`${route}: needs its own capability on this pool`, async () => {
    const { server, as, client, root } = await aSecuredServer()
    await server.ok('writeNodePool', as(root, { body: { Name: 'gpu' } }))
    const call = ofPool('gpu', route === 'writeNodePoolByName' ? {} : undefined)
    for (const rules of [`node_pool "gpu" { ${missing} }`, `node_pool "edge" { ${enough} }`])
      assert.deepEqual(await server.refusal(route, as(await client(rules), call)), DENIED, rules)
    await server.ok(route, as(await client(`node_pool "gpu" { ${enough} }`), call))
  })

test('node pool: a body that names another pool than the token may write is refused', async () => {
  const { server, as, client } = await aSecuredServer()
  const token = await client('node_pool "gpu" { policy = "write" }')
  await server.ok('writeNodePool', as(token, { body: { Name: 'gpu' } }))
  assert.deepEqual(
    await server.refusal('writeNodePool', as(token, { body: { Name: 'edge' } })),
    DENIED,
  )
})

// What namespaces allow

test('register: a job names a pool that exists', async () => {
  const server = await aServer()
  assert.deepEqual(await server.refusal('registerJob', register({ NodePool: 'gpu' })), [
    400,
    'job "web" is in nonexistent node pool "gpu"',
  ])
})

const rules = [
  {
    name: 'a pool that it does not allow',
    namespace: { NodePoolConfiguration: { Allowed: ['edge-*'] } },
    text: 'node pool "default" is not allowed in namespace "tight"',
  },
  {
    name: 'a pool that it denies',
    namespace: { NodePoolConfiguration: { Denied: ['def*'] } },
    text: 'node pool "default" is not allowed in namespace "tight"',
  },
  {
    name: 'a driver that it does not enable',
    namespace: { Capabilities: { EnabledTaskDrivers: ['docker'] } },
    text: 'used task driver "raw_exec" is not allowed in namespace "tight"',
  },
  {
    name: 'a driver that it disables',
    namespace: { Capabilities: { DisabledTaskDrivers: ['raw_exec'] } },
    text: 'used task driver "raw_exec" is not allowed in namespace "tight"',
  },
]
for (const { name, namespace, text } of rules)
  test(`register: a namespace refuses ${name}`, async () => {
    const server = await aServer()
    await server.ok('writeNamespace', { body: { Name: 'tight', ...namespace } })
    const call = { ...register(), query: { namespace: 'tight' } }
    assert.deepEqual(await server.refusal('registerJob', call), [400, text])
  })
