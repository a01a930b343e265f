import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Explanation, GroupExplanation, Input, Job, TaskGroup } from '@reeve/contract'
import { isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { explainJob } from '../../src/workload/index.ts'
import { aGroup, anId, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, putNode, register, withScheduler } from './cluster.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

async function aScheduled(nodes = 1) {
  return await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
}

function asking(MemoryMB: number, fields: Input<TaskGroup> = {}): Input<Job> {
  return { TaskGroups: [aGroup({ ...fields, Tasks: [aTask({ Resources: { MemoryMB } })] })] }
}

async function explain(server: TestServer, query = {}): Promise<Explanation> {
  return await server.ok('explainJob', ofJob('web', query))
}

function only(explanation: Explanation): GroupExplanation {
  const [group, ...others] = explanation.Groups
  assert.equal(others.length, 0)
  return group ?? assert.fail(explanation.Text)
}

/** The latest evaluation of the job. */
async function evaluationOf(server: TestServer, status?: string) {
  const all = await server.ok('listJobEvaluations', ofJob())
  return all.find((one) => status === undefined || one.Status === status) ?? assert.fail()
}

// What it says

test('explain: a job whose instances are all placed has nothing to explain', async () => {
  const { server, run } = await aScheduled()
  await run()
  const explanation = await explain(server)
  assert.deepEqual(explanation, {
    JobID: 'web',
    Namespace: 'default',
    JobVersion: 0,
    EvalID: (await evaluationOf(server)).ID,
    EvalStatus: 'complete',
    Index: server.context.store.index,
    Text: 'all allocations are placed',
    Groups: [],
    GroupsOmitted: 0,
  })
})

test('explain: names the rule, how far the node is from fitting, and the smallest change', async () => {
  const { server, run } = await aScheduled()
  await run(asking(9_000))
  const explanation = await explain(server)
  const group = only(explanation)
  assert.deepEqual(
    [group.TaskGroup, group.Desired, group.Placed, group.Unplaced, group.NodesConsidered],
    ['app', 1, 0, 1, 1],
  )
  assert.deepEqual(
    group.Instances.map(({ Name, State, WaitUntil }) => [Name, State, WaitUntil]),
    [['web.app[0]', 'refused', ZERO_TIME]],
  )
  const [refusal] = group.Refusals
  assert.deepEqual(refusal?.Nodes, [{ ID: anId('node', 1), Name: 'node-1' }])
  const [reason] = refusal?.Reasons ?? []
  assert.deepEqual([reason?.Rule, reason?.Level], ['memory', 'group'])
  assert.deepEqual(reason?.Shortfall, {
    Unit: 'MB',
    Asked: 9_000,
    Free: 8_192,
    Capacity: 8_192,
    Missing: 808,
  })
  const [change] = group.Changes
  assert.deepEqual(
    change?.Steps.map(({ Kind, Path, To }) => [Kind, Path, To]),
    [['edit-job', 'TaskGroups[app].Tasks[main].Resources.MemoryMB', '8192']],
  )
  assert.equal(change?.Places, 1)
  assert.ok(explanation.Text.startsWith('1 of 1 allocations of group "app" are unplaced'))
})

test('explain: the change that it names places what it says', async () => {
  const { server, run } = await aScheduled()
  await run(asking(9_000))
  const step = only(await explain(server)).Changes[0]?.Steps[0]
  await run(asking(Number(step?.To)))
  assert.deepEqual((await explain(server)).Groups, [])
})

test('explain: without nodes it says so', async () => {
  const { server, run } = await aScheduled(0)
  await run()
  const explanation = await explain(server)
  assert.ok(explanation.Text.endsWith('there are no nodes'))
  assert.deepEqual(only(explanation).Refusals, [])
})

test('explain: is worked out against the state of now', async () => {
  const { server, run, settle } = await aScheduled(0)
  await run()
  assert.equal((await explain(server)).Groups.length, 1)
  await putNode(server)
  assert.equal(only(await explain(server)).Instances[0]?.State, 'queued')
  server.clock.advance(1_000)
  await settle()
  assert.deepEqual((await explain(server)).Groups, [])
})

test('explain: the evaluation is the latest, and says whether it still waits', async () => {
  const { server, run } = await aScheduled(0)
  await run()
  const blocked = await evaluationOf(server, 'blocked')
  const { EvalID, EvalStatus } = await explain(server)
  assert.deepEqual([EvalID, EvalStatus], [blocked.ID, 'blocked'])
})

// States of instances

test('explain: what has not been evaluated is queued, with the node that it would get', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await putNode(server, { Name: 'node-1' })
  await server.ok('registerJob', register())
  const [instance] = only(await explain(server)).Instances
  assert.equal(instance?.State, 'queued')
  assert.match(instance?.Text ?? '', /room for it on node node-1; its evaluation has not run/)
})

