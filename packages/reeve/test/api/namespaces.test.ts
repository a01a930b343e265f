import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { put } from '../../src/state/index.ts'
import { anAllocation, aJob } from '../build/index.ts'
import { createTestServer, untilParked, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

function call(name: string, fields: object = {}) {
  return { params: { namespace_name: name }, body: { Name: name, ...fields } }
}

/** A server without ACLs: what namespaces do is the same for whoever may. */
async function withNamespaces(...names: readonly string[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const name of names) await server.ok('writeNamespaceByName', call(name))
  return server
}

// Built-in

test('namespaces: a new installation has the default one, and two node pools', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const [namespace, ...rest] = await server.ok('listNamespaces')
  assert.deepEqual(rest, [])
  assert.equal(namespace?.Name, 'default')
  assert.equal(namespace.Description, 'Default shared namespace')
  assert.deepEqual([...server.context.store.tables.node_pools.keys()], ['all', 'default'])
})

test('namespaces: later starts add nothing', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await before.ok('writeNamespaceByName', call('default', { Description: 'ours' }))
  await before.close()
  const after = await createTestServer({ aclEnabled: false, disk })
  assert.equal((await after.ok('readNamespace', call('default'))).Description, 'ours')
  assert.equal(after.context.store.index, 2)
})

// Write

test('write namespace: answers an empty body with the index', async () => {
  const server = await withNamespaces()
  const reply = await server.call('writeNamespace', { body: { Name: 'prod' } })
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 2])
})

test('write namespace: what is left out has its default', async () => {
  const server = await withNamespaces('prod')
  const { Hash, ...namespace } = await server.ok('readNamespace', call('prod'))
  assert.equal(Buffer.from(Hash, 'base64').length, 32)
  assert.deepEqual(namespace, {
    Name: 'prod',
    Description: '',
    Quota: '',
    Capabilities: null,
    NodePoolConfiguration: null,
    Meta: null,
    CreateIndex: 2,
    ModifyIndex: 2,
  })
})

test('write namespace: every field is kept, and writing again replaces all of them', async () => {
  const server = await withNamespaces()
  const fields = {
    Description: 'd',
    Meta: { team: 'core' },
    Capabilities: { EnabledTaskDrivers: ['docker'] },
    NodePoolConfiguration: { Allowed: ['gpu'] },
  }
  await server.ok('writeNamespaceByName', call('prod', fields))
  const { Hash: _hash, ...namespace } = await server.ok('readNamespace', call('prod'))
  assert.deepEqual(namespace, {
    ...fields,
    Name: 'prod',
    Quota: '',
    Capabilities: {
      EnabledTaskDrivers: ['docker'],
      DisabledTaskDrivers: null,
      EnabledNetworkModes: null,
      DisabledNetworkModes: null,
    },
    NodePoolConfiguration: { Default: 'default', Allowed: ['gpu'], Denied: null },
    CreateIndex: 2,
    ModifyIndex: 2,
  })
  await server.ok('writeNamespaceByName', call('prod'))
  const again = await server.ok('readNamespace', call('prod'))
  assert.deepEqual(
    [again.Meta, again.Capabilities, again.CreateIndex, again.ModifyIndex],
    [null, null, 2, 3],
  )
})

test('write namespace: the default one may be changed', async () => {
  const server = await withNamespaces()
  await server.ok('writeNamespace', { body: { Name: 'default', Description: 'ours' } })
  assert.equal((await server.ok('readNamespace', call('default'))).Description, 'ours')
})

function invalid(name: string, ...problems: readonly string[]): string {
  return `Invalid namespace "${name}": ${formatMultiError(problems)}`
}

const LONG = 'n'.repeat(129)
const REGEX = 'Must match regex ^[a-zA-Z0-9-]{1,128}$'
const INVALID = [
  { body: { Name: 'a_b' }, text: invalid('a_b', `invalid name "a_b". ${REGEX}`) },
  { body: { Name: '*' }, text: invalid('*', `invalid name "*". ${REGEX}`) },
  { body: {}, text: invalid('', `invalid name "". ${REGEX}`) },
  { body: { Name: LONG }, text: invalid(LONG, `invalid name "${LONG}". ${REGEX}`) },
  {
    body: { Name: 'a b', Description: 'd'.repeat(257) },
    text: invalid('a b', `invalid name "a b". ${REGEX}`, 'description longer than 256'),
  },
]

