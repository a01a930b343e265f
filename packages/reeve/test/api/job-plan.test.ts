import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, JobPlanResponse, TaskGroup } from '@reeve/contract'
import { isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { DEFAULT_SCHEDULER_CONFIGURATION } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, anId, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register, withScheduler } from './cluster.ts'
import { disableRegistration } from './disable-registration.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

async function aScheduled(nodes = 1) {
  return await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
}

/** The call that plans the smallest job with these fields. */
function plan(job: Input<Job> = {}, request: object = {}): CallOptions {
  return { ...ofJob(job.ID ?? 'web'), ...register(job, request) }
}

async function planned(server: TestServer, job: Input<Job> = {}): Promise<JobPlanResponse> {
  return await server.ok('planJob', plan(job, { Diff: true }))
}

function group(fields: Input<TaskGroup> = {}): Input<Job> {
  return { TaskGroups: [aGroup(fields)] }
}

/** Asks for so much memory that a node holds one of it. */
const LARGE = { Tasks: [aTask({ Resources: { MemoryMB: 5_000 } })] }
/** Without a deployment every change is made at once. */
const AT_ONCE = { Update: { MaxParallel: 0 } }

/** The counts of a group that are not zero. */
function updates(response: JobPlanResponse, name = 'app'): object {
  const counts = response.Annotations.DesiredTGUpdates[name] ?? {}
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
}

// What it says

test('plan: a new job is placed, has index 0, and nothing of it is kept', async () => {
  const { server } = await aScheduled()
  const { store } = server.context
  const before = store.index
  const reply = await server.call('planJob', plan(group({ Count: 3 })))
  assert.deepEqual([reply.status, reply.index], [200, 0])
  const response = await server.ok('planJob', plan(group({ Count: 3 })))
  assert.deepEqual([response.Index, response.JobModifyIndex], [0, 0])
  assert.deepEqual(updates(response), { Place: 3 })
  assert.deepEqual(
    [response.FailedTGAllocs, response.CreatedEvals, response.Diff, response.Warnings],
    [null, null, null, ''],
  )
  assert.equal(store.index, before)
  assert.deepEqual(await server.refusal('readJob', ofJob()), [404, 'job not found'])
  assert.deepEqual(await server.ok('listEvaluations'), [])
})

test('plan: takes no ids and no chances from those of the server', async () => {
  const { server } = await aScheduled()
  let taken = 0
  const { ids, random } = server.context
  Object.assign(server.context, {
    ids: { uuid: () => (taken++, ids.uuid()) },
    random: { next: () => (taken++, random.next()) },
  })
  const Networks = [{ DynamicPorts: [{ Label: 'http' }] }]
  const scaling = { Min: 0, Max: 5, Enabled: true }
  const job = group({ Count: 2, Networks, Scaling: scaling })
  assert.deepEqual(await planned(server, job), await planned(server, job))
  assert.equal(taken, 0)
})

const CHANGES: readonly {
  readonly name: string
  readonly before: Input<Job>
  readonly after: Input<Job>
  readonly updates: object
}[] = [
  {
    name: 'the same again ignores what runs',
    before: group({ Count: 2 }),
    after: group({ Count: 2 }),
    updates: { Ignore: 2 },
  },
  {
    name: 'a larger count places the difference, and what runs takes over the new version',
    before: group({ Count: 2 }),
    after: group({ Count: 5 }),
    updates: { InPlaceUpdate: 2, Place: 3 },
  },
  {
    name: 'a smaller count stops the difference',
    before: group({ Count: 3 }),
    after: group({ Count: 1 }),
    updates: { InPlaceUpdate: 1, Stop: 2 },
  },
  {
    name: 'another command replaces what runs',
    before: group({ ...AT_ONCE, Count: 2 }),
    after: group({ ...AT_ONCE, Count: 2, Tasks: [aTask({ Config: { command: '/bin/false' } })] }),
    updates: { DestructiveUpdate: 2 },
  },
  {
    name: 'another kill timeout is taken over by what runs',
    before: group({ Count: 2 }),
    after: group({ Count: 2, Tasks: [aTask({ KillTimeout: 9e9 })] }),
    updates: { InPlaceUpdate: 2 },
  },
]

for (const one of CHANGES)
  test(`plan: ${one.name}`, async () => {
    const { server, run } = await aScheduled()
    await run(one.before)
    assert.deepEqual(updates(await planned(server, one.after)), one.updates)
  })