test('explain: what failed and is placed again later is delayed until then', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  const ReschedulePolicy = { Delay: 60e9, DelayFunction: 'constant', Unlimited: true }
  await run({ TaskGroups: [aGroup({ ReschedulePolicy, Update: { MaxParallel: 0 } })] })
  const [row] = allocationsOf('web')
  await report(row ?? assert.fail(), 'failed')
  const group = only(await explain(server))
  const [instance] = group.Instances
  assert.deepEqual([instance?.State, instance?.PreviousAllocation], ['delayed', row?.ID])
  assert.equal(instance?.WaitUntil, isoFromMs(server.clock.nowMs() + 60_000))
  assert.deepEqual([group.Refusals, group.Changes], [[], []])
})

test('explain: what failed for the last time is held', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  const ReschedulePolicy = { Attempts: 0, Unlimited: false }
  await run({ TaskGroups: [aGroup({ ReschedulePolicy, Update: { MaxParallel: 0 } })] })
  const [row] = allocationsOf('web')
  await report(row ?? assert.fail(), 'failed')
  const [instance] = only(await explain(server)).Instances
  assert.deepEqual([instance?.State, instance?.PreviousAllocation], ['held', row?.ID])
  assert.equal(instance?.Text, 'the one before it is failed and is not placed again')
})

test('explain: what failed of a system job is held until something else asks for it', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run({ Type: 'system', TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const [row] = allocationsOf('web')
  await report(row ?? assert.fail(), 'failed')
  const [instance] = only(await explain(server)).Instances
  assert.deepEqual(
    [instance?.State, instance?.PreviousAllocation, instance?.Text],
    ['held', row?.ID, 'the one before it is failed and is not placed again'],
  )
})

test('explain: work that an older version has done says nothing of this one', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  const ReschedulePolicy = { Attempts: 0, Unlimited: false }
  const batch = (command: string) => ({
    Type: 'batch',
    TaskGroups: [aGroup({ ReschedulePolicy, Tasks: [aTask({ Config: { command } })] })],
  })
  await run(batch('/bin/true'))
  for (const row of allocationsOf('web')) await report(row, 'complete')
  assert.deepEqual((await explain(server)).Groups, [])
  await run(batch('/bin/false'))
  for (const row of allocationsOf('web'))
    if (row.ClientStatus === 'pending') await report(row, 'failed')
  const explanation = await explain(server)
  assert.equal(only(explanation).Unplaced, 1)
  assert.match(explanation.Text, /the one before it is failed and is not placed again/)
})

test('explain: what a deployment holds back is held', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Count: 2, Update: { MaxParallel: 0 } })] })
  for (const row of allocationsOf('web')) await report(row, 'running')
  const Tasks = [aTask({ Config: { command: '/bin/false' } })]
  await run({ TaskGroups: [aGroup({ Count: 4, Tasks, Update: { MaxParallel: 1, Canary: 1 } })] })
  const group = only(await explain(server))
  assert.deepEqual(
    group.Instances.map(({ State, Text }) => [State, Text]),
    group.Instances.map(() => ['held', 'its deployment waits until its canaries are promoted']),
  )
  assert.deepEqual(group.Refusals, [])
})

