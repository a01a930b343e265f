import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AuditRecord } from '@reeve/contract'
import { aNodeWorld, shell } from './node-world.ts'
import { aSecuredServer, type SecuredServer } from './secured.ts'

/** Records of one action, the oldest first. */
async function actions(
  { server }: Pick<SecuredServer, 'server'>,
  root: string,
  action: string,
): Promise<readonly AuditRecord[]> {
  const records = await server.ok('listAuditRecords', { token: root, query: { action } })
  return records.toReversed()
}

function outcomes(records: readonly AuditRecord[]) {
  return records.map(({ Status, Method, Resources }) => [Status, Method, ...Resources])
}

async function aWorldWithEndedTask(t: TestContext) {
  const world = await aNodeWorld(t, { aclEnabled: true })
  const { SecretID: root } = await world.server.ok('bootstrapAcl')
  const ended = { status: 'complete', job: { Type: 'batch' }, token: root } as const
  const { id } = await world.run([shell('exit 0')], ended)
  return { ...world, root, id }
}

for (const method of ['GET', 'PUT', 'POST'])
  test(`audit: ${method} that removes what an allocation left is recorded`, async (t) => {
    const world = await aWorldWithEndedTask(t)
    const { root, id } = world
    const path = `/v1/client/allocation/${id}/gc`
    assert.equal((await world.get(path, { method, token: root })).status, 200)
    assert.equal((await world.get(path, { method, token: root })).status, 400)
    const records = await actions(world, root, 'collectAllocation')
    assert.deepEqual(outcomes(records), [
      [200, method, id],
      [400, method, id],
    ])
    const [done] = records
    assert.deepEqual([done?.Actor.Type, done?.Address], ['management', '127.0.0.1'])
  })

test('audit: the garbage collection of a node is recorded with the node', async (t) => {
  const world = await aWorldWithEndedTask(t)
  const { server, root, agent } = world
  const query = { node_id: agent.nodeId }
  await server.ok('collectClient', { token: root, method: 'GET', query })
  assert.deepEqual(outcomes(await actions(world, root, 'collectClient')), [
    [200, 'GET', agent.nodeId],
  ])
})

test('audit: the download of the whole state is recorded', async () => {
  const it = await aSecuredServer()
  const { server, root } = it
  const reply = await server.send('GET', '/v1/operator/snapshot', it.as(root))
  assert.equal(reply.status, 200)
  const [record] = await actions(it, root.SecretID, 'saveSnapshot')
  assert.deepEqual([record?.Status, record?.Actor.ID], [200, root.AccessorID])
})

test('audit: who may not download the state or collect garbage is recorded too', async () => {
  const it = await aSecuredServer()
  const { server, root, as } = it
  const reader = await it.client('namespace "default" { policy = "read" }')
  const paths = {
    saveSnapshot: '/v1/operator/snapshot',
    collectClient: '/v1/client/gc',
    collectAllocation: '/v1/client/allocation/00000000-0000-4000-8000-000000000001/gc',
  }
  for (const [action, path] of Object.entries(paths)) {
    assert.equal((await server.send('GET', path, as(reader))).status, 403, action)
    // Callers without a token must not fill the log.
    assert.equal((await server.send('GET', path)).status, 403, action)
    const records = await actions(it, root.SecretID, action)
    assert.deepEqual(
      records.map(({ Status, Actor }) => [Status, Actor.ID]),
      [[403, reader.AccessorID]],
      action,
    )
  }
})

test('audit: reads that only read leave no record', async (t) => {
  const world = await aWorldWithEndedTask(t)
  const { server, root, id } = world
  const before = server.context.store.tables.audit_records.size
  await world.get(`/v1/client/allocation/${id}/stats`, { token: root })
  await world.get(`/v1/client/allocation/${id}/checks`, { token: root })
  await server.ok('readAllocation', { token: root, params: { alloc_id: id } })
  await server.ok('listAuditRecords', { token: root })
  assert.equal(server.context.store.tables.audit_records.size, before)
})