test('plan: a rolling update replaces no more than max_parallel, and canaries are told apart', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run(group({ Count: 3, ...AT_ONCE }))
  for (const row of allocationsOf('web')) await report(row, 'running')
  const Tasks = [aTask({ Config: { command: '/bin/false' } })]
  const rolling = group({ Count: 3, Tasks, Update: { MaxParallel: 2 } })
  assert.deepEqual(updates(await planned(server, rolling)), { Ignore: 1, DestructiveUpdate: 2 })
  const trial = group({ Count: 3, Tasks, Update: { MaxParallel: 1, Canary: 1 } })
  assert.deepEqual(updates(await planned(server, trial)), { Ignore: 3, Canary: 1 })
})

test('plan: what finds no room is told, with the evaluation that would wait for it', async () => {
  const { server } = await aScheduled()
  const response = await planned(server, group({ ...LARGE, Count: 3 }))
  const metrics = response.FailedTGAllocs?.['app'] ?? assert.fail()
  assert.deepEqual(
    [metrics.NodesInPool, metrics.NodesExhausted, metrics.CoalescedFailures],
    [1, 1, 1],
  )
  const [blocked, ...others] = response.CreatedEvals ?? assert.fail()
  assert.deepEqual([blocked?.Status, blocked?.TriggeredBy], ['blocked', 'queued-allocs'])
  assert.deepEqual([blocked?.QueuedAllocations, others], [{ app: 2 }, []])
})

test('plan: what would be displaced is listed', async () => {
  const { server, run } = await aScheduled()
  await run({ ID: 'low', Priority: 10, ...group(LARGE) })
  const settings = {
    ...DEFAULT_SCHEDULER_CONFIGURATION,
    Name: 'scheduler-configuration',
    PreemptionConfig: {
      ...DEFAULT_SCHEDULER_CONFIGURATION.PreemptionConfig,
      ServiceSchedulerEnabled: true,
    },
  } as const
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('settings', settings)],
  })
  const response = await planned(server, { Priority: 90, ...group(LARGE) })
  assert.deepEqual(updates(response), { Place: 1, Preemptions: 1 })
  assert.deepEqual(
    response.Annotations.PreemptedAllocs?.map((stub) => [stub.JobID, stub.DesiredStatus]),
    [['low', 'evict']],
  )
  assert.deepEqual(
    response.CreatedEvals?.map((one) => [one.JobID, one.TriggeredBy]),
    [['low', 'preemption']],
  )
})

test('plan: warnings are those of the registration', async () => {
  const { server } = await aScheduled()
  const job = group({ Tasks: [aTask({ Resources: { IOPS: 9 } })] })
  const { Warnings } = await server.ok('planJob', plan(job))
  assert.equal(Warnings, (await server.ok('registerJob', register(job))).Warnings)
})

test('plan, registration and validation warn of a schedule that no time fits', async () => {
  const { server } = await aScheduled()
  const job = (Spec: string) => ({ Type: 'batch', Periodic: { Enabled: true, Spec } })
  const warned = async (Spec: string) => [
    (await server.ok('planJob', plan(job(Spec)))).Warnings,
    (await server.ok('validateJob', register(job(Spec)))).Warnings,
    (await server.ok('registerJob', register(job(Spec)))).Warnings,
  ]
  const never = /Periodic: no time to come fits the schedule, so nothing will be launched/
  for (const text of await warned('0 0 30 2 *')) assert.match(text, never)
  assert.deepEqual(await warned('0 0 29 2 *'), ['', '', ''])
})

test('plan: the index is that of the registered job, and enforces it', async () => {
  const { server } = await aScheduled()
  await server.ok('registerJob', register())
  const { JobModifyIndex } = await planned(server, group({ Count: 2 }))
  assert.equal(JobModifyIndex, (await server.ok('readJob', ofJob())).JobModifyIndex)
  const request = { EnforceIndex: true, JobModifyIndex }
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      server.call('registerJob', register(group({ Count: n + 2 }), request)),
    ),
  )
  const statuses = replies.map((reply) => reply.status).toSorted((a, b) => a - b)
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)])
  assert.equal((await server.ok('readJob', ofJob())).Version, 1)
})

test('plan: a stopped job is planned as the one that would revive it', async () => {
  const { server, run, settle } = await aScheduled()
  await run()
  await server.ok('stopJob', ofJob())
  await settle()
  assert.deepEqual(updates(await planned(server)), { Place: 1 })
})

test('plan: after a purge the job is new', async () => {
  const { server, run, settle } = await aScheduled()
  await run()
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  const response = await planned(server)
  assert.deepEqual([response.Index, response.Diff?.Type], [0, 'Added'])
})

