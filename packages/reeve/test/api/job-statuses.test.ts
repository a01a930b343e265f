import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, JobStatusRow, TaskState } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { reportServices } from '../../src/workload/index.ts'
import { aGroup, aJob, anAllocation, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, register, withScheduler } from './cluster.ts'
import {
  createTestServer,
  itemsOf,
  untilParked,
  type CallOptions,
  type TestServer,
} from './harness.ts'
import { aSecuredServer } from './secured.ts'

type Query = NonNullable<CallOptions['query']>

async function aScheduled(nodes = 1) {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
  const { server } = scheduled
  const list = async (query: Query = {}): Promise<readonly JobStatusRow[]> =>
    await server.ok('listJobStatuses', { query })
  const ids = async (query: Query = {}) => (await list(query)).map(({ ID }) => ID)
  return { ...scheduled, list, ids }
}

async function withJobs(...jobs: readonly string[]) {
  const scheduled = await aScheduled(0)
  for (const ID of jobs) await scheduled.run({ ID })
  return scheduled
}

// What a row shows

test('statuses: a job with its allocations and its deployment', async () => {
  const { server, run, list, allocationsOf } = await aScheduled()
  await run({ Priority: 70, TaskGroups: [aGroup({ Count: 2 }), aGroup({ Name: 'db', Count: 1 })] })
  const job = await server.ok('readJob', ofJob())
  const [deployment] = await server.ok('listJobDeployments', ofJob())
  const [row, ...others] = await list()
  const { Allocs, LatestDeployment, ...fields } = row ?? assert.fail()
  assert.equal(others.length, 0)
  assert.deepEqual(fields, {
    ID: 'web',
    Namespace: 'default',
    Name: 'web',
    Type: 'service',
    NodePool: 'default',
    Datacenters: ['*'],
    Priority: 70,
    Version: 0,
    SubmitTime: job.SubmitTime,
    ModifyIndex: job.ModifyIndex,
    GroupCountSum: 3,
    ChildStatuses: null,
    ParentID: '',
    Stop: false,
    Status: 'running',
    Health: 'deploying',
    Failure: null,
  })
  assert.deepEqual(
    Allocs.map(({ ID, Group }) => [ID, Group]),
    allocationsOf('web').map(({ ID, TaskGroup }) => [ID, TaskGroup]),
  )
  assert.deepEqual(Allocs[0]?.DeploymentStatus, { Canary: false, Healthy: null })
  assert.deepEqual(LatestDeployment, {
    ID: deployment?.ID,
    IsActive: true,
    JobVersion: 0,
    Status: 'running',
    StatusDescription: deployment?.StatusDescription,
    AllAutoPromote: false,
    RequiresPromotion: false,
  })
})

test('statuses: an allocation has the health that its own page shows', async () => {
  const { run, report, list, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const [row] = allocationsOf('web')
  assert.ok(row)
  const healths = async () => (await list()).flatMap(({ Allocs }) => Allocs.map((a) => a.Health))
  assert.deepEqual(await healths(), ['pending'])
  await report(row, 'running')
  assert.deepEqual(await healths(), ['running'])
})

test('statuses: a job is degraded while a check of it fails', async () => {
  const { server, run, report, list, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const row = allocationsOf('web')[0] ?? assert.fail()
  await report(row, 'running')
  await reportChecks(server, row, 1)
  assert.deepEqual(
    [(await list())[0]?.Health, (await list({ counts: true }))[0]?.Health],
    ['degraded', 'degraded'],
  )
  await reportChecks(server, row, 0)
  assert.equal((await list())[0]?.Health, 'running')
})

function writeRow({ context }: TestServer, row: AllocationRow): void {
  context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', row)],
  })
}

/** States of the task as a node reports them after a failure. */
const failedTask = (State: TaskState['State'], Restarts: number, timeMs: number) => ({
  main: {
    State,
    Restarts,
    Failed: false,
    Events: [{ Type: 'Terminated', Time: nsFromMs(timeMs), ExitCode: 3 }],
  },
})

