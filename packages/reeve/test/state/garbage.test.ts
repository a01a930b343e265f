import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, Evaluation, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { newHostVolume, type AllocationRow } from '../../src/model/index.ts'
import {
  runGc,
  planGcBatch,
  firstCursor,
  DEFAULT_GC_THRESHOLDS,
  put,
  type Change,
  type GcCounts,
  type Store,
} from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anEvaluation, anId, aNode } from '../build/index.ts'
import { aStore } from '../build/store.ts'

const HOUR_MS = 3_600_000
const NOW_MS = 1_800_000_000_000
const NOTHING: GcCounts = {
  jobs: 0,
  evaluations: 0,
  allocations: 0,
  deployments: 0,
  nodes: 0,
}

/** So long ago, as rows say it. */
function ago(ms: number): number {
  return nsFromMs(NOW_MS - ms)
}

function job(fields: Partial<Job> = {}): Job {
  return { ...aJob(), Status: 'running', SubmitTime: ago(5 * HOUR_MS), ...fields }
}

function evaluation(of: Job, fields: Partial<Evaluation> = {}): Evaluation {
  const time = ago(2 * HOUR_MS)
  const row = anEvaluation(of, { ID: anId('eval', 1), Status: 'complete' })
  return { ...row, CreateTime: time, ModifyTime: time, ...fields }
}

/** Ended two hours ago. */
function allocation(of: Job, fields: Partial<AllocationRow> & { index?: number } = {}) {
  return anAllocation({
    job: of,
    DesiredStatus: 'stop',
    ClientStatus: 'complete',
    ModifyTime: ago(2 * HOUR_MS),
    CreateTime: ago(2 * HOUR_MS),
    ...fields,
  })
}

async function withRows(rows: readonly Change[]) {
  const { store } = await aStore()
  await store.commit({ by: 'system', cause: undefined, changes: () => rows }).durable
  return store
}

async function collect(store: Store, ages = DEFAULT_GC_THRESHOLDS): Promise<GcCounts> {
  let turns = 0
  return await runGc(store, {
    by: 'system',
    nowMs: NOW_MS,
    ages,
    yieldToEventLoop: async () => assert.ok(turns++ < 10_000, 'a collection comes to its end'),
  })
}

// Evaluations and their allocations

const running = job()
const evaluationCases: readonly {
  name: string
  rows: readonly Change[]
  collected: Partial<GcCounts>
}[] = [
  {
    name: 'goes an hour after its end, with its allocations',
    rows: [put('evaluations', evaluation(running)), put('allocations', allocation(running))],
    collected: { evaluations: 1, allocations: 1 },
  },
  {
    name: 'stays within the hour',
    rows: [put('evaluations', evaluation(running, { ModifyTime: ago(HOUR_MS - 1) }))],
    collected: {},
  },
  {
    name: 'stays while it waits',
    rows: [
      put('evaluations', evaluation(running, { Status: 'pending' })),
      put('evaluations', evaluation(running, { ID: anId('eval', 2), Status: 'blocked' })),
    ],
    collected: {},
  },
  {
    name: 'stays while an allocation of it runs',
    rows: [
      put('evaluations', evaluation(running)),
      put('allocations', allocation(running, { DesiredStatus: 'run', ClientStatus: 'running' })),
      put('allocations', allocation(running, { index: 1 })),
    ],
    collected: {},
  },
  {
    name: 'stays while an allocation that should stop has not',
    rows: [
      put('evaluations', evaluation(running)),
      put('allocations', allocation(running, { ClientStatus: 'running' })),
      node({}),
    ],
    collected: {},
  },
  {
    name: 'goes with one that should stop and whose node is forgotten',
    rows: [
      put('evaluations', evaluation(running)),
      put('allocations', allocation(running, { ClientStatus: 'running' })),
    ],
    collected: { evaluations: 1, allocations: 1 },
  },
  {
    name: 'stays while an allocation of it ended just now',
    rows: [
      put('evaluations', evaluation(running)),
      put('allocations', allocation(running, { ModifyTime: ago(1) })),
    ],
    collected: {},
  },
]
for (const { name, rows, collected } of evaluationCases)
  test(`an evaluation ${name}`, async () => {
    const store = await withRows([put('jobs', running), ...rows])
    assert.deepEqual(await collect(store), { ...NOTHING, ...collected })
    assert.deepEqual(await collect(store), NOTHING)
  })

