import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReportedService } from '@reeve/contract'
import { LIMITS, type AllocationRow } from '../../src/model/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { forceGarbageCollection, reportServices } from '../../src/workload/index.ts'
import { anAllocation, aJob, anId } from '../build/index.ts'
import { put, SYSTEM } from '../../src/state/index.ts'
import { putNode, withScheduler } from './cluster.ts'
import { aListening, payloadOf } from './event-reader.ts'
import { createTestServer, itemsOf, untilParked, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const NODE = anId('node', 1)

/** A server with allocations of jobs `web`, on one node. */
async function withAllocations(server: TestServer, ...namespaces: readonly string[]) {
  await putNode(server, { ID: NODE })
  const allocations = namespaces.map((Namespace, i) => ({
    ...anAllocation({ job: aJob({ Namespace }), index: i }),
    ID: anId('alloc', i + 1),
    NodeID: NODE,
  }))
  const { durable } = server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...namespaces.map((Namespace) => put('jobs', aJob({ Namespace }))),
      ...allocations.map((row) => put('allocations', row)),
    ],
  })
  await durable
  return allocations
}

async function open(...namespaces: readonly string[]) {
  const server = await createTestServer({ aclEnabled: false })
  for (const Name of new Set(namespaces))
    if (Name !== 'default') await server.ok('writeNamespace', { body: { Name } })
  const allocations = await withAllocations(server, ...namespaces)
  return { server, allocations, first: allocations[0] ?? assert.fail() }
}

function offer({ ID }: AllocationRow, name: string, fields: Partial<ReportedService> = {}) {
  const own = { ID: `_reeve-task-${ID}-web-${name}-http`, ServiceName: name, Tags: ['a'] }
  return { ...own, Address: '10.0.0.1', Port: 8_080, ...fields }
}

async function report(
  server: TestServer,
  allocation: AllocationRow,
  ...services: readonly ReportedService[]
): Promise<void> {
  const sets = [{ allocation: allocation.ID, services }]
  await reportServices(server.context, { nodeId: NODE, sets, all: undefined })
}

function of(name: string, query = {}) {
  return { params: { service_name: name }, query }
}

function idsOf(rows: readonly { readonly ID: string }[]): readonly string[] {
  return rows.map((row) => row.ID)
}

test('services: what a node offers is listed by name and by instance', async () => {
  const { server, first } = await open('default')
  await report(server, first, offer(first, 'web'), offer(first, 'api', { Tags: ['b', 'a'] }))
  assert.deepEqual(await server.ok('listServices'), [
    {
      Namespace: 'default',
      Services: [
        { ServiceName: 'api', Tags: ['a', 'b'], Instances: 1, Failing: 0 },
        { ServiceName: 'web', Tags: ['a'], Instances: 1, Failing: 0 },
      ],
    },
  ])
  const [row] = await server.ok('readService', of('web'))
  const { CreateIndex, ModifyIndex, ...rest } = row ?? assert.fail()
  assert.equal(CreateIndex, ModifyIndex)
  assert.deepEqual(rest, {
    ...offer(first, 'web'),
    Namespace: 'default',
    NodeID: NODE,
    Datacenter: 'dc1',
    JobID: first.JobID,
    AllocID: first.ID,
  })
  assert.deepEqual(await server.ok('readService', of('unknown')), [])
})

test('services: an instance says how many of its checks pass, and a name how many instances fail', async () => {
  const { server, first } = await open('default')
  const failing = { Passing: 1, Failing: 1, Pending: 0, Output: 'x'.repeat(400) }
  await report(server, first, offer(first, 'web', { Checks: failing }), offer(first, 'api'))
  const [web] = await server.ok('readService', of('web'))
  assert.deepEqual(web?.Checks, { ...failing, Output: 'x'.repeat(300) })
  const [list] = await server.ok('listServices')
  assert.deepEqual(
    list?.Services.map(({ ServiceName, Instances, Failing }) => [ServiceName, Instances, Failing]),
    [
      ['api', 1, 0],
      ['web', 1, 1],
    ],
  )
  const healthy = { Passing: 2, Failing: 0, Pending: 0, Output: '' }
  await report(server, first, offer(first, 'web', { Checks: healthy }))
  const [after] = await server.ok('readService', of('web'))
  assert.deepEqual([after?.Checks, after?.CreateIndex], [healthy, web?.CreateIndex])
})

test('services: saying the same again changes nothing; another set replaces the first', async () => {
  const { server, first } = await open('default')
  await report(server, first, offer(first, 'web'), offer(first, 'api'))
  const { index } = server.context.store
  await report(server, first, offer(first, 'web'), offer(first, 'api'))
  assert.equal(server.context.store.index, index)
  await report(server, first, offer(first, 'web', { Port: 9_090 }))
  const rows = await server.ok('listJobServices', { params: { job_id: first.JobID } })
  assert.deepEqual(
    rows.map(({ ServiceName, Port, CreateIndex }) => [ServiceName, Port, CreateIndex]),
    [['web', 9_090, index]],
  )
})