test('statuses: a job fails while its only allocation waits for a restart', async () => {
  const { server, run, list, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const row = allocationsOf('web')[0] ?? assert.fail()
  const nowMs = server.context.clock.nowMs()
  const TaskStates = failedTask('pending', 1, nowMs)
  writeRow(server, { ...row, ClientStatus: 'pending', TaskStates })
  const [status] = await list({ counts: true })
  assert.equal(status?.Failure?.Text, 'exited with code 3')
  assert.deepEqual([status.Failure.Kind, status.Failure.AllocID], ['exit', row.ID])
})

test('statuses: a job is degraded for ten minutes after a third restart', async () => {
  const { server, run, report, list, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  await report(allocationsOf('web')[0] ?? assert.fail(), 'running')
  const row = allocationsOf('web')[0] ?? assert.fail()
  const nowMs = server.context.clock.nowMs()
  const restarted = async (restarts: number, timeMs: number) => {
    const TaskStates = failedTask('running', restarts, timeMs)
    writeRow(server, { ...row, TaskStates })
    const [status] = await list({ counts: true })
    return [status?.Health, status?.Failure?.Kind ?? null]
  }
  assert.deepEqual(await restarted(2, nowMs), ['running', null])
  assert.deepEqual(await restarted(3, nowMs), ['degraded', 'exit'])
  assert.deepEqual(await restarted(3, nowMs - 600_001), ['running', null])
})

test('statuses: a job without capacity says what is missing', async () => {
  const { run, list } = await aScheduled()
  const Tasks = [aTask({ Resources: { MemoryMB: 9_000_000 } })]
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 }, Count: 2, Tasks })] })
  const [row] = await list({ counts: true })
  assert.deepEqual(
    [row?.Health, row?.Failure?.Kind, row?.Failure?.Count],
    ['blocked', 'unplaced', 2],
  )
  assert.match(row?.Failure?.Text ?? '', /^group "app": 2 allocations .*: not enough: memory/)
})

async function reportChecks({ context }: TestServer, row: AllocationRow, Failing: number) {
  const Checks = { Passing: 1 - Failing, Failing, Pending: 0, Output: '' }
  const ID = `_reeve-task-${row.ID}-web-web-http`
  const service = { ID, ServiceName: 'web', Tags: [], Address: '10.0.0.1', Port: 80, Checks }
  const sets = [{ allocation: row.ID, services: [service] }]
  await reportServices(context, { nodeId: row.NodeID, sets, all: undefined })
}

test('statuses: canaries that wait to be promoted are told', async () => {
  const { run, report, list, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  for (const row of allocationsOf('web')) await report(row, 'running')
  const trial = (AutoPromote: boolean) => ({
    TaskGroups: [
      aGroup({
        Tasks: [aTask({ Config: { command: `/bin/by-itself-${AutoPromote}` } })],
        Update: { MaxParallel: 1, Canary: 1, AutoPromote },
      }),
    ],
  })
  await run(trial(false))
  const [row] = await list()
  assert.deepEqual(
    [row?.LatestDeployment?.RequiresPromotion, row?.LatestDeployment?.AllAutoPromote],
    [true, false],
  )
  assert.equal(
    row?.Allocs.some(({ DeploymentStatus }) => DeploymentStatus.Canary),
    true,
  )
  await run(trial(true))
  assert.equal((await list())[0]?.LatestDeployment?.AllAutoPromote, true)
})

test('statuses: allocations of an earlier registration are left out', async () => {
  const { server, run, settle, list } = await aScheduled()
  await run()
  const [before] = (await list())[0]?.Allocs ?? []
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  await run()
  const [row] = await list()
  assert.deepEqual([row?.Allocs.length, row?.Allocs[0]?.ID === before?.ID], [1, false])
})

test('statuses: a parent shows the states of its children, which are hidden themselves', async () => {
  const { server, run, settle, ids, list } = await aScheduled(0)
  await run(PARAMETERIZED)
  const dispatch = async () =>
    (await server.ok('dispatchJob', { ...ofJob(), body: {} })).DispatchedJobID
  const children = [await dispatch(), await dispatch()]
  await settle()
  await server.ok('stopJob', ofJob(children[0]))
  await settle()
  assert.deepEqual((await list())[0]?.ChildStatuses?.toSorted(), ['dead', 'pending'])
  assert.deepEqual(await ids(), ['web'])
  assert.deepEqual(
    (await ids({ include_children: true })).toSorted(),
    [...children, 'web'].toSorted(),
  )
})

test('statuses: with counts there are numbers in the place of lists', async () => {
  const { run, report, list, allocationsOf, server, settle } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Count: 3 }), aGroup({ Name: 'db', Count: 1 })] })
  for (const row of allocationsOf('web').slice(0, 2)) await report(row, 'running')
  const [row] = await list({ counts: true })
  const none = { Queued: 0, Complete: 0, Failed: 0, Lost: 0, Unknown: 0 }
  assert.deepEqual([row?.Allocs, row?.AllocCounts], [[], { ...none, Running: 2, Starting: 2 }])
  assert.deepEqual([row?.ChildStatuses, row?.ChildCounts], [null, null])
  await run({ ...PARAMETERIZED, ID: 'parent' })
  await server.ok('dispatchJob', { ...ofJob('parent'), body: {} })
  await settle()
  const [parent] = await list({ counts: true })
  assert.deepEqual(parent?.ChildStatuses, [])
  assert.deepEqual(parent?.ChildCounts, { Pending: 0, Running: 1, Dead: 0 })
})

