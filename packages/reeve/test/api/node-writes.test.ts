import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1RouteId } from '@reeve/contract'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { putNode } from './cluster.ts'
import { createTestServer, untilParked, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const NODE = anId('node', 1)
const SECOND_NS = 1e9

function ofNode(body?: unknown, id = NODE): CallOptions {
  return { params: { node_id: id }, ...(body === undefined ? {} : { body }) }
}

async function withNode(fields = {}) {
  const server = await createTestServer({ aclEnabled: false })
  await putNode(server, fields)
  return server
}

/** A system job that may run on the node, and a service with something on it. */
function withJobs(server: TestServer) {
  const jobs = [aJob({ ID: 'agents', Type: 'system' }), aJob({ ID: 'web' })]
  const web = jobs[1] ?? assert.fail()
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...jobs.map((job) => put('jobs', job)),
      ...jobs.map((job) => put('job_versions', job)),
      put('allocations', anAllocation({ job: web })),
    ],
  })
}

function read(server: TestServer) {
  return server.ok('readNode', ofNode())
}

async function jobsOf(server: TestServer, ids: readonly string[] | null) {
  const evaluations = await Promise.all(
    (ids ?? []).map((id) => server.ok('readEvaluation', { params: { eval_id: id } })),
  )
  return evaluations.map((one) => [one.JobID, one.TriggeredBy, one.NodeID, one.Status])
}

// Drain

test('drain: the node is ineligible, says until when, and remembers who asked why', async () => {
  const server = await withNode()
  const DrainSpec = { Deadline: 3600 * SECOND_NS, IgnoreSystemJobs: true }
  const answer = await server.ok('drainNode', ofNode({ DrainSpec, Meta: { why: 'kernel' } }))
  const node = await read(server)
  assert.deepEqual(answer, {
    EvalIDs: null,
    EvalCreateIndex: 0,
    NodeModifyIndex: node.ModifyIndex,
    Index: node.ModifyIndex,
  })
  assert.deepEqual(
    [node.Drain, node.SchedulingEligibility, node.DrainStrategy],
    [
      true,
      'ineligible',
      {
        Deadline: 3600 * SECOND_NS,
        IgnoreSystemJobs: true,
        ForceDeadline: '2026-01-01T01:00:00.000Z',
        StartedAt: '2026-01-01T00:00:00.000Z',
      },
    ],
  )
  assert.deepEqual(node.LastDrain, {
    StartedAt: '2026-01-01T00:00:00.000Z',
    UpdatedAt: '2026-01-01T00:00:00.000Z',
    Status: 'draining',
    AccessorID: '',
    Meta: { why: 'kernel' },
  })
  assert.deepEqual(
    node.Events.map((event) => [event.Subsystem, event.Message, event.CreateIndex]),
    [['Drain', 'Node drain set', node.ModifyIndex]],
  )
})

for (const [name, Deadline, ForceDeadline] of [
  ['no deadline', 0, '0001-01-01T00:00:00Z'],
  ['a deadline that has passed', -1, '0001-01-01T00:00:00Z'],
] as const)
  test(`drain: ${name} has no time`, async () => {
    const server = await withNode()
    await server.ok('drainNode', ofNode({ DrainSpec: { Deadline } }))
    const { DrainStrategy } = await read(server)
    assert.deepEqual(
      [DrainStrategy?.Deadline, DrainStrategy?.ForceDeadline],
      [Deadline, ForceDeadline],
    )
  })

test('drain: changed, it is the same drain with another deadline', async () => {
  const server = await withNode()
  await server.ok('drainNode', ofNode({ DrainSpec: { Deadline: 60 * SECOND_NS } }))
  server.clock.advance(10_000)
  await server.ok('drainNode', ofNode({ DrainSpec: { Deadline: 60 * SECOND_NS } }))
  const { DrainStrategy, LastDrain, Events } = await read(server)
  assert.deepEqual(
    [DrainStrategy?.StartedAt, DrainStrategy?.ForceDeadline],
    ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:10.000Z'],
  )
  assert.deepEqual(
    [LastDrain?.StartedAt, LastDrain?.UpdatedAt, LastDrain?.Status],
    ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:10.000Z', 'draining'],
  )
  assert.deepEqual(
    Events.map((event) => event.Message),
    ['Node drain set', 'Node drain updated'],
  )
})