for (const { body, text } of INVALID)
  test(`write namespace: ${JSON.stringify(body).slice(0, 60)} is refused`, async () => {
    const server = await withNamespaces()
    assert.deepEqual(await server.refusal('writeNamespace', { body }), [400, text])
  })

test('write namespace: another name than in the path is refused', async () => {
  const server = await withNamespaces()
  const wanted = [400, 'Namespace name does not match request path']
  const other = { params: { namespace_name: 'a' }, body: { Name: 'b' } }
  assert.deepEqual(await server.refusal('writeNamespaceByName', other), wanted)
})

test('write namespace: the path is name enough', async () => {
  const server = await withNamespaces()
  await server.ok('writeNamespaceByName', { params: { namespace_name: 'a' }, body: {} })
  assert.equal((await server.ok('readNamespace', { params: { namespace_name: 'a' } })).Name, 'a')
})

test('write namespace: a body is needed', async () => {
  const server = await withNamespaces()
  assert.deepEqual(await server.refusal('writeNamespace'), [400, 'Request body is empty'])
})

// Read and list

test('read namespace: an unknown one is not found', async () => {
  const server = await withNamespaces()
  assert.deepEqual(await server.refusal('readNamespace', call('gone')), [
    404,
    'Namespace not found',
  ])
})

test('read namespace: blocks until it changes', async () => {
  const server = await withNamespaces('prod')
  const waiting = server.call('readNamespace', { ...call('prod'), query: { index: 2 } })
  await untilParked()
  await server.ok('writeNamespaceByName', call('other'))
  await server.ok('writeNamespaceByName', call('prod', { Description: 'new' }))
  assert.equal((await waiting).index, 4)
})

test('read namespace: waits for one that is not there yet', async () => {
  const server = await withNamespaces()
  const waiting = server.call('readNamespace', { ...call('prod'), query: { index: 1 } })
  await untilParked()
  await server.ok('writeNamespaceByName', call('prod'))
  assert.deepEqual([(await waiting).status, (await waiting).index], [200, 2])
})

test('list namespaces: by name, with a prefix of it', async () => {
  const server = await withNamespaces('web-2', 'api', 'web-1')
  const names = async (query = {}) =>
    (await server.ok('listNamespaces', { query })).map((one) => one.Name)
  assert.deepEqual(await names(), ['api', 'default', 'web-1', 'web-2'])
  assert.deepEqual(await names({ prefix: 'web-' }), ['web-1', 'web-2'])
  assert.deepEqual(await names({ prefix: 'x' }), [])
})

test('list namespaces: blocks until one changes', async () => {
  const server = await withNamespaces()
  const waiting = server.call('listNamespaces', { query: { index: 1 } })
  await untilParked()
  await server.ok('writeNamespaceByName', call('prod'))
  assert.equal((await waiting).index, 2)
})

// Delete

test('delete namespace: answers an empty body and is gone', async () => {
  const server = await withNamespaces('prod')
  const reply = await server.call('deleteNamespace', call('prod'))
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 3])
  assert.equal((await server.refusal('readNamespace', call('prod')))[0], 404)
})

test('delete namespace: the default one stays', async () => {
  const server = await withNamespaces()
  assert.deepEqual(await server.refusal('deleteNamespace', call('default')), [
    400,
    'can not delete default namespace',
  ])
})

test('delete namespace: an unknown one is not found', async () => {
  const server = await withNamespaces()
  assert.deepEqual(await server.refusal('deleteNamespace', call('gone')), [
    404,
    'Namespace not found',
  ])
})