const HOUR_NS = nsFromMs(HOUR_MS)
const rescheduleCases = [
  { name: 'may always run again', policy: { Unlimited: true }, stays: true },
  { name: 'may never run again', policy: { Unlimited: false, Attempts: 0 }, stays: false },
  {
    name: 'may run again, and has not yet',
    policy: { Unlimited: false, Attempts: 1, Interval: HOUR_NS },
    stays: true,
  },
  {
    name: 'was last placed again before the interval',
    policy: { Unlimited: false, Attempts: 1, Interval: HOUR_NS },
    again: ago(3 * HOUR_MS),
    stays: false,
  },
  {
    name: 'was last placed again within the interval',
    policy: { Unlimited: false, Attempts: 1, Interval: 4 * HOUR_NS },
    again: ago(3 * HOUR_MS),
    stays: true,
  },
  {
    name: 'was replaced',
    policy: { Unlimited: true },
    fields: { NextAllocation: anId('alloc', 9) },
    stays: false,
  },
  { name: 'is of a stopped job', policy: { Unlimited: true }, job: { Stop: true }, stays: false },
]
for (const { name, policy, again, fields, job: of, stays } of rescheduleCases)
  test(`a failed allocation that ${name} ${stays ? 'stays' : 'goes'}`, async () => {
    const ReschedulePolicy = { Delay: HOUR_NS, DelayFunction: 'constant', ...policy }
    const owner = job({ ...aJob({ groups: [aGroup({ ReschedulePolicy })] }), ...of })
    const live = { ...owner, Status: 'running' as const, SubmitTime: ago(0) }
    const event = { PrevAllocID: '', PrevNodeID: '', RescheduleTime: again ?? 0, Delay: 0 }
    const row = allocation(live, {
      DesiredStatus: 'run',
      ClientStatus: 'failed',
      ...(again === undefined
        ? {}
        : { RescheduleTracker: { Events: [event], LastReschedule: '' } }),
      ...fields,
    })
    const store = await withRows([
      put('jobs', live),
      put('evaluations', evaluation(live)),
      put('allocations', row),
    ])
    assert.equal((await collect(store)).allocations, stays ? 0 : 1)
  })

const batchCases = [
  { name: 'of a batch job that may run again stays', of: {}, gone: false, counts: {} },
  {
    name: 'of a batch job that is stopped and dead goes after a day',
    of: { Stop: true, Status: 'dead' },
    gone: false,
    counts: { evaluations: 1, allocations: 1 },
  },
  {
    name: 'of a batch job that is gone goes after a day',
    of: {},
    gone: true,
    counts: { evaluations: 1, allocations: 1 },
  },
] as const
for (const { name, of, gone, counts } of batchCases)
  test(`an evaluation ${name}`, async () => {
    const batch = job({ ...aJob({ Type: 'batch' }), SubmitTime: ago(0), Status: 'running', ...of })
    const rows = (time: number) => [
      ...(gone ? [] : [put('jobs', batch)]),
      put('evaluations', evaluation(batch, { ModifyTime: time, CreateTime: time })),
      put('allocations', allocation(batch, { ModifyTime: time })),
    ]
    assert.deepEqual(await collect(await withRows(rows(ago(23 * HOUR_MS)))), NOTHING)
    assert.deepEqual(await collect(await withRows(rows(ago(24 * HOUR_MS)))), {
      ...NOTHING,
      ...counts,
    })
  })

