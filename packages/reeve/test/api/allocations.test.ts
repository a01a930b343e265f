import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllocationStub, TaskState } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anId } from '../build/index.ts'
import { ofJob, register, withScheduler } from './cluster.ts'
import { createTestServer, type CallOptions } from './harness.ts'
import { aSecuredServer } from './secured.ts'

async function aScheduled(nodes = 1) {
  return await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
}

function read(row: Pick<AllocationRow, 'ID'> | undefined, query = {}): CallOptions {
  return { params: { alloc_id: row?.ID ?? '' }, query }
}

/** What a node says of a task that runs. */
function aTaskState(fields: Partial<TaskState> = {}): TaskState {
  return {
    State: 'running',
    Failed: false,
    Restarts: 0,
    LastRestart: ZERO_TIME,
    StartedAt: ZERO_TIME,
    FinishedAt: ZERO_TIME,
    Events: [],
    TaskHandle: null,
    Paused: '',
    ...fields,
  }
}

// Placement

test('allocation: a placement is named, bound to its node, and says how it was chosen', async () => {
  const { server, run, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Count: 2 })] })
  const rows = allocationsOf('web')
  assert.deepEqual(rows.map((row) => row.Name).toSorted(), ['web.app[0]', 'web.app[1]'])
  const allocation = await server.ok('readAllocation', read(rows[0]))
  const [evaluation] = await server.ok('listJobEvaluations', ofJob())
  assert.deepEqual(
    [
      allocation.EvalID,
      allocation.JobID,
      allocation.JobType,
      allocation.JobVersion,
      allocation.TaskGroup,
    ],
    [evaluation?.ID, 'web', 'service', 0, 'app'],
  )
  assert.deepEqual([allocation.NodeID, allocation.NodeName], [anId('node', 1), 'node-1'])
  assert.deepEqual([allocation.DesiredStatus, allocation.ClientStatus], ['run', 'pending'])
  assert.equal(allocation.CreateTime, server.clock.nowMs() * 1_000_000)
  assert.deepEqual(allocation.Metrics.NodesAvailable, { dc1: 1 })
  assert.equal(allocation.Metrics.NodesEvaluated, 1)
  assert.ok(Object.keys(allocation.Metrics.Scores ?? {}).length > 0)
})

test('allocation: what it holds is shown in both forms', async () => {
  const { server, run, allocationsOf } = await aScheduled()
  await run()
  const allocation = await server.ok('readAllocation', read(allocationsOf('web')[0]))
  assert.deepEqual(allocation.Resources, { CPU: 100, MemoryMB: 300, DiskMB: 300, Networks: null })
  assert.deepEqual(allocation.SharedResources, { CPU: 0, MemoryMB: 0, DiskMB: 300, Networks: null })
  assert.deepEqual(allocation.TaskResources, {
    main: { CPU: 100, MemoryMB: 300, DiskMB: 0, Networks: null },
  })
  assert.equal(allocation.AllocatedResources.Tasks['main']?.Memory.MemoryMB, 300)
})

test('allocation: its job is the version it runs, whatever was registered since', async () => {
  const { server, run, allocationsOf } = await aScheduled(0)
  const job = aJob({ Priority: 40 })
  const row = anAllocation({ job })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), put('job_versions', job), put('allocations', row)],
  })
  await run({ Priority: 70 })
  const allocation = await server.ok('readAllocation', read(row))
  assert.deepEqual([allocation.Job?.Version, allocation.Job?.Priority], [0, 40])
  assert.equal((await server.ok('readJob', ofJob())).Priority, 70)
  assert.equal(allocationsOf('web').length, 1)
})

// Reports of nodes