for (const { name, body, eligibility, evaluates } of [
  {
    name: 'ended, the node stays ineligible',
    body: {},
    eligibility: 'ineligible',
    evaluates: false,
  },
  {
    name: 'ended with MarkEligible, it takes work again and system jobs are evaluated',
    body: { DrainSpec: null, MarkEligible: true },
    eligibility: 'eligible',
    evaluates: true,
  },
])
  test(`drain: ${name}`, async () => {
    const server = await withNode()
    withJobs(server)
    await server.ok('drainNode', ofNode({ DrainSpec: { Deadline: 0 } }))
    server.clock.advance(1_000)
    const { EvalIDs } = await server.ok('drainNode', ofNode(body))
    const node = await read(server)
    assert.deepEqual(
      [node.Drain, node.DrainStrategy, node.SchedulingEligibility, node.LastDrain?.Status],
      [false, null, eligibility, 'canceled'],
    )
    assert.equal(node.LastDrain?.UpdatedAt, '2026-01-01T00:00:01.000Z')
    assert.equal(node.Events.at(-1)?.Message, 'Node drain disabled')
    assert.equal(EvalIDs !== null, evaluates)
  })

test('drain: ending one that there is not changes nothing', async () => {
  const server = await withNode()
  const before = server.context.store.index
  const answer = await server.ok('drainNode', ofNode({}))
  assert.deepEqual(answer, {
    EvalIDs: null,
    EvalCreateIndex: 0,
    NodeModifyIndex: before,
    Index: before,
  })
  assert.equal(server.context.store.index, before)
})

test('drain: the token that asked is remembered', async () => {
  const { server, root, as } = await aSecuredServer()
  await putNode(server)
  await server.ok('drainNode', as(root, ofNode({ DrainSpec: {} })))
  const { LastDrain } = await server.ok('readNode', as(root, ofNode()))
  assert.equal(LastDrain?.AccessorID, root.AccessorID)
})

test('drain: a deadline beyond all calendars is refused', async () => {
  const server = await withNode()
  const [status, text] = await server.refusal(
    'drainNode',
    ofNode({ DrainSpec: { Deadline: Number.MAX_SAFE_INTEGER * 1_000 } }),
  )
  assert.deepEqual([status, text], [400, 'drain deadline is more than 100 years away'])
})

// Eligibility

test('eligibility: set and told; made eligible, what may run there is evaluated', async () => {
  const server = await withNode()
  withJobs(server)
  const ineligible = await server.ok('setNodeEligibility', ofNode({ Eligibility: 'ineligible' }))
  assert.equal(ineligible.EvalIDs, null)
  const { EvalIDs, EvalCreateIndex, Index } = await server.ok(
    'setNodeEligibility',
    ofNode({ Eligibility: 'eligible' }),
  )
  assert.equal(EvalCreateIndex, Index)
  assert.deepEqual(await jobsOf(server, EvalIDs), [
    ['agents', 'node-update', NODE, 'pending'],
    ['web', 'node-update', NODE, 'pending'],
  ])
  const { Events } = await read(server)
  assert.deepEqual(
    Events.map((event) => event.Message),
    ['Node marked as ineligible for scheduling', 'Node marked as eligible for scheduling'],
  )
})

test('eligibility: said again, nothing is written', async () => {
  const server = await withNode()
  const before = server.context.store.index
  const answer = await server.ok('setNodeEligibility', ofNode({ Eligibility: 'eligible' }))
  assert.deepEqual([answer.Index, answer.NodeModifyIndex], [before, before])
  assert.equal(server.context.store.index, before)
})

test('eligibility: other words, and eligible while draining, are refused', async () => {
  const server = await withNode()
  for (const [body, text] of [
    [{ Eligibility: 'maybe' }, 'invalid scheduling eligibility "maybe"'],
    [{}, 'invalid scheduling eligibility ""'],
  ] as const)
    assert.deepEqual(await server.refusal('setNodeEligibility', ofNode(body)), [400, text])
  await server.ok('drainNode', ofNode({ DrainSpec: {} }))
  assert.deepEqual(
    await server.refusal('setNodeEligibility', ofNode({ Eligibility: 'eligible' })),
    [400, "can not set node's scheduling eligibility to eligible while it is draining"],
  )
})