test('what a batch job has done stays, also if the evaluation that placed it was to stop the one before', async () => {
  const batch = job({ ...aJob({ Type: 'batch' }), SubmitTime: ago(0) })
  const time = ago(25 * HOUR_MS)
  const store = await withRows([
    put('jobs', batch),
    put('evaluations', evaluation(batch, { Type: 'service', ModifyTime: time, CreateTime: time })),
    put('allocations', allocation(batch, { ModifyTime: time })),
  ])
  assert.deepEqual(await collect(store), NOTHING)
})

test('of a batch job that runs only what earlier versions did goes', async () => {
  const batch = job({ ...aJob({ Type: 'batch' }), SubmitTime: ago(0), Version: 2 })
  const day = ago(25 * HOUR_MS)
  const store = await withRows([
    put('jobs', batch),
    put('evaluations', evaluation(batch, { ModifyTime: day, CreateTime: day })),
    put('allocations', allocation(batch, { ModifyTime: day, JobVersion: 1 })),
    put('allocations', allocation(batch, { ModifyTime: day, JobVersion: 2, index: 1 })),
  ])
  assert.deepEqual(await collect(store), { ...NOTHING, allocations: 1 })
  assert.equal(store.tables.allocations.has(anId('alloc', 2)), true)
})

test('versions of a purged job go with the last allocation that runs them', async () => {
  const purged = job()
  const store = await withRows([
    put('job_versions', purged),
    put('evaluations', evaluation(purged)),
    put('allocations', allocation(purged)),
  ])
  await collect(store)
  assert.deepEqual([store.tables.job_versions.size, store.tables.allocations.size], [0, 0])
})

// Jobs

const tag = { Name: 'gold', Description: '', TaggedTime: 0 }
const jobCases: readonly { name: string; of: Partial<Job>; goes: boolean }[] = [
  { name: 'stopped and dead', of: { Stop: true, Status: 'dead' }, goes: true },
  { name: 'dead but not stopped', of: { Status: 'dead' }, goes: false },
  { name: 'stopped but not dead', of: { Stop: true, Status: 'running' }, goes: false },
  { name: 'batch and dead', of: { Type: 'batch', Status: 'dead' }, goes: true },
  { name: 'sysbatch and dead', of: { Type: 'sysbatch', Status: 'dead' }, goes: true },
  {
    name: 'submitted lately',
    of: { Stop: true, Status: 'dead', SubmitTime: ago(4 * HOUR_MS - 1) },
    goes: false,
  },
  {
    name: 'a version of which is tagged',
    of: { Stop: true, Status: 'dead', VersionTag: tag },
    goes: false,
  },
]
for (const { name, of, goes } of jobCases)
  test(`a job that is ${name} ${goes ? 'goes' : 'stays'}`, async () => {
    const owner = job(of)
    const time = ago(5 * HOUR_MS)
    const store = await withRows([
      put('jobs', owner),
      put('job_versions', owner),
      put('evaluations', evaluation(owner, { Type: 'batch', ModifyTime: time, CreateTime: time })),
      put('allocations', allocation(owner, { ModifyTime: time })),
    ])
    const counts = { ...NOTHING, jobs: 1, evaluations: 1, allocations: 1 }
    assert.deepEqual(await collect(store), goes ? counts : NOTHING)
    assert.equal(store.tables.job_versions.size, goes ? 0 : 1)
  })

for (const [name, periodic] of [
  ['periodic', { Periodic: { Spec: '* * * * *' } }],
  ['parameterized', { ParameterizedJob: { Payload: 'optional' } }],
] as const)
  test(`a ${name} job goes only when it was stopped`, async () => {
    const parent = { ...aJob({ Type: 'batch', ...periodic }), SubmitTime: ago(5 * HOUR_MS) }
    const stays = await withRows([put('jobs', { ...parent, Status: 'dead' })])
    assert.equal((await collect(stays)).jobs, 0)
    const goes = await withRows([put('jobs', { ...parent, Status: 'dead', Stop: true })])
    assert.equal((await collect(goes)).jobs, 1)
  })