test('plan: a job on every node is placed on those that take it', async () => {
  const { server } = await aScheduled(3)
  assert.deepEqual(updates(await planned(server, { Type: 'system' })), { Place: 3 })
})

// Diff

test('plan: the diff is there only when it is asked for', async () => {
  const { server } = await aScheduled()
  assert.equal((await server.ok('planJob', plan())).Diff, null)
  assert.equal((await server.ok('planJob', plan({}, { Diff: true }))).Diff?.Type, 'Added')
})

test('plan: the diff of a job that is registered as it is has no change', async () => {
  const { server, run } = await aScheduled()
  const job = group({ Count: 1, Scaling: { Min: 0, Max: 5, Enabled: true } })
  await run(job)
  const { Diff } = await planned(server, job)
  assert.deepEqual([Diff?.Type, Diff?.Fields, Diff?.Objects], ['None', null, null])
  assert.deepEqual(
    Diff?.TaskGroups?.map(({ Type, Updates }) => [Type, Updates]),
    [['None', { ignore: 1 }]],
  )
})

test('plan: the diff says what each change would do', async () => {
  const { server, run } = await aScheduled()
  await run(group({ ...AT_ONCE, Count: 1 }))
  const Tasks = [aTask({ Config: { command: '/bin/false' } })]
  const { Diff } = await planned(server, {
    Priority: 70,
    TaskGroups: [aGroup({ ...AT_ONCE, Count: 3, Tasks }), aGroup({ Name: 'new' })],
  })
  assert.deepEqual(
    Diff?.Fields?.map(({ Name, Old, New }) => [Name, Old, New]),
    [['Priority', '50', '70']],
  )
  const [app, added] = Diff?.TaskGroups ?? []
  assert.deepEqual(app?.Updates, { create: 2, 'create/destroy update': 1 })
  const count = app?.Fields?.find(({ Name }) => Name === 'Count')
  assert.deepEqual(count?.Annotations, ['forces create'])
  assert.deepEqual(app?.Tasks?.[0]?.Annotations, ['forces create/destroy update'])
  assert.deepEqual(
    [added?.Name, added?.Type, added?.Updates, added?.Tasks?.[0]?.Annotations],
    ['new', 'Added', { create: 1 }, ['forces create']],
  )
})

// Launches

const LAUNCHES = [
  { name: 'a job that is not periodic has no launch', job: {}, next: ZERO_TIME },
  {
    name: 'a periodic job is launched next by its schedule',
    job: { ...PERIODIC, Periodic: { Spec: '30 12 * * *' } },
    next: '12:30',
  },
  {
    name: 'a schedule is that of its time zone',
    job: { ...PERIODIC, Periodic: { Spec: '30 12 * * *', TimeZone: 'Asia/Kolkata' } },
    next: '07:00',
  },
  {
    name: 'a periodic job that is disabled has no launch',
    job: { ...PERIODIC, Periodic: { Spec: '30 12 * * *', Enabled: false } },
    next: ZERO_TIME,
  },
  {
    name: 'a job that waits for its dispatch has no launch',
    job: { ...PERIODIC, ...PARAMETERIZED },
    next: ZERO_TIME,
  },
]

for (const { name, job, next } of LAUNCHES)
  test(`plan: ${name}`, async () => {
    const { server } = await aScheduled()
    const response = await planned(server, job)
    const found = response.NextPeriodicLaunch
    if (next === ZERO_TIME) assert.equal(found, ZERO_TIME)
    else assert.equal(found.slice(11, 16), next)
    if (next !== ZERO_TIME) assert.ok(found > isoFromMs(server.clock.nowMs()))
  })

test('plan: a parent places nothing itself', async () => {
  const { server } = await aScheduled()
  assert.deepEqual((await planned(server, PERIODIC)).Annotations.DesiredTGUpdates, {})
})

// What is refused

const REFUSED: readonly { name: string; call: CallOptions; text: string }[] = [
  { name: 'no body', call: ofJob(), text: 'Request body is empty' },
  { name: 'no job', call: { ...ofJob(), body: {} }, text: 'Job must be specified' },
  { name: 'a null job', call: { ...ofJob(), body: { Job: null } }, text: 'Job must be specified' },
  { name: 'no id', call: { ...ofJob(), body: { Job: {} } }, text: 'Job must have a valid ID' },
  {
    name: 'another id than in the path',
    call: { ...plan(), ...ofJob('other') },
    text: 'Job ID does not match',
  },
]