// Evaluate and purge

test('evaluate: the jobs that the node matters to', async () => {
  const server = await withNode()
  withJobs(server)
  const node = await read(server)
  const answer = await server.ok('evaluateNode', ofNode())
  assert.deepEqual([answer.HeartbeatTTL, answer.NodeModifyIndex], [0, node.ModifyIndex])
  assert.equal(answer.EvalCreateIndex, answer.Index)
  assert.deepEqual(
    (await jobsOf(server, answer.EvalIDs)).map(([job]) => job),
    ['agents', 'web'],
  )
  assert.deepEqual(await read(server), node)
})

test('evaluate: a node that matters to nobody has none', async () => {
  const server = await withNode()
  const before = server.context.store.index
  const answer = await server.ok('evaluateNode', ofNode())
  assert.deepEqual([answer.EvalIDs, answer.EvalCreateIndex, answer.Index], [null, 0, before])
})

test('purge: the node is gone and its jobs are evaluated', async () => {
  const server = await withNode()
  withJobs(server)
  const { EvalIDs, Index, NodeModifyIndex } = await server.ok('purgeNode', ofNode())
  assert.equal(NodeModifyIndex, Index)
  assert.deepEqual(
    (await jobsOf(server, EvalIDs)).map(([job]) => job),
    ['agents', 'web'],
  )
  assert.deepEqual(await server.refusal('readNode', ofNode()), [404, 'node not found'])
  assert.deepEqual(await server.ok('listNodes'), [])
  assert.deepEqual(await server.refusal('purgeNode', ofNode()), [404, 'node not found'])
})

// What they have in common

const WRITES = [
  ['drainNode', {}],
  ['setNodeEligibility', { Eligibility: 'eligible' }],
  ['evaluateNode', undefined],
  ['purgeNode', undefined],
] as const satisfies readonly (readonly [V1RouteId, unknown])[]

for (const [route, body] of WRITES)
  test(`${route}: an unknown node is not found, an id that is none is refused`, async () => {
    const server = await withNode()
    assert.deepEqual(await server.refusal(route, ofNode(body, anId('node', 9))), [
      404,
      'node not found',
    ])
    assert.deepEqual(await server.refusal(route, ofNode(body, 'x')), [
      400,
      'node lookup failed: UUID must be 36 characters',
    ])
  })

for (const route of ['drainNode', 'setNodeEligibility'] as const)
  test(`${route}: needs a body of its shape`, async () => {
    const server = await withNode()
    assert.deepEqual(await server.refusal(route, ofNode()), [400, 'Request body is empty'])
    const [status] = await server.refusal(route, ofNode({ DrainSpec: 'now', Eligibility: 1 }))
    assert.equal(status, 400)
  })

for (const [route, body] of WRITES)
  test(`${route}: needs node:write`, async () => {
    const { server, as, client } = await aSecuredServer()
    await putNode(server)
    const denied = [403, 'Permission denied']
    for (const rules of ['node { policy = "read" }', 'namespace "*" { policy = "write" }'])
      assert.deepEqual(await server.refusal(route, as(await client(rules), ofNode(body))), denied)
    assert.deepEqual(await server.refusal(route, ofNode(body)), denied)
    await server.ok(route, as(await client('node { policy = "write" }'), ofNode(body)))
  })

test('node events: only the latest ten are kept', async () => {
  const server = await withNode()
  for (let i = 0; i < 6; i++)
    for (const Eligibility of ['ineligible', 'eligible'])
      await server.ok('setNodeEligibility', ofNode({ Eligibility }))
  const { Events } = await read(server)
  assert.equal(Events.length, 10)
  assert.deepEqual(
    Events.map((event) => event.CreateIndex),
    Events.map((event) => event.CreateIndex).toSorted((a, b) => a - b),
  )
})

test('a blocked read of the node wakes when it is drained', async () => {
  const server = await withNode()
  const { index } = await server.call('readNode', ofNode())
  const waiting = server.ok('readNode', { params: { node_id: NODE }, query: { index } })
  await untilParked()
  await server.ok('drainNode', ofNode({ DrainSpec: {} }))
  assert.equal((await waiting).Drain, true)
})
