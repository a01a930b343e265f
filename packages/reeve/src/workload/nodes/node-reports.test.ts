import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllocationUpdate, ClientStatus } from '@reeve/contract'
import { withScheduler } from '../../../test/api/cluster.ts'
import { createTestServer } from '../../../test/api/harness.ts'
import { aGroup } from '../../../test/build/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { NodeReportBatcher } from './node-reports.ts'

async function aRunningJob(count: number) {
  const server = await createTestServer({ aclEnabled: false })
  const cluster = await withScheduler(server, 2)
  await cluster.run({ TaskGroups: [{ ...aGroup(), Count: count }] })
  const { store } = server.context
  const statuses = () => cluster.allocationsOf('web').map((row) => row.ClientStatus)
  return { server, store, statuses, rows: cluster.allocationsOf('web') }
}

function update(ID: string, ClientStatus: ClientStatus): AllocationUpdate {
  return { ID, ClientStatus, ClientDescription: '', TaskStates: null }
}

test('node reports: reports of one tick share a commit', async () => {
  const { server, store, statuses, rows } = await aRunningJob(4)
  const reports = new NodeReportBatcher(server.context)
  const before = store.index
  await Promise.all(rows.map(({ ID, NodeID }) => reports.report(NodeID, [update(ID, 'running')])))
  assert.deepEqual(statuses(), ['running', 'running', 'running', 'running'])
  assert.equal(store.index, before + 1)
  assert.equal(store.tables.job_summaries.get('default!web').Summary['app']?.Running, 4)
})

test('node reports: the later of two updates of an allocation is written, once', async () => {
  const { server, store, statuses, rows } = await aRunningJob(1)
  const [row = assert.fail()] = rows
  const reports = new NodeReportBatcher(server.context)
  await Promise.all([
    reports.report(row.NodeID, [update(row.ID, 'pending'), update(row.ID, 'running')]),
    reports.report(row.NodeID, [update(row.ID, 'complete')]),
  ])
  assert.deepEqual(statuses(), ['complete'])
  const summary = store.tables.job_summaries.get('default!web').Summary['app']
  assert.deepEqual([summary?.Starting, summary?.Running, summary?.Complete], [0, 0, 1])
})

test('node reports: an unchanged report writes nothing', async () => {
  const { server, store, rows } = await aRunningJob(2)
  const [one = assert.fail(), two = assert.fail()] = rows
  const reports = new NodeReportBatcher(server.context)
  const state = { State: 'running', StartedAt: '2026-01-01T00:00:00Z', Restarts: 0 } as const
  const said = { ...update(one.ID, 'running'), TaskStates: { main: state } }
  await reports.report(one.NodeID, [said])
  await reports.report(two.NodeID, [update(two.ID, 'pending')])
  const { index } = store
  const ofTwo = store.tables.allocations.get(two.ID)
  await reports.report(one.NodeID, [said])
  assert.equal(store.index, index)
  await reports.report(one.NodeID, [{ ...said, ClientStatus: 'complete' }])
  await reports.report(two.NodeID, [update(two.ID, 'failed'), update(two.ID, 'pending')])
  assert.equal(store.index, index + 1)
  assert.deepEqual(store.tables.allocations.get(two.ID), ofTwo)
})

test("node reports: updates of another node's allocations are ignored", async () => {
  const { server, statuses, rows } = await aRunningJob(1)
  const [row = assert.fail()] = rows
  await new NodeReportBatcher(server.context).report('another', [update(row.ID, 'failed')])
  assert.deepEqual(statuses(), ['pending'])
})

test('node reports: the network status is kept until a new one is reported', async () => {
  const { server, rows } = await aRunningJob(1)
  const [row = assert.fail()] = rows
  const reports = new NodeReportBatcher(server.context)
  const NetworkStatus = {
    InterfaceName: 'eth0',
    Address: '172.30.64.2',
    AddressIPv6: '',
    DNS: null,
  }
  const shown = async () => {
    const read = await server.ok('readAllocation', { params: { alloc_id: row.ID } })
    return read.NetworkStatus
  }
  const none = { InterfaceName: '', Address: '', AddressIPv6: '', DNS: null }
  assert.deepEqual(await shown(), none)
  await reports.report(row.NodeID, [{ ...update(row.ID, 'running'), NetworkStatus }])
  assert.deepEqual(await shown(), NetworkStatus)
  await reports.report(row.NodeID, [update(row.ID, 'complete')])
  assert.deepEqual(await shown(), NetworkStatus)
})

test('node reports: all pending reports reject when the storage fails', async () => {
  const { server, rows } = await aRunningJob(2)
  const reports = new NodeReportBatcher(server.context)
  await server.context.store.close()
  const told = await Promise.allSettled(
    rows.map(({ ID, NodeID }) => reports.report(NodeID, [update(ID, 'running')])),
  )
  for (const one of told) {
    assert.equal(one.status, 'rejected')
    assert.ok(one.status === 'rejected' && one.reason instanceof Fault)
  }
})