test('allocation: what the node says is shown, and moves only the index of all writes', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run()
  const [row] = allocationsOf('web')
  const before = await server.ok('readAllocation', read(row))
  assert.equal(before.TaskStates, null)
  const StartedAt = '2026-01-01T00:00:01Z'
  await report(row ?? assert.fail(), 'running', {
    ClientDescription: 'Tasks are running',
    TaskStates: { main: aTaskState({ StartedAt }) },
  })
  const after = await server.ok('readAllocation', read(row))
  assert.deepEqual([after.ClientStatus, after.ClientDescription], ['running', 'Tasks are running'])
  const state = after.TaskStates?.['main']
  assert.deepEqual(
    [
      state?.State,
      state?.Failed,
      state?.StartedAt,
      state?.FinishedAt,
      state?.Restarts,
      state?.TaskHandle,
    ],
    ['running', false, StartedAt, ZERO_TIME, 0, null],
  )
  assert.ok(after.ModifyIndex > before.ModifyIndex)
  assert.equal(after.AllocModifyIndex, before.AllocModifyIndex)
})

test('allocation: another node has nothing to say about it', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run()
  const [row] = allocationsOf('web')
  await report({ ...(row ?? assert.fail()), NodeID: anId('node', 9) }, 'failed')
  assert.equal((await server.ok('readAllocation', read(row))).ClientStatus, 'pending')
})

test('allocation: one that failed is replaced, and each names the other', async () => {
  const { server, run, report, settle, allocationsOf } = await aScheduled(2)
  // While it is rolled out, its deployment would have to allow it.
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const [first] = allocationsOf('web')
  await report(first ?? assert.fail(), 'failed')
  server.clock.advance(3_600_000)
  await settle()
  const failed = await server.ok('readAllocation', read(first))
  const next = await server.ok('readAllocation', read({ ID: failed.NextAllocation }))
  assert.equal(next.PreviousAllocation, first?.ID)
  assert.deepEqual(
    next.RescheduleTracker?.Events.map((event) => event.PrevAllocID),
    [first?.ID],
  )
  assert.equal(next.Name, failed.Name)
})

// Read

test('read allocation: an unknown id is not found', async () => {
  const { server } = await aScheduled()
  assert.deepEqual(await server.refusal('readAllocation', read({ ID: anId('alloc', 9) })), [
    404,
    'alloc not found',
  ])
})

const UUID_TEXT = 'alloc lookup failed: UUID must be 36 characters'
const WRONG_IDS = [
  { id: 'bbbbbbbb', text: UUID_TEXT },
  { id: 'x', text: UUID_TEXT },
  { id: `${anId('alloc', 1)}0`, text: UUID_TEXT },
  {
    id: `${anId('alloc', 1).slice(0, -1)}z`,
    text: "alloc lookup failed: Invalid UUID: encoding/hex: invalid byte: U+007A 'z'",
  },
]

for (const { id, text } of WRONG_IDS)
  test(`read allocation: ${id} is no full id and is refused`, async () => {
    const { server } = await aScheduled()
    assert.deepEqual(await server.refusal('readAllocation', read({ ID: id })), [400, text])
  })

test('read allocation: the id may be in any case', async () => {
  const { server, run, allocationsOf } = await aScheduled()
  await run()
  const [row] = allocationsOf('web')
  const upper = { ID: row?.ID.toUpperCase() ?? '' }
  assert.equal((await server.ok('readAllocation', read(upper))).ID, row?.ID)
})

test('read allocation: the namespace of the request does not matter', async () => {
  const { server, run, allocationsOf } = await aScheduled()
  await run()
  await server.ok('readAllocation', read(allocationsOf('web')[0], { namespace: 'other' }))
})

// List

async function aList() {
  const scheduled = await aScheduled()
  await scheduled.run({ TaskGroups: [aGroup({ Count: 2 })] })
  await scheduled.run({ ID: 'api' })
  const list = async (
    query: NonNullable<CallOptions['query']> = {},
  ): Promise<readonly AllocationStub[]> => await scheduled.server.ok('listAllocations', { query })
  return { ...scheduled, list }
}

test('list allocations: oldest first, every field but the job and what is asked for', async () => {
  const { list, server } = await aList()
  const stubs = await list()
  assert.deepEqual(
    stubs.map((stub) => stub.JobID),
    ['web', 'web', 'api'],
  )
  for (const field of ['Job', 'AllocatedResources'])
    assert.equal(field in (stubs[0] ?? {}), false, field)
  const one = await server.ok('readAllocation', read(stubs[0]))
  assert.partialDeepStrictEqual(one, stubs[0])
  assert.equal(stubs[0]?.Resources?.CPU, 100)
  assert.equal(stubs[0].Metrics.NodesEvaluated, 1)
})