/** Two of version 0 run; version 1 asks for four, and its deployment waits for its canary. */
async function aCanaryDeployment() {
  const scheduled = await aScheduled()
  const { server, run, report, allocationsOf } = scheduled
  await run({ TaskGroups: [aGroup({ Count: 2, Update: { MaxParallel: 0 } })] })
  for (const row of allocationsOf('web')) await report(row, 'running')
  const Tasks = [aTask({ Config: { command: '/bin/false' } })]
  await run({ TaskGroups: [aGroup({ Count: 4, Tasks, Update: { MaxParallel: 1, Canary: 1 } })] })
  const deployment = await server.ok('readLatestDeployment', ofJob())
  assert.ok(deployment !== null)
  return { ...scheduled, id: deployment.ID }
}

test('explain: what a paused deployment holds back says how it goes on', async () => {
  const { server, settle, id } = await aCanaryDeployment()
  const params = { deployment_id: id }
  await server.ok('pauseDeployment', { params, body: { Pause: true, DeploymentID: id } })
  await settle()
  const group = only(await explain(server))
  assert.deepEqual(
    [...new Set(group.Instances.map(({ Text }) => Text))],
    ['its deployment is paused, and goes on when resumed'],
  )
})

test('explain: a failed deployment holds nothing back', async () => {
  const { server, settle, id, allocationsOf } = await aCanaryDeployment()
  await server.ok('failDeployment', { params: { deployment_id: id }, body: { DeploymentID: id } })
  await settle()
  assert.equal((await explain(server)).Text, 'all allocations are placed')
  const live = allocationsOf('web').filter((row) => row.DesiredStatus === 'run')
  assert.deepEqual(
    live.map((row) => row.JobVersion),
    [0, 0, 0, 0],
  )
})

/** A node of the builders has 4,000 MHz. */
function sized(Name: string, Count: number, CPU: number): Input<TaskGroup> {
  return aGroup({ Name, Count, Tasks: [aTask({ Resources: { CPU, MemoryMB: 10 } })] })
}

test('explain: what has room and waits for all of its job is held', async () => {
  const { server, run } = await aScheduled(2)
  await run({ AllAtOnce: true, TaskGroups: [sized('a', 3, 3_000)] })
  const explanation = await explain(server)
  const group = only(explanation)
  assert.deepEqual(
    group.Instances.map(({ State, Text }) => [State, Text]),
    [
      ['held', 'there is room for it on node node-1; it waits until all of the job finds room'],
      ['held', 'there is room for it on node node-2; it waits until all of the job finds room'],
      ['refused', 'no node takes it'],
    ],
  )
  // Nothing runs on the nodes, so there is nothing to free.
  assert.deepEqual(
    group.Changes.map(({ Text, Places }) => [Text, Places]),
    [
      ['set cpu of task "main" in group "a" to 1,000 MHz or less', 3],
      ['add a node like node-1', 3],
    ],
  )
  assert.match(explanation.Text, /; the allocations are placed all at once or not at all$/)
})

test('explain: a change that places some of what comes all at once places nothing', async () => {
  const { server, run } = await aScheduled(1)
  await run({ AllAtOnce: true, TaskGroups: [sized('a', 5, 3_000)] })
  assert.deepEqual(only(await explain(server)).Changes, [])
})

test('explain: a group that has room waits for the group of its job that has none', async () => {
  const { server, run } = await aScheduled(1)
  await run({ AllAtOnce: true, TaskGroups: [sized('a', 1, 3_000), sized('b', 1, 2_000)] })
  const { Groups } = await explain(server)
  assert.deepEqual(
    Groups.map(({ TaskGroup, Instances }) => [TaskGroup, Instances[0]?.State]),
    [
      ['a', 'held'],
      ['b', 'refused'],
    ],
  )
})