test('statuses: with counts the fields are otherwise the same', async () => {
  const { run, list } = await aScheduled()
  await run()
  const {
    AllocCounts: _counts,
    ChildCounts: _children,
    ...row
  } = (await list({ counts: true }))[0] ?? assert.fail()
  assert.deepEqual({ ...(await list())[0], Allocs: [] }, row)
})

// Order and pages

test('statuses: jobs that change again and again stay in one order', async () => {
  const { server, ids } = await withJobs('a', 'b', 'c')
  const touch = (...jobs: readonly string[]) =>
    server.context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () => jobs.map((ID) => put('jobs', aJob({ ID }))),
    })
  await ids()
  for (let round = 0; round < 2_000; round++) touch(round % 2 === 0 ? 'b' : 'c')
  assert.deepEqual(await ids(), ['c', 'b', 'a'])
  touch('c', 'a')
  assert.deepEqual(await ids(), ['a', 'c', 'b'])
  await server.ok('stopJob', ofJob('a', { purge: true }))
  assert.deepEqual(await ids(), ['c', 'b'])
  assert.deepEqual(await ids({ reverse: true }), ['b', 'c'])
})

const FILTERED: readonly { filter: string; found: readonly string[] }[] = [
  { filter: 'ID contains web', found: ['web-2', 'web-1'] },
  { filter: 'ID contains web and Priority == 70', found: ['web-2'] },
  { filter: 'ID contains zzz and Meta.team == core', found: [] },
  { filter: 'Type == batch and Meta.team == core', found: ['web-2'] },
  { filter: 'Meta.team == core or ID == api', found: ['web-2', 'api'] },
  { filter: 'not ID contains web', found: ['api'] },
  {
    filter: 'Namespace == default and Stop == false and ID matches "^w"',
    found: ['web-2', 'web-1'],
  },
]
for (const { filter, found } of FILTERED)
  test(`statuses: the filter ${filter} finds what it says`, async () => {
    const { run, ids } = await withJobs('web-1', 'api')
    await run({ ID: 'web-2', Type: 'batch', Priority: 70, Meta: { team: 'core' } })
    assert.deepEqual(await ids({ filter }), found)
  })

test('statuses: the newest change comes first', async () => {
  const { run, ids } = await withJobs('a', 'b', 'c')
  assert.deepEqual(await ids(), ['c', 'b', 'a'])
  await run({ ID: 'a', Priority: 9 })
  assert.deepEqual(await ids(), ['a', 'c', 'b'])
  assert.deepEqual(await ids({ reverse: true }), ['b', 'c', 'a'])
})