const HAS_JOBS = 'namespace "prod" has non-terminal jobs in regions: [global]'
const HAS_ALLOCATIONS = 'namespace "prod" has non-terminal allocations in regions: [global]'
const USES = [
  { name: 'a live job', job: 'running', allocation: undefined, uses: [HAS_JOBS] },
  { name: 'a pending job', job: 'pending', allocation: undefined, uses: [HAS_JOBS] },
  {
    name: 'a live job and its allocation',
    job: 'running',
    allocation: 'running',
    uses: [HAS_JOBS, HAS_ALLOCATIONS],
  },
  { name: 'a dead job', job: 'dead', allocation: undefined, uses: [] },
  { name: 'a dead job with an ended allocation', job: 'dead', allocation: 'complete', uses: [] },
  {
    name: 'an allocation of a job that was purged',
    job: undefined,
    allocation: 'running',
    uses: [HAS_ALLOCATIONS],
  },
] as const

for (const { name, job: status, allocation, uses } of USES)
  test(`delete namespace: with ${name} it ${uses.length > 0 ? 'stays' : 'goes'}`, async () => {
    const server = await withNamespaces('prod')
    const job = aJob({ Namespace: 'prod', Status: status ?? 'running' })
    server.context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        ...(status === undefined ? [] : [put('jobs', job)]),
        put('job_versions', job),
        ...(allocation === undefined
          ? []
          : [put('allocations', anAllocation({ job, ClientStatus: allocation }))]),
      ],
    })
    const reply = await server.call('deleteNamespace', call('prod'))
    assert.deepEqual(
      [reply.status, reply.text],
      uses.length > 0 ? [409, formatMultiError(uses)] : [200, ''],
    )
  })

test('delete namespace: what lives in another one does not count', async () => {
  const server = await withNamespaces('prod', 'prod-2')
  const job = aJob({ Namespace: 'prod-2', Status: 'running' })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('jobs', job),
      put('job_versions', job),
      put('allocations', anAllocation({ job })),
    ],
  })
  await server.ok('deleteNamespace', call('prod'))
})

test('namespaces: changes emit no events', async () => {
  const server = await withNamespaces('prod')
  await server.ok('deleteNamespace', call('prod'))
  for await (const commit of server.context.store.log.read(1)) assert.deepEqual(commit.events, [])
})

// Who may

test('list namespaces: shows those in which the token has any capability', async () => {
  const { server, root, as, client } = await aSecuredServer()
  for (const name of ['web-1', 'web-2', 'api'])
    await server.ok('writeNamespaceByName', as(root, call(name)))
  const names = async (rules: string) =>
    (await server.ok('listNamespaces', as(await client(rules)))).map((one) => one.Name)
  assert.deepEqual(await names('namespace "web-*" { capabilities = ["read-logs"] }'), [
    'web-1',
    'web-2',
  ])
  assert.deepEqual(
    await names('namespace "*" { policy = "read" }\nnamespace "web-1" { policy = "deny" }'),
    ['api', 'default', 'web-2'],
  )
  assert.deepEqual(await names('node { policy = "write" }'), [])
  assert.deepEqual(await server.ok('listNamespaces'), [])
  assert.equal((await server.ok('listNamespaces', as(root))).length, 4)
})

test('read namespace: needs any capability in it', async () => {
  const { server, as, client } = await aSecuredServer()
  const reader = await client('namespace "default" { capabilities = ["read-logs"] }')
  await server.ok('readNamespace', as(reader, call('default')))
  assert.deepEqual(await server.refusal('readNamespace', as(reader, call('other'))), DENIED)
  const denied = await client('namespace "default" { policy = "deny" }')
  assert.deepEqual(await server.refusal('readNamespace', as(denied, call('default'))), DENIED)
  assert.deepEqual(await server.refusal('readNamespace', call('default')), DENIED)
})

for (const route of ['writeNamespace', 'writeNamespaceByName', 'deleteNamespace'] as const)
  test(`${route}: needs management`, async () => {
    const { server, as, client } = await aSecuredServer()
    const strong = await client('namespace "*" { policy = "write" }\noperator { policy = "write" }')
    assert.deepEqual(await server.refusal(route, as(strong, call('prod'))), DENIED)
    assert.deepEqual(await server.refusal(route, call('prod')), DENIED)
  })