test('services: a node speaks for its own allocations only, and under ids that name them', async () => {
  const { server, first } = await open('default')
  const sets = [{ allocation: first.ID, services: [offer(first, 'web')] }]
  await reportServices(server.context, { nodeId: anId('node', 2), sets, all: [] })
  await report(server, first, offer(first, 'web', { ID: '_reeve-task-of-somebody-else' }))
  assert.deepEqual(await server.ok('listServices'), [])
})

test('services: of an allocation as many as the limit are registered, the rest is ignored', async () => {
  const { server, first } = await open('default')
  const { servicesPerAllocationMax: max } = LIMITS
  const offered = (count: number) => Array.from({ length: count }, (_, i) => offer(first, `s${i}`))
  const { service_registrations: registered } = server.context.store.tables
  for (const count of [max, max + 1]) {
    await report(server, first, ...offered(count))
    assert.equal(registered.size, max)
  }
})

test('services: who there is tells what went while nobody listened', async () => {
  const { server, allocations } = await open('default', 'default')
  const [a = assert.fail(), b = assert.fail()] = allocations
  await report(server, a, offer(a, 'web'))
  await report(server, b, offer(b, 'web'))
  await reportServices(server.context, { nodeId: NODE, sets: [], all: [b.ID] })
  assert.deepEqual(idsOf(await server.ok('readService', of('web'))), [offer(b, 'web').ID])
})

test('services: they go with an allocation that ends, in the same commit', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const cluster = await withScheduler(server)
  await cluster.run()
  const [row = assert.fail()] = cluster.allocationsOf('web')
  const sets = [{ allocation: row.ID, services: [offer(row, 'shop')] }]
  await reportServices(server.context, { nodeId: row.NodeID, sets, all: undefined })
  await cluster.report(row, 'running')
  assert.equal((await server.ok('readService', of('shop'))).length, 1)
  await cluster.report(row, 'complete')
  assert.deepEqual(await server.ok('readService', of('shop')), [])
  const { allocations, service_registrations } = server.context.store.tables
  assert.equal(service_registrations.lastIndex, allocations.get(row.ID).ModifyIndex)
  await reportServices(server.context, { nodeId: row.NodeID, sets, all: undefined })
  assert.deepEqual(await server.ok('readService', of('shop')), [], 'it has ended')
})

test('services: they go with a node that is purged or collected', async () => {
  const { server, first } = await open('default')
  await report(server, first, offer(first, 'web'))
  await server.ok('purgeNode', { params: { node_id: NODE } })
  assert.deepEqual(await server.ok('listServices'), [])
  await putNode(server, { ID: NODE, Status: 'down' })
  const ended = { ...first, ClientStatus: 'lost' } as const
  const lost = { ...first, ID: anId('alloc', 7), DesiredStatus: 'stop' } as const
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', ended), put('allocations', lost)],
  })
  await report(server, lost, offer(lost, 'web'))
  assert.equal((await server.ok('listServices')).length, 1)
  await forceGarbageCollection(server.context, SYSTEM)
  assert.deepEqual(await server.ok('listServices'), [])
})

test('services: by namespace, all namespaces, filter, pages and by chance that stays', async () => {
  const { server, allocations } = await open('default', 'default', 'default', 'other')
  for (const [i, row] of allocations.entries())
    await report(server, row, offer(row, 'web', { Port: 8_000 + i }))
  const ports = async (query: object) =>
    (await server.ok('readService', of('web', query))).map(({ Port }) => Port)
  assert.deepEqual(await ports({}), [8_000, 8_001, 8_002])
  assert.deepEqual(await ports({ namespace: 'other' }), [8_003])
  assert.deepEqual(await ports({ namespace: '*' }), [8_000, 8_001, 8_002, 8_003])
  assert.deepEqual(await ports({ filter: 'Port == 8001' }), [8_001])
  const page = await server.call('readService', of('web', { per_page: 2 }))
  assert.equal(itemsOf(page).length, 2)
  assert.deepEqual(await ports({ per_page: 2, next_token: page.nextToken ?? '' }), [8_002])
  const chosen = await ports({ choose: '2|me' })
  assert.equal(new Set(chosen).size, 2)
  assert.deepEqual(await ports({ choose: '2|me' }), chosen)
  assert.equal((await ports({ choose: '9|me' })).length, 3)
  assert.equal((await ports({ choose: '1|me', filter: 'Port == 8002' }))[0], 8_002)
  const [left = assert.fail(), ...stay] = allocations.filter(
    ({ Namespace }) => Namespace !== 'other',
  )
  await report(server, left)
  const still = await ports({ choose: '2|me' })
  const survivors = chosen.filter((port) => stay.some((_row, i) => 8_001 + i === port))
  assert.ok(
    survivors.every((port) => still.includes(port)),
    'only what went is replaced',
  )
})