test('a job stays while one of its evaluations is young', async () => {
  const owner = job({ Stop: true, Status: 'dead' })
  const store = await withRows([
    put('jobs', owner),
    put('evaluations', evaluation(owner, { ModifyTime: ago(0) })),
  ])
  assert.deepEqual(await collect(store), NOTHING)
})

// Deployments and nodes

function deployment(fields: Partial<Deployment>): Deployment {
  return {
    ID: anId('any', 1),
    Namespace: 'default',
    JobID: 'web',
    JobVersion: 0,
    JobModifyIndex: 0,
    JobSpecModifyIndex: 0,
    JobCreateIndex: 0,
    IsMultiregion: false,
    TaskGroups: {},
    Status: 'successful',
    StatusDescription: '',
    EvalPriority: 50,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: 0,
    ModifyTime: ago(2 * HOUR_MS),
    ...fields,
  }
}

const young = { EvalID: anId('eval', 7), DeploymentID: anId('any', 1) }
for (const { name, row, allocations, goes } of [
  { name: 'that ended goes after an hour', row: {}, allocations: [], goes: true },
  { name: 'that goes on stays', row: { Status: 'running' as const }, allocations: [], goes: false },
  { name: 'that ended lately stays', row: { ModifyTime: ago(1) }, allocations: [], goes: false },
  {
    name: 'stays while an allocation of it runs',
    row: {},
    allocations: [allocation(job(), { ...young, DesiredStatus: 'run', ClientStatus: 'running' })],
    goes: false,
  },
  {
    name: 'goes before allocations of it that ended',
    row: {},
    allocations: [allocation(job(), { ...young })],
    goes: true,
  },
])
  test(`a deployment ${name}`, async () => {
    const store = await withRows([
      put('deployments', deployment(row)),
      ...allocations.map((one) => put('allocations', one)),
    ])
    assert.equal((await collect(store)).deployments, goes ? 1 : 0)
  })

// The first commit of a store has index 1, and so has the job in it.
const failed = { Status: 'failed', JobCreateIndex: 1 } as const
for (const { name, row, fields, goes } of [
  { name: 'holds its version up and stays', row: failed, fields: {}, goes: false },
  { name: 'of a stopped job goes', row: failed, fields: { Stop: true }, goes: true },
  { name: 'of an older version goes', row: failed, fields: { Version: 1 }, goes: true },
  {
    name: 'of an earlier registration goes',
    row: { ...failed, JobCreateIndex: 7 },
    fields: {},
    goes: true,
  },
])
  test(`a deployment that failed ${name}`, async () => {
    const store = await withRows([put('jobs', job(fields)), put('deployments', deployment(row))])
    assert.equal((await collect(store)).deployments, goes ? 1 : 0)
  })

function node(fields: object) {
  const { SecretID: _secret, ...row } = aNode(fields)
  return put('nodes', { ...row, SecretHash: '' })
}

const secondsAgo = (ms: number): number => (NOW_MS - ms) / 1000
for (const { name, row, live, goes } of [
  {
    name: 'that is down for a day goes',
    row: { Status: 'down', StatusUpdatedAt: secondsAgo(24 * HOUR_MS) },
    live: false,
    goes: true,
  },
  {
    name: 'that went down today stays',
    row: { Status: 'down', StatusUpdatedAt: secondsAgo(23 * HOUR_MS) },
    live: false,
    goes: false,
  },
  {
    name: 'that is there stays',
    row: { Status: 'ready', StatusUpdatedAt: 0 },
    live: false,
    goes: false,
  },
  {
    name: 'stays while something on it has not ended',
    row: { Status: 'down', StatusUpdatedAt: 0 },
    live: true,
    goes: false,
  },
])
  test(`a node ${name}`, async () => {
    const on = anAllocation({ EvalID: anId('eval', 7) })
    const store = await withRows([node(row), ...(live ? [put('allocations', on)] : [])])
    assert.equal((await collect(store)).nodes, goes ? 1 : 0)
  })

