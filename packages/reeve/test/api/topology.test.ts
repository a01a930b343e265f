import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopologyNode } from '@reeve/contract'
import { put } from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anId, aTask } from '../build/index.ts'
import { putNode, withScheduler } from './cluster.ts'
import { createTestServer, itemsOf, untilParked, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const SMALL = aTask({ Resources: { CPU: 50, MemoryMB: 32 } })

async function withNodes(count: number) {
  return await withScheduler(await createTestServer({ aclEnabled: false }), count)
}

async function putAllocations(
  server: TestServer,
  rows: readonly ReturnType<typeof anAllocation>[],
): Promise<void> {
  const changes = () => rows.map((row) => put('allocations', row))
  await server.context.store.commit({ by: 'system', cause: undefined, changes }).durable
}

test('topology: a node with what it has and what lies on it, counted', async () => {
  const { server, run, report, allocationsOf } = await withNodes(1)
  await run({ TaskGroups: [aGroup({ Count: 3, Tasks: [SMALL] }), aGroup({ Name: 'large' })] })
  const [first, second] = allocationsOf('web').filter(({ TaskGroup }) => TaskGroup === 'app')
  await report(first ?? assert.fail(), 'running')
  await report(second ?? assert.fail(), 'failed')
  const [node, ...others] = await server.ok('listTopology')
  assert.equal(others.length, 0)
  const { Loads, ...fields } = node ?? assert.fail()
  assert.deepEqual(fields, {
    ID: anId('node', 1),
    Name: 'node-1',
    Datacenter: 'dc1',
    NodePool: 'default',
    Status: 'ready',
    SchedulingEligibility: 'eligible',
    Drain: false,
    CPU: 4_000,
    MemoryMB: 8_192,
  })
  const load = { Namespace: 'default', CPU: 50, MemoryMB: 32 }
  const pending = Loads.filter(({ ClientStatus }) => ClientStatus === 'pending')
  assert.deepEqual(Loads[0], { ...load, ClientStatus: 'running', Count: 1 })
  assert.deepEqual(
    pending.map(({ MemoryMB }) => MemoryMB),
    [300, 32],
    'the largest first; what failed holds nothing',
  )
})

test('topology: what is told stays true while allocations change', async () => {
  const { server, run, report, allocationsOf } = await withNodes(2)
  await run({ Type: 'system' })
  const states = async () =>
    (await server.ok('listTopology')).map(({ Loads }) =>
      Loads.map(({ ClientStatus, Count }) => `${Count} ${ClientStatus}`).join(),
    )
  assert.deepEqual(await states(), ['1 pending', '1 pending'])
  const row = allocationsOf('web').find(({ NodeID }) => NodeID === anId('node', 1))
  await report(row ?? assert.fail(), 'running')
  assert.deepEqual(await states(), ['1 running', '1 pending'])
  await report(row ?? assert.fail(), 'complete')
  assert.deepEqual(await states(), ['', '1 pending'])
})

test('topology: comes in pages, and of named nodes', async () => {
  const { server } = await withNodes(5)
  const names = (nodes: readonly TopologyNode[]) => nodes.map(({ Name }) => Name).join()
  const first = await server.call('listTopology', { query: { per_page: 2 } })
  assert.equal(itemsOf(first).length, 2)
  const rest = { query: { per_page: 9, next_token: first.nextToken ?? assert.fail() } }
  assert.equal(names(await server.ok('listTopology', rest)), 'node-3,node-4,node-5')
  const node = [anId('node', 4), anId('node', 99), anId('node', 2), anId('node', 4)]
  assert.equal(names(await server.ok('listTopology', { query: { node } })), 'node-2,node-4')
  const back = { query: { node, reverse: true, per_page: 1 } }
  assert.equal(names(await server.ok('listTopology', back)), 'node-4')
  const filter = { query: { filter: 'Name == "node-3"' } }
  assert.equal(names(await server.ok('listTopology', filter)), 'node-3')
})

test('topology: very many allocations on one node are one load', async () => {
  const { server } = await withNodes(1)
  const job = aJob()
  const rows = Array.from({ length: 2_500 }, (_, index) => anAllocation({ job, index }))
  await putAllocations(server, rows)
  const [node] = await server.ok('listTopology')
  assert.deepEqual(
    node?.Loads.map(({ Count }) => Count),
    [2_500],
  )
})

test('topology: waits until a node or an allocation changes', async () => {
  const { server, run } = await withNodes(1)
  const { index } = await server.call('listTopology')
  const waiting = server.call('listTopology', { query: { index, wait: '1m' } })
  await untilParked()
  await run()
  assert.ok((await waiting).index > index)
})

test('topology: needs node:read; what is of other namespaces is left out', async () => {
  const { server, as, root, client } = await aSecuredServer()
  await putNode(server)
  const job = aJob()
  const rows = [anAllocation({ job }), anAllocation({ job, index: 1, Namespace: 'other' })]
  await putAllocations(server, rows)
  const spaces = async (token: { readonly SecretID: string }) =>
    (await server.ok('listTopology', as(token)))[0]?.Loads.map(({ Namespace }) => Namespace)
  assert.deepEqual(await spaces(root), ['default', 'other'])
  const reader = await client('node { policy = "read" } namespace "other" { policy = "read" }')
  assert.deepEqual(await spaces(reader), ['other'])
  const blind = await client('namespace "other" { policy = "read" }')
  assert.deepEqual(await server.refusal('listTopology', as(blind)), [403, 'Permission denied'])
})