test('list allocations: resources=true adds what each holds', async () => {
  const { list } = await aList()
  const [stub] = await list({ resources: true })
  assert.equal(stub?.AllocatedResources?.Tasks['main']?.Cpu.CpuShares, 100)
})

test('list allocations: task_states=false leaves them out', async () => {
  const { list, report, allocationsOf } = await aList()
  const [row] = allocationsOf('api')
  await report(row ?? assert.fail(), 'running', { TaskStates: { main: aTaskState() } })
  const states = async (query = {}) =>
    (await list(query)).find((stub) => stub.JobID === 'api')?.TaskStates
  assert.equal((await states())?.['main']?.State, 'running')
  assert.equal((await states({ task_states: true }))?.['main']?.State, 'running')
  assert.equal(await states({ task_states: false }), null)
})

test('job allocations: take neither resources nor task_states', async () => {
  const { server } = await aList()
  const [stub] = await server.ok('listJobAllocations', ofJob('web', { resources: true }))
  assert.equal('AllocatedResources' in (stub ?? {}), false)
})

// Who may

async function withAllocations() {
  const secured = await aSecuredServer()
  await secured.server.ok('writeNamespace', secured.as(secured.root, { body: { Name: 'other' } }))
  const jobs = ['default', 'other'].map((Namespace) => aJob({ Namespace }))
  const rows = jobs.map((job, index) => anAllocation({ job, index }))
  secured.server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...jobs.map((job) => put('job_versions', job)),
      ...rows.map((row) => put('allocations', row)),
    ],
  })
  return { ...secured, rows }
}

test('read allocation: needs read-job in its own namespace; else it is not there', async () => {
  const { server, as, client, rows } = await withAllocations()
  const reader = await client('namespace "default" { capabilities = ["read-job"] }')
  await server.ok('readAllocation', as(reader, read(rows[0])))
  const hidden = [404, 'alloc not found']
  for (const query of [{}, { namespace: 'default' }, { namespace: 'other' }])
    assert.deepEqual(
      await server.refusal('readAllocation', as(reader, read(rows[1], query))),
      hidden,
    )
  const other = await client('namespace "default" { capabilities = ["list-jobs"] }')
  assert.deepEqual(await server.refusal('readAllocation', as(other, read(rows[0]))), hidden)
  assert.deepEqual(await server.refusal('readAllocation', read(rows[0])), hidden)
})

test('list allocations: needs read-job in the namespace; * shows those where it is held', async () => {
  const { server, root, as, client } = await withAllocations()
  const reader = await client('namespace "other" { capabilities = ["read-job"] }')
  const list = async (query: NonNullable<CallOptions['query']>) =>
    (await server.ok('listAllocations', as(reader, { query }))).map((stub) => stub.Namespace)
  assert.deepEqual(await list({ namespace: 'other' }), ['other'])
  assert.deepEqual(await list({ namespace: '*' }), ['other'])
  const denied = [403, 'Permission denied']
  assert.deepEqual(await server.refusal('listAllocations', as(reader)), denied)
  const nobody = await client('node { policy = "read" }')
  const all = { query: { namespace: '*' } }
  assert.deepEqual(await server.refusal('listAllocations', as(nobody, all)), denied)
  assert.equal((await server.ok('listAllocations', as(root, all))).length, 2)
})

test('list job allocations: shows nothing of another namespace', async () => {
  const { server, as, client } = await withAllocations()
  const reader = await client('namespace "default" { policy = "read" }')
  await server.ok(
    'registerJob',
    as(await client('namespace "default" { policy = "write" }'), register()),
  )
  const stubs = await server.ok('listJobAllocations', as(reader, ofJob('web', { all: true })))
  assert.deepEqual(
    stubs.map((stub) => stub.Namespace),
    ['default'],
  )
})