// Slices

test('a node with volumes stays, and so do they', async () => {
  const row = newHostVolume({ Name: 'data' }, { id: anId('any', 1), origin: 'created' })
  const down = { Status: 'down', StatusUpdatedAt: secondsAgo(48 * HOUR_MS) } as const
  const state = { NodeID: anId('node', 1), State: 'unavailable' } as const
  const store = await withRows([
    node({ ID: anId('node', 1), ...down }),
    put('host_volumes', { ...row, ...state, ModifyTime: ago(48 * HOUR_MS) }),
  ])
  assert.deepEqual(await collect(store), NOTHING)
  assert.equal(store.tables.host_volumes.size, 1)
})

test('a large job goes in slices, none of which removes more than a thousand rows', async () => {
  const owner = job({ Type: 'batch', Status: 'dead' })
  const old = { ModifyTime: ago(6 * HOUR_MS) }
  const store = await withRows([
    put('jobs', owner),
    put('job_versions', owner),
    put('evaluations', evaluation(owner, { ...old, CreateTime: ago(6 * HOUR_MS) })),
    ...Array.from({ length: 5_000 }, (_, index) =>
      put('allocations', allocation(owner, { ...old, index })),
    ),
  ])
  const sizes: number[] = []
  store.log.subscribe((commits) => sizes.push(...commits.map((commit) => commit.rows.length)))
  const counts = { ...NOTHING, jobs: 1, evaluations: 1, allocations: 5_000 }
  assert.deepEqual(await collect(store), counts)
  assert.ok(sizes.length >= 6 && Math.max(...sizes) <= 1_000, JSON.stringify(sizes))
  assert.deepEqual([store.tables.allocations.size, store.tables.jobs.size], [0, 0])
})

test('a large job of which one allocation is needed keeps all of them', async () => {
  const owner = job({ Type: 'batch', Status: 'dead' })
  const old = { ModifyTime: ago(6 * HOUR_MS) }
  const store = await withRows([
    put('jobs', owner),
    ...Array.from({ length: 2_000 }, (_, index) =>
      put('allocations', allocation(owner, { ...old, index })),
    ),
    put('allocations', allocation(owner, { index: 2_000, ModifyTime: ago(0) })),
  ])
  assert.deepEqual(await collect(store), NOTHING)
  assert.equal(store.tables.allocations.size, 2_001)
})

test('running allocations are skipped without being decoded', async () => {
  const store = await withRows([
    put('jobs', running),
    ...Array.from({ length: 2_000 }, (_, index) =>
      put('evaluations', evaluation(running, { ID: anId('eval', index), Status: 'blocked' })),
    ),
  ])
  let slices = 0
  await runGc(store, {
    by: 'system',
    nowMs: NOW_MS,
    ages: DEFAULT_GC_THRESHOLDS,
    yieldToEventLoop: async () => void slices++,
  })
  assert.equal(slices, 1)
})

test('a decision changes nothing and is the same each time', async () => {
  const store = await withRows([
    put('jobs', running),
    put('evaluations', evaluation(running)),
    put('allocations', allocation(running)),
  ])
  const options = { nowMs: NOW_MS, ages: DEFAULT_GC_THRESHOLDS }
  const decide = () => planGcBatch(store.tables, firstCursor(store.tables), options)
  const [first, second] = [decide(), decide()]
  assert.deepEqual(first.slice.counts, second.slice.counts)
  assert.deepEqual([first.next, second.next], [undefined, undefined])
  assert.equal(store.tables.evaluations.size, 1)
})