for (const reverse of [false, true])
  test(`statuses: pages leave nothing out and show nothing twice, reverse=${reverse}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    // Jobs that changed together have one index.
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((ID) => aJob({ ID }))
    for (const some of [jobs.slice(0, 1), jobs.slice(1, 4), jobs.slice(4)])
      server.context.store.commit({
        by: 'system',
        cause: undefined,
        changes: () => some.map((job) => put('jobs', job)),
      })
    const seen: string[] = []
    let next: string | undefined
    do {
      const query = { per_page: 2, reverse, ...(next === undefined ? {} : { next_token: next }) }
      const reply = await server.call('listJobStatuses', { query })
      const items = itemsOf(reply)
      assert.ok(items.length <= 2)
      seen.push(...items.map(({ ID }) => ID))
      next = reply.nextToken
    } while (next !== undefined)
    const order = ['e', 'b', 'c', 'd', 'a']
    assert.deepEqual(seen, reverse ? order.toReversed() : order)
  })

for (const reverse of [false, true])
  test(`statuses: a token may be an index alone, reverse=${reverse}`, async () => {
    const { server, ids } = await withJobs('a', 'b', 'c')
    const { ModifyIndex } = await server.ok('readJob', ofJob('b'))
    const wanted = reverse ? ['b', 'c'] : ['b', 'a']
    assert.deepEqual(await ids({ next_token: String(ModifyIndex), reverse }), wanted)
  })

for (const token of ['x', '.', '0', '999999', '-1.default.a', '5.'])
  test(`statuses: the token ${token} is where it would be`, async () => {
    const { server } = await withJobs('a', 'b')
    const reply = await server.call('listJobStatuses', { query: { next_token: token } })
    assert.equal(reply.status, 200)
  })

test('statuses: prefix, filter and namespace choose', async () => {
  const { server, run, ids } = await withJobs('web-1', 'api')
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await run({ ID: 'web-2', Namespace: 'other', Priority: 70 })
  assert.deepEqual(await ids(), ['api', 'web-1'])
  assert.deepEqual(await ids({ prefix: 'web' }), ['web-1'])
  assert.deepEqual(await ids({ namespace: 'other' }), ['web-2'])
  assert.deepEqual(await ids({ namespace: '*' }), ['web-2', 'api', 'web-1'])
  assert.deepEqual(await ids({ namespace: '*', prefix: 'web' }), ['web-2', 'web-1'])
  assert.deepEqual(await ids({ namespace: '*', filter: 'Priority == 70' }), ['web-2'])
  assert.deepEqual(await ids({ namespace: 'gone' }), [])
  const wrong = { query: { filter: 'Priority ==' } }
  assert.equal((await server.refusal('listJobStatuses', wrong))[0], 400)
})

// Named jobs

test('statuses: a body names the jobs, of whatever namespace', async () => {
  const { server, run } = await withJobs('a', 'b', 'c')
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await run({ ID: 'a', Namespace: 'other' })
  const named = async (body: unknown, query: Query = {}) =>
    (await server.ok('listStatusesOfJobs', { body, query })).map(({ ID, Namespace }) => [
      Namespace,
      ID,
    ])
  const Jobs = [{ ID: 'a' }, { ID: 'c', Namespace: 'default' }, { ID: 'gone' }, { ID: 'a' }]
  assert.deepEqual(await named({ Jobs }), [
    ['default', 'c'],
    ['default', 'a'],
  ])
  assert.deepEqual(await named({ Jobs: [{ ID: 'a', Namespace: 'other' }] }), [['other', 'a']])
  assert.deepEqual(await named({ Jobs: [{ ID: 'a' }] }, { namespace: 'other' }), [['other', 'a']])
  const everything = [
    ['default', 'c'],
    ['default', 'b'],
    ['default', 'a'],
  ]
  for (const body of [undefined, {}, { Jobs: null }, { Jobs: [] }])
    assert.deepEqual(await named(body), everything)
})

test('statuses: a child that is named is shown; others when they are wanted', async () => {
  const { server, run, settle } = await aScheduled(0)
  await run(PARAMETERIZED)
  const child = (await server.ok('dispatchJob', { ...ofJob(), body: {} })).DispatchedJobID
  await settle()
  const named = async (body: object) =>
    (await server.ok('listStatusesOfJobs', { body })).map(({ ID }) => ID).toSorted()
  assert.deepEqual(await named({ Jobs: [{ ID: child }] }), [child])
  assert.deepEqual(await named({}), ['web'])
  assert.deepEqual(await named({ IncludeChildren: true }), ['web', child])
})

// Blocking

const WRITES: readonly {
  name: string
  write: (world: Awaited<ReturnType<typeof aScheduled>>) => Promise<unknown>
}[] = [
  { name: 'a job', write: ({ server }) => server.ok('registerJob', register({ ID: 'b' })) },
  {
    name: 'an allocation',
    write: ({ report, allocationsOf }) =>
      report(allocationsOf('web')[0] ?? assert.fail(), 'running'),
  },
  {
    name: 'a check',
    write: ({ server, allocationsOf }) =>
      reportChecks(server, allocationsOf('web')[0] ?? assert.fail(), 1),
  },
]

for (const { name, write } of WRITES)
  for (const route of ['listJobStatuses', 'listStatusesOfJobs'] as const)
    test(`${route}: waits until ${name} changes`, async () => {
      const world = await aScheduled()
      await world.run()
      const { server } = world
      const { index } = await server.call(route)
      const waiting = server.call(route, { query: { index, wait: '1m' } })
      await untilParked()
      await write(world)
      assert.ok((await waiting).index > index)
    })

// Who may

test('statuses: need read-job; others are left out', async () => {
  const { server, as, root, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const jobs: readonly Input<Job>[] = [{ ID: 'a' }, { ID: 'b', Namespace: 'other' }]
  for (const job of jobs) await server.ok('registerJob', as(root, register(job)))
  const reader = await client('namespace "other" { capabilities = ["read-job"] }')
  const denied = [403, 'Permission denied']
  assert.deepEqual(await server.refusal('listJobStatuses', as(reader)), denied)
  assert.deepEqual(await server.refusal('listStatusesOfJobs', as(reader)), denied)
  const all = { query: { namespace: '*' } }
  const own = ['b']
  const idsOf = (rows: readonly JobStatusRow[]) => rows.map(({ ID }) => ID)
  assert.deepEqual(idsOf(await server.ok('listJobStatuses', as(reader, all))), own)
  assert.deepEqual(idsOf(await server.ok('listStatusesOfJobs', as(reader, all))), own)
  const Jobs = [
    { ID: 'a', Namespace: 'default' },
    { ID: 'b', Namespace: 'other' },
  ]
  const named = as(reader, { body: { Jobs } })
  assert.deepEqual(idsOf(await server.ok('listStatusesOfJobs', named)), own)
  const lister = await client('namespace "other" { capabilities = ["list-jobs"] }')
  assert.deepEqual(await server.refusal('listStatusesOfJobs', as(lister, named)), denied)
})

// Actions

test('actions: the named commands of all tasks, in the order of the job', async () => {
  const { server, run } = await aScheduled(0)
  const Actions = [
    { Name: 'flush', Command: '/bin/flush', Args: ['-a'] },
    { Name: 'b', Command: 'b' },
  ]
  await run({
    TaskGroups: [
      aGroup({ Tasks: [aTask({ Actions })] }),
      aGroup({ Name: 'db', Tasks: [aTask({ Name: 'pg', Actions: Actions.slice(0, 1) }), aTask()] }),
    ],
  })
  assert.deepEqual(await server.ok('listJobActions', ofJob()), [
    {
      Name: 'flush',
      Command: '/bin/flush',
      Args: ['-a'],
      TaskName: 'main',
      TaskGroupName: 'app',
    },
    { Name: 'b', Command: 'b', Args: null, TaskName: 'main', TaskGroupName: 'app' },
    { Name: 'flush', Command: '/bin/flush', Args: ['-a'], TaskName: 'pg', TaskGroupName: 'db' },
  ])
})

test('actions: a job without has an empty list, and an unknown one is not found', async () => {
  const { server } = await withJobs('web')
  assert.deepEqual(await server.ok('listJobActions', ofJob()), [])
  assert.deepEqual(await server.refusal('listJobActions', ofJob('x')), [404, 'job not found'])
})

test('statuses: a job with very many allocations is shown whole', async () => {
  const { server, list } = await aScheduled(0)
  const job = aJob()
  const rows = Array.from({ length: 2_500 }, (_, index) => anAllocation({ job, index }))
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), ...rows.map((row) => put('allocations', row))],
  })
  assert.equal((await list())[0]?.Allocs.length, 2_500)
})