for (const choose of ['', 'x', '2', '2|', '|key', '0|key', '-1|key', '1|a|b', '1.5|key'])
  test(`services: choose=${choose} is refused`, async () => {
    const { server } = await open('default')
    assert.deepEqual(await server.refusal('readService', of('web', { choose })), [
      400,
      "Parameter for choose must be in form '<number>|<key>'",
    ])
  })

test('services: of a job and of an allocation; who is unknown is not found', async () => {
  const { server, allocations } = await open('default', 'default')
  const [a = assert.fail(), b = assert.fail()] = allocations
  await report(server, a, offer(a, 'web'))
  await report(server, b, offer(b, 'web'))
  const ofJob = await server.ok('listJobServices', { params: { job_id: a.JobID } })
  assert.deepEqual(idsOf(ofJob), [offer(a, 'web').ID, offer(b, 'web').ID])
  const ofOne = await server.ok('listAllocationServices', { params: { alloc_id: b.ID } })
  assert.deepEqual(idsOf(ofOne), [offer(b, 'web').ID])
  assert.deepEqual(await server.refusal('listJobServices', { params: { job_id: 'nobody' } }), [
    404,
    'job not found',
  ])
  const unknown = { params: { alloc_id: anId('alloc', 99) } }
  assert.deepEqual(await server.refusal('listAllocationServices', unknown), [
    404,
    'allocation not found',
  ])
})

test('services: one instance is taken out by id', async () => {
  const { server, first } = await open('default')
  const { ID } = offer(first, 'web')
  await report(server, first, offer(first, 'web'))
  const call = (service_name: string) => ({ params: { service_name, registration_id: ID } })
  assert.equal((await server.refusal('deleteServiceRegistration', call('api')))[0], 404)
  const gone = await server.call('deleteServiceRegistration', call('web'))
  assert.deepEqual([gone.status, gone.text], [200, ''])
  assert.deepEqual(await server.refusal('deleteServiceRegistration', call('web')), [
    404,
    'service registration not found',
  ])
})

test('services: a blocking query wakes when an instance comes or goes', async () => {
  const { server, first } = await open('default')
  await report(server, first, offer(first, 'web'))
  const { index } = await server.call('readService', of('web'))
  const waiting = server.ok('readService', of('web', { index, wait: '1m' }))
  await untilParked()
  await report(server, first)
  assert.deepEqual(await waiting, [])
})

test('services: only namespaces whose jobs the token may read are shown', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const [a = assert.fail(), b = assert.fail()] = await withAllocations(server, 'default', 'other')
  await report(server, a, offer(a, 'web'))
  await report(server, b, offer(b, 'web'))
  const token = await client('namespace "other" { policy = "read" }')
  const all = { query: { namespace: '*' } }
  const lists = await server.ok('listServices', as(token, all))
  assert.deepEqual(
    lists.map(({ Namespace }) => Namespace),
    ['other'],
  )
  const rows = await server.ok('readService', as(token, of('web', { namespace: '*' })))
  assert.deepEqual(idsOf(rows), [offer(b, 'web').ID])
  const params = { alloc_id: a.ID }
  assert.deepEqual(await server.refusal('listAllocationServices', as(token, { params })), [
    404,
    'allocation not found',
  ])
})

test('services: what comes and goes is on the event stream, by job and by name', async (t) => {
  const { server, first } = await open('default')
  await report(server, first, offer(first, 'shop'), offer(first, 'api'))
  await report(server, first, offer(first, 'shop', { Port: 1 }))
  const { open: stream } = await aListening(t, server)
  const reader = await stream({ topics: ['Service:shop'] })
  const [came, changed] = await reader.take(2)
  assert.deepEqual([came?.Type, changed?.Type], ['ServiceRegistration', 'ServiceRegistration'])
  assert.deepEqual(came?.FilterKeys, [first.JobID, 'shop'])
  assert.equal(came?.Key, offer(first, 'shop').ID)
  assert.equal(payloadOf(changed, 'Service').Service.Port, 1)
  const other = await stream({ topics: ['Service:api'] })
  assert.deepEqual(
    (await other.take(2)).map((event) => event.Type),
    ['ServiceRegistration', 'ServiceDeregistration'],
  )
})

test('services: they are there again after a restart', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  const [row = assert.fail()] = await withAllocations(before, 'default')
  await report(before, row, offer(row, 'web'))
  await before.context.store.checkpoint()
  await report(before, row, offer(row, 'web'), offer(row, 'api'))
  await before.close()
  const after = await createTestServer({ aclEnabled: false, disk })
  const [list] = await after.ok('listServices')
  assert.deepEqual(
    list?.Services.map(({ ServiceName }) => ServiceName),
    ['api', 'web'],
  )
})