for (const { name, call, text } of REFUSED)
  test(`plan: ${name} is refused`, async () => {
    const { server } = await aScheduled()
    assert.deepEqual(await server.refusal('planJob', call), [400, text])
  })

const INVALID: readonly { name: string; before?: Input<Job>; job: Input<Job> }[] = [
  { name: 'no groups', job: { TaskGroups: [] } },
  { name: 'an unknown type', job: { Type: 'wonder' } },
  { name: 'several things at once', job: { Priority: 101, TaskGroups: [{ Name: 'g' }] } },
  { name: 'an unknown namespace', job: { Namespace: 'gone' } },
  { name: 'an unknown time zone', job: { ...PERIODIC, Periodic: { Spec: '', TimeZone: 'x/y' } } },
  { name: 'a payload', job: { Payload: 'eA==' } },
  { name: 'scaling of a system job', job: { Type: 'system', ...group({ Scaling: { Max: 1 } }) } },
  { name: 'another type', before: {}, job: { Type: 'batch' } },
  { name: 'periodic or not', before: { Type: 'batch' }, job: PERIODIC },
  { name: 'parameterized or not', before: { Type: 'batch' }, job: PARAMETERIZED },
]

for (const { name, before, job } of INVALID)
  test(`plan: refuses what a registration refuses, in the same words: ${name}`, async () => {
    const { server } = await aScheduled()
    if (before !== undefined) await server.ok('registerJob', register(before))
    const registered = await server.refusal('registerJob', register(job))
    assert.equal(registered[0], 400)
    assert.deepEqual(await server.refusal('planJob', plan(job)), registered)
  })

test('plan: another region is not found, whoever names it', async () => {
  const { server } = await aScheduled()
  const wanted = [404, 'No path to region']
  assert.deepEqual(await server.refusal('planJob', plan({ Region: 'mars' })), wanted)
  assert.deepEqual(await server.refusal('planJob', plan({}, { Region: 'mars' })), wanted)
  const call = { ...plan(), ...ofJob('web', { region: 'mars' }) }
  assert.deepEqual(await server.refusal('planJob', call), wanted)
})

// Who may

test('plan: needs submit-job or plan-job where the job goes', async () => {
  const { server, as, root, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  for (const capability of ['submit-job', 'plan-job']) {
    const planner = await client(`namespace "other" { capabilities = ["${capability}"] }`)
    await server.ok('planJob', as(planner, { ...plan(), ...ofJob('web', { namespace: 'other' }) }))
    await server.ok('planJob', as(planner, plan({}, { Namespace: 'other' })))
    await server.ok('planJob', as(planner, plan({ Namespace: 'other' })))
    assert.deepEqual(await server.refusal('planJob', as(planner, plan())), DENIED)
  }
  const reader = await client('namespace "default" { policy = "read" }')
  assert.deepEqual(await server.refusal('planJob', as(reader, plan())), DENIED)
})

test('plan: PolicyOverride needs policy-override too', async () => {
  const { server, as, client } = await aSecuredServer()
  const call = plan({}, { PolicyOverride: true })
  const planner = await client('namespace "default" { capabilities = ["plan-job"] }')
  assert.deepEqual(await server.refusal('planJob', as(planner, call)), DENIED)
  const both = 'capabilities = ["plan-job", "policy-override"]'
  await server.ok('planJob', as(await client(`namespace "default" { ${both} }`), call))
})

test('plan: who may not is not told what is wrong with the job', async () => {
  const { server, as, client } = await aSecuredServer()
  const reader = await client('namespace "default" { policy = "read" }')
  const call = plan({ TaskGroups: [] })
  assert.deepEqual(await server.refusal('planJob', as(reader, call)), DENIED)
})

test('plan: may be asked while registrations are refused', async () => {
  const { server, as, client } = await aSecuredServer()
  await disableRegistration(server)
  const writer = await client('namespace "default" { policy = "write" }')
  assert.equal((await server.refusal('registerJob', as(writer, register())))[0], 403)
  await server.ok('planJob', as(writer, plan()))
})

test('plan: a pool of its namespace is filled in as at registration', async () => {
  const { server } = await aScheduled()
  const node = server.context.store.tables.nodes.get(anId('node', 1))
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  const NodePoolConfiguration = { Default: 'gpu' }
  await server.ok('writeNamespace', { body: { Name: 'default', NodePoolConfiguration } })
  assert.equal((await planned(server)).FailedTGAllocs?.['app']?.NodePool, 'gpu')
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('nodes', { ...node, NodePool: 'gpu' })],
  })
  assert.deepEqual(updates(await planned(server)), { Place: 1 })
})