test('explain: what has ended well is placed again when the job is evaluated next', async () => {
  const { server, run, report, allocationsOf } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] })
  const [row] = allocationsOf('web')
  await report(row ?? assert.fail(), 'complete')
  const [instance] = only(await explain(server)).Instances
  assert.deepEqual([instance?.State, instance?.PreviousAllocation], ['held', row?.ID])
  assert.equal(
    instance?.Text,
    'the one before it is complete; it is placed again at the next evaluation of the job',
  )
})

test('explain: where no evaluation is to come, nothing is said to wait for one', async () => {
  const { server, run } = await aScheduled()
  await run({ Type: 'sysbatch' })
  await putNode(server, { ID: anId('node', 2), Name: 'later' })
  const [instance] = only(await explain(server)).Instances
  assert.deepEqual(
    [instance?.State, instance?.Text],
    ['held', 'it is placed at the next evaluation of the job'],
  )
})

test('explain: a job on every node is explained node by node', async () => {
  const { server, run } = await aScheduled(2)
  await putNode(server, {
    ID: anId('node', 3),
    Name: 'small',
    ComputedClass: 'v1:2',
    NodeResources: {
      ...server.context.store.tables.nodes.get(anId('node', 1)).NodeResources,
      Memory: { MemoryMB: 100 },
    },
  })
  await run({ Type: 'system' })
  const group = only(await explain(server))
  assert.deepEqual(
    group.Instances.map(({ NodeID, State }) => [NodeID, State]),
    [[anId('node', 3), 'refused']],
  )
  assert.deepEqual(
    group.Refusals.map(({ Nodes }) => Nodes.map(({ Name }) => Name)),
    [['small']],
  )
})

const NOTHING: readonly { name: string; job: Input<Job>; stop?: boolean; text: string }[] = [
  { name: 'a stopped job', job: {}, stop: true, text: 'the job is stopped' },
  {
    name: 'a periodic job',
    job: PERIODIC,
    text: 'the job itself runs nothing: its child jobs are placed, list them with `reeve job status`',
  },
  {
    name: 'a parameterized job',
    job: PARAMETERIZED,
    text: 'the job itself runs nothing: its child jobs are placed, list them with `reeve job status`',
  },
]

for (const { name, job, stop, text } of NOTHING)
  test(`explain: of ${name} nothing is to be placed`, async () => {
    const { server, run, settle } = await aScheduled(0)
    await run(job)
    if (stop === true) await server.ok('stopJob', ofJob())
    await settle()
    const explanation = await explain(server)
    assert.deepEqual([explanation.Text, explanation.Groups], [text, []])
  })

// Query

test('explain: nodes are put together by class, or listed one by one', async () => {
  const { server, run } = await aScheduled(3)
  await run(asking(9_000))
  const counts = async (query = {}) =>
    only(await explain(server, query)).Refusals.map(({ NodeCount, ComputedClass }) => [
      NodeCount,
      ComputedClass,
    ])
  assert.deepEqual(await counts(), [[3, 'v1:1']])
  assert.deepEqual(await counts({ by: 'class' }), [[3, 'v1:1']])
  assert.deepEqual(await counts({ by: 'node' }), [
    [1, ''],
    [1, ''],
    [1, ''],
  ])
})

test('explain: lists no more than limit, and says how many it left out', async () => {
  const { server, run } = await aScheduled(30)
  await run(asking(9_000, { Count: 25 }))
  const sizes = async (query: NonNullable<CallOptions['query']>) => {
    const group = only(await explain(server, { by: 'node', ...query }))
    return [
      group.Instances.length,
      group.InstancesOmitted,
      group.Refusals.length,
      group.RefusalsOmitted,
    ]
  }
  assert.deepEqual(await sizes({}), [20, 5, 20, 10])
  assert.deepEqual(await sizes({ limit: 3 }), [3, 22, 3, 27])
  assert.deepEqual(await sizes({ limit: 0 }), [0, 25, 0, 30])
  assert.deepEqual(await sizes({ limit: 1000 }), [25, 0, 30, 0])
})

