import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, aNode, anId } from '../build/index.ts'
import { putNode, withScheduler } from './cluster.ts'
import { createTestServer, untilParked, type CallOptions } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const UNKNOWN = anId('node', 99)

function read(id: string, query = {}): CallOptions {
  return { params: { node_id: id }, query }
}

async function withNode() {
  const server = await createTestServer({ aclEnabled: false })
  await putNode(server, { Attributes: { 'os.name': 'debian', 'service.version': '1.2.3' } })
  return server
}

test('read node: every field, never a secret', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const { SecretID: _secret, ...node } = aNode()
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('nodes', { ...node, SecretHash: 'hash-of-a-secret' })],
  })
  const reply = await server.call('readNode', read(node.ID))
  assert.equal(reply.text.includes('hash-of-a-secret'), false)
  const found = await server.ok('readNode', read(node.ID))
  assert.deepEqual(
    [
      found.SecretID,
      found.Name,
      found.Status,
      found.SchedulingEligibility,
      found.Drain,
      found.CreateIndex,
    ],
    ['', 'node-1', 'ready', 'eligible', false, 2],
  )
})

test('read node: an unknown one is not found, an id that is none is refused', async () => {
  const server = await withNode()
  assert.deepEqual(await server.refusal('readNode', read(UNKNOWN)), [404, 'node not found'])
  assert.deepEqual(await server.refusal('readNode', read('aaaaaaaa')), [
    400,
    'node lookup failed: UUID must be 36 characters',
  ])
  assert.deepEqual(await server.refusal('listNodeAllocations', read('x')), [
    400,
    'node lookup failed: UUID must be 36 characters',
  ])
})

test('list nodes: stubs, by id', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const i of [3, 1, 2]) await putNode(server, { ID: anId('node', i), Name: `node-${i}` })
  const stubs = await server.ok('listNodes')
  assert.deepEqual(
    stubs.map((stub) => stub.Name),
    ['node-1', 'node-2', 'node-3'],
  )
  assert.deepEqual(
    [stubs[0]?.Address, stubs[0]?.Datacenter, stubs[0]?.NodePool],
    ['10.0.0.1', 'dc1', 'default'],
  )
})

test('list nodes: os and resources add what they name', async () => {
  const server = await withNode()
  const stub = async (query = {}) => (await server.ok('listNodes', { query }))[0]
  const plain = await stub()
  assert.deepEqual(
    [plain?.Attributes, plain?.NodeResources, plain?.Version],
    [undefined, undefined, '1.2.3'],
  )
  assert.deepEqual((await stub({ os: true }))?.Attributes, { 'os.name': 'debian' })
  const full = await stub({ resources: true })
  assert.equal(full?.NodeResources?.Memory.MemoryMB, 8_192)
  assert.equal(full?.ReservedResources?.Memory.MemoryMB, 0)
})

test('list nodes: a filter sees the whole node but no secret', async () => {
  const server = await withNode()
  const names = async (filter: string) =>
    (await server.ok('listNodes', { query: { filter } })).map((stub) => stub.Name)
  assert.deepEqual(await names('HTTPAddr == "10.0.0.1:4646"'), ['node-1'])
  assert.deepEqual(await names('Attributes["os.name"] == "other"'), [])
  for (const field of ['SecretID', 'SecretHash']) {
    const [status, text] = await server.refusal('listNodes', {
      query: { filter: `${field} == "x"` },
    })
    assert.equal(status, 400)
    assert.match(text, /^failed to (?:read result page|create result paginator): /)
  }
})

test('node allocations: full ones with their job, of this node only', async () => {
  const { server, run } = await withScheduler(await createTestServer({ aclEnabled: false }), 2)
  await run({ Type: 'system' })
  const allocations = await server.ok('listNodeAllocations', read(anId('node', 1)))
  assert.deepEqual(
    allocations.map((one) => one.NodeID),
    [anId('node', 1)],
  )
  assert.equal(allocations[0]?.Job?.ID, 'web')
})

test('node allocations: an unknown node has none', async () => {
  const server = await withNode()
  assert.deepEqual(await server.ok('listNodeAllocations', read(UNKNOWN)), [])
})

test('node allocations: the index is that of the last change on the node', async () => {
  const { server, run, report, allocationsOf } = await withScheduler(
    await createTestServer({ aclEnabled: false }),
    2,
  )
  await run({ Type: 'system' })
  const rows = allocationsOf('web')
  const [mine, other] = [1, 2].map((i) => rows.find((row) => row.NodeID === anId('node', i)))
  const placed = (await server.call('listNodeAllocations', read(anId('node', 1)))).index
  assert.equal(placed, mine?.ModifyIndex)
  const waiting = server.call('listNodeAllocations', read(anId('node', 1), { index: placed }))
  await untilParked()
  await report(other ?? assert.fail(), 'running')
  assert.equal((await server.call('listNodeAllocations', read(anId('node', 1)))).index, placed)
  await report(mine ?? assert.fail(), 'running')
  assert.ok((await waiting).index > placed + 1, 'it slept through the change on the other node')
})

// Who may

for (const route of ['listNodes', 'readNode', 'listNodeAllocations'] as const)
  test(`${route}: needs node:read`, async () => {
    const { server, as, client } = await aSecuredServer()
    await putNode(server)
    const call = read(anId('node', 1))
    for (const policy of ['read', 'write'])
      await server.ok(route, as(await client(`node { policy = "${policy}" }`), call))
    for (const rules of [
      'namespace "*" { policy = "write" }',
      'node { policy = "deny" }',
      'agent { policy = "write" }',
    ])
      assert.deepEqual(await server.refusal(route, as(await client(rules), call)), DENIED, rules)
    assert.deepEqual(await server.refusal(route, call), DENIED)
  })

test('node allocations: shows those of namespaces that the token may read', async () => {
  const { server, as, client } = await aSecuredServer()
  await putNode(server)
  const jobs = ['default', 'other'].map((Namespace) => aJob({ Namespace }))
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...jobs.map((job) => put('job_versions', job)),
      ...jobs.map((job, index) => put('allocations', anAllocation({ job, index }))),
    ],
  })
  const seen = async (rules: string) => {
    const token = await client(`node { policy = "read" }\n${rules}`)
    const listed = await server.ok('listNodeAllocations', as(token, read(anId('node', 1))))
    return listed.map((one) => one.Namespace)
  }
  assert.deepEqual(await seen(''), [])
  assert.deepEqual(await seen('namespace "other" { capabilities = ["read-job"] }'), ['other'])
  assert.deepEqual(await seen('namespace "*" { policy = "read" }'), ['default', 'other'])
})