const REFUSED = [
  { query: { limit: 1001 }, text: 'limit must be between 0 and 1000' },
  { query: { limit: -1 }, text: 'limit must be between 0 and 1000' },
  { query: { by: 'rack' }, text: 'by must be one of class, node' },
]

for (const { query, text } of REFUSED)
  test(`explain: ${JSON.stringify(query)} is refused`, async () => {
    const { server, run } = await aScheduled()
    await run()
    assert.deepEqual(await server.refusal('explainJob', ofJob('web', query)), [400, text])
    const params = { eval_id: (await evaluationOf(server)).ID }
    assert.deepEqual(await server.refusal('explainEvaluation', { params, query }), [400, text])
  })

test('explain: of a job with very many groups the first are explained', async () => {
  const { server, run } = await aScheduled(0)
  await run({ TaskGroups: Array.from({ length: 103 }, (_, n) => aGroup({ Name: `g${n}` })) })
  const { Groups, GroupsOmitted } = await explain(server)
  assert.deepEqual([Groups.length, GroupsOmitted], [100, 3])
})

// Evaluations

test('explain evaluation: says the same of the job, and names the evaluation', async () => {
  const { server, run } = await aScheduled()
  await run(asking(9_000))
  const first = await evaluationOf(server, 'complete')
  const explanation = await server.ok('explainEvaluation', { params: { eval_id: first.ID } })
  assert.deepEqual([explanation.EvalID, explanation.EvalStatus], [first.ID, 'complete'])
  assert.deepEqual(explanation.Groups, (await explain(server)).Groups)
})

test('explain evaluation: a job that was purged is no longer explained', async () => {
  const { server, run, settle } = await aScheduled(0)
  await run()
  const blocked = await evaluationOf(server, 'blocked')
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  const explanation = await server.ok('explainEvaluation', { params: { eval_id: blocked.ID } })
  assert.equal(explanation.Text, 'the job is no longer registered')
})

test('explain: what does not exist is not found', async () => {
  const { server } = await aScheduled()
  assert.deepEqual(await server.refusal('explainJob', ofJob()), [404, 'job not found'])
  const unknown = { params: { eval_id: anId('eval', 9) } }
  assert.deepEqual(await server.refusal('explainEvaluation', unknown), [404, 'eval not found'])
  const short = { params: { eval_id: 'abc' } }
  assert.equal((await server.refusal('explainEvaluation', short))[0], 400)
})

// Who may

test('explain: needs read-job; an evaluation of another namespace is not there', async () => {
  const { server, as, root, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const { EvalID } = await server.ok('registerJob', as(root, register({ Namespace: 'other' })))
  const reader = await client('namespace "other" { capabilities = ["read-job"] }')
  await server.ok('explainJob', as(reader, ofJob('web', { namespace: 'other' })))
  await server.ok('explainEvaluation', as(reader, { params: { eval_id: EvalID } }))
  const stranger = await client('namespace "default" { policy = "write" }')
  const call = ofJob('web', { namespace: 'other' })
  assert.deepEqual(await server.refusal('explainJob', as(stranger, call)), [
    403,
    'Permission denied',
  ])
  assert.deepEqual(
    await server.refusal('explainEvaluation', as(stranger, { params: { eval_id: EvalID } })),
    [404, 'eval not found'],
  )
})

test('explain: runs in slices on the state as it was at the first one', async () => {
  const { server, run } = await aScheduled(3)
  await run(asking(3_000, { Count: 50 }))
  const whole = only(await explain(server))
  const { context } = server
  let turns = 0
  let nowMs = 0
  const origin = {
    tenant: 'a',
    // Each step takes a millisecond.
    monotonicMs: () => ++nowMs,
    nextTurn: async () => {
      // Room for more of them, which an explanation of one state does not see.
      if (++turns === 1) await putNode(server)
    },
  }
  const name = { namespace: 'default', jobId: 'web' }
  const sliced = await explainJob(context, name, { by: 'class', limit: 20 }, origin)
  assert.ok(sliced.ok && turns > 3, `others had ${turns} turns`)
  assert.deepEqual(only(sliced.value), whole)
})
