import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { put, type Cause } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aGroup, aNode, anId } from '../build/index.ts'
import { ofJob, putNode, register, withScheduler } from './cluster.ts'
import { aListening, payloadOf, type EventReader } from './event-reader.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const LIMIT = { timeout: 300_000 }

/** A server without ACLs that listens; what is streamed is the same for whoever may. */
async function aServer(t: TestContext) {
  return await aListening(t, await createTestServer({ aclEnabled: false }))
}

async function registerJobs(server: TestServer, ...ids: readonly string[]): Promise<void> {
  for (const ID of ids) await server.ok('registerJob', register({ ID }))
}

async function putNodeAs(server: TestServer, cause: Cause, i = 1): Promise<void> {
  const { SecretID: _secret, ...node } = aNode({ ID: anId('node', i) })
  const row = put('nodes', { ...node, SecretHash: 'hash' })
  await server.context.store.commit({ by: 'system', cause, changes: () => [row] }).durable
}

function keys(reader: EventReader): readonly string[] {
  return reader.events().map((event) => `${event.Topic} ${event.Key}`)
}

// The body

test('stream: lines of JSON, never compressed, never cached', LIMIT, async (t) => {
  const { open } = await aServer(t)
  const reader = await open({ headers: { 'accept-encoding': 'gzip', 'x-request-id': 'mine' } })
  const { headers } = reader
  assert.deepEqual(
    [
      reader.status,
      headers['content-type'],
      headers['cache-control'],
      headers['content-encoding'],
      headers['content-length'],
    ],
    [200, 'application/json', 'no-cache', undefined, undefined],
  )
  assert.deepEqual(
    [headers['x-request-id'], headers['x-content-type-options'], headers['x-frame-options']],
    ['mine', 'nosniff', 'DENY'],
  )
})

test('stream: a heartbeat comes at once and every 30 seconds', LIMIT, async (t) => {
  const { open, server } = await aServer(t)
  const reader = await open()
  assert.deepEqual(reader.lines, [{}])
  server.clock.advance(60_000)
  await reader.heartbeats(3)
  assert.deepEqual(reader.lines, [{}, {}, {}])
})

test('stream: one commit is one line with all its events', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const reader = await open()
  const { EvalID, Index } = await server.ok('registerJob', register())
  flush()
  const { Events = [] } = await reader.line((line) => line.Events !== undefined)
  assert.deepEqual(
    Events.map(({ Payload: _payload, ...event }) => event),
    [
      {
        Topic: 'Job',
        Type: 'JobRegistered',
        Key: 'web',
        Namespace: 'default',
        FilterKeys: null,
        Index,
      },
      {
        Topic: 'Evaluation',
        Type: 'EvaluationUpdated',
        Key: EvalID,
        Namespace: 'default',
        FilterKeys: ['web', ''],
        Index,
      },
    ],
  )
  assert.equal(reader.lines.at(-1)?.Index, Index)
})

test('stream: a payload is the record as its own route shows it', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const reader = await open()
  const { EvalID } = await server.ok('registerJob', register())
  await putNodeAs(server, 'NodeRegistration')
  flush()
  const [job, evaluation, node] = await reader.take(3)
  assert.deepEqual(job?.Payload, { Job: await server.ok('readJob', ofJob()) })
  const read = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  assert.deepEqual(evaluation?.Payload, { Evaluation: read })
  const params = { node_id: anId('node', 1) }
  assert.deepEqual(node?.Payload, { Node: await server.ok('readNode', { params }) })
})

test('stream: nothing is sent before it is durable', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const reader = await open()
  const held = server.engine.faultInjector.blockNext()
  const writing = server.ok('registerJob', register())
  await held.started
  flush()
  assert.deepEqual(reader.lines, [{}])
  held.release()
  await writing
  flush()
  await reader.take(2)
})

test('stream: what could not be made durable is never sent', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const reader = await open()
  server.engine.faultInjector.fillDisk()
  assert.equal((await server.send('POST', '/v1/jobs', register())).status, 503)
  flush()
  server.clock.advance(30_000)
  await reader.heartbeats(2)
  assert.deepEqual(reader.lines, [{}, {}])
})

// Where it begins

test('index: 0 or none sends all that is kept, then what happens', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  await registerJobs(server, 'a', 'b')
  for (const query of [{}, { index: 0 }]) {
    const reader = await open({ topics: ['Job'], query })
    await reader.take(2)
    assert.deepEqual(keys(reader), ['Job a', 'Job b'])
  }
  const reader = await open({ topics: ['Job'] })
  await registerJobs(server, 'c')
  flush()
  await reader.take(3)
  assert.deepEqual(keys(reader), ['Job a', 'Job b', 'Job c'])
})

test('index: n begins with commit n, or the next that has something to show', LIMIT, async (t) => {
  const { open, server } = await aServer(t)
  await registerJobs(server, 'a', 'b')
  await server.ok('writeNamespace', { body: { Name: 'n' } })
  await registerJobs(server, 'c')
  for (const [index, wanted] of [
    [3, ['Job b', 'Job c']],
    [4, ['Job c']],
    [5, ['Job c']],
  ] as const) {
    const reader = await open({ topics: ['Job'], query: { index } })
    await reader.take(wanted.length)
    assert.deepEqual(keys(reader), wanted)
  }
})

test('index: one of the future sends nothing older', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  await registerJobs(server, 'a')
  const reader = await open({ topics: ['Job'], query: { index: 4 } })
  await registerJobs(server, 'b', 'c')
  flush()
  await reader.take(1)
  assert.deepEqual(keys(reader), ['Job c'])
})

test('index: resumes across a restart, without a gap', LIMIT, async (t) => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await registerJobs(before, 'a', 'b')
  await before.close()
  const { open, server, flush } = await aListening(
    t,
    await createTestServer({ aclEnabled: false, disk }),
  )
  const reader = await open({ topics: ['Job'], query: { index: 3 } })
  await registerJobs(server, 'c')
  flush()
  await reader.take(2)
  assert.deepEqual(keys(reader), ['Job b', 'Job c'])
})

test('index: what is no longer kept is told as a gap', LIMIT, async (t) => {
  const { open, server } = await aServer(t)
  await registerJobs(server, 'a', 'b', 'c')
  await server.context.store.checkpoint()
  await server.context.store.log.trim(4)
  const reader = await open({ topics: ['Job'], query: { index: 2 } })
  assert.deepEqual(await reader.line((line) => line.Gap !== undefined), {
    Index: 3,
    Events: [],
    Gap: { From: 2, To: 3 },
  })
  const all = await open({ topics: ['Job'] })
  await all.line((line) => (line.Events ?? []).length > 0)
  assert.equal(
    all.lines.some((line) => line.Gap !== undefined),
    false,
  )
})

// Topics

const TOPICS = [
  { topics: undefined, wanted: ['Job a', 'Evaluation', 'Job b', 'Evaluation', 'Node'] },
  { topics: ['*'], wanted: ['Job a', 'Evaluation', 'Job b', 'Evaluation', 'Node'] },
  { topics: ['*:*'], wanted: ['Job a', 'Evaluation', 'Job b', 'Evaluation', 'Node'] },
  { topics: ['Job'], wanted: ['Job a', 'Job b'] },
  { topics: ['Job:*'], wanted: ['Job a', 'Job b'] },
  { topics: ['Job:a'], wanted: ['Job a'] },
  { topics: ['Job:a', 'Job:b'], wanted: ['Job a', 'Job b'] },
  { topics: ['Evaluation:a'], wanted: ['Evaluation'] },
  { topics: ['*:a'], wanted: ['Job a', 'Evaluation'] },
  { topics: [`Node:${anId('node', 1)}`], wanted: ['Node'] },
  { topics: ['Node', 'Job:b'], wanted: ['Job b', 'Node'] },
  { topics: ['Job', 'Job:a', '*:a'], wanted: ['Job a', 'Evaluation', 'Job b'] },
  { topics: ['job', 'Job:A', 'Nope', 'Node:x'], wanted: [] },
]

for (const { topics, wanted } of TOPICS)
  test(
    `topics: ${topics?.join(' and ') ?? 'none'} select ${wanted.length} events, each once`,
    LIMIT,
    async (t) => {
      const { open, server, flush } = await aServer(t)
      const reader = await open(topics === undefined ? {} : { topics })
      await registerJobs(server, 'a', 'b')
      await putNodeAs(server, 'NodeRegistration')
      flush()
      server.clock.advance(30_000)
      await reader.heartbeats(2)
      const shown = reader
        .events()
        .map(({ Topic, Key }) => (Topic === 'Job' ? `Job ${Key}` : Topic))
      assert.deepEqual(shown, wanted)
    },
  )

test('topics: NodeDrain is the drains among the events of nodes', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const readers = [
    await open({ topics: ['NodeDrain'] }),
    await open({ topics: [`NodeDrain:${anId('node', 1)}`] }),
  ]
  for (const cause of ['NodeRegistration', 'NodeDrain', 'NodeEligibility'] as const)
    await putNodeAs(server, cause)
  flush()
  for (const reader of readers) {
    const [event] = await reader.take(1)
    assert.deepEqual([event?.Topic, event?.Type], ['Node', 'NodeDrain'])
  }
})

test('topics: ACLRoles is another name of ACLRole', LIMIT, async (t) => {
  const { server, root, as } = await aSecuredServer()
  const { open, flush } = await aListening(t, server)
  const reader = await open({ topics: ['ACLRoles'], token: root.SecretID })
  await server.ok(
    'writeAclPolicy',
    as(root, {
      params: { policy_name: 'p' },
      body: { Name: 'p', Rules: 'node { policy = "read" }' },
    }),
  )
  await server.ok('createAclRole', as(root, { body: { Name: 'r', Policies: [{ Name: 'p' }] } }))
  flush()
  const [event] = await reader.take(1)
  assert.deepEqual(
    [event?.Topic, event?.Type, event?.FilterKeys],
    ['ACLRole', 'ACLRoleUpserted', ['r']],
  )
})

// Namespaces

test('namespace: the default one unless given; what has none passes', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  const [own, other, all] = [
    await open(),
    await open({ query: { namespace: 'other' } }),
    await open({ query: { namespace: '*' } }),
  ]
  await server.ok('registerJob', register({ ID: 'a' }))
  await server.ok('registerJob', register({ ID: 'b', Namespace: 'other' }))
  await putNodeAs(server, 'NodeRegistration')
  flush()
  await Promise.all([own.take(3), other.take(3), all.take(5)])
  const jobs = (reader: EventReader) => keys(reader).filter((key) => !key.startsWith('Evaluation'))
  const node = `Node ${anId('node', 1)}`
  assert.deepEqual(
    [jobs(own), jobs(other), jobs(all)],
    [
      ['Job a', node],
      ['Job b', node],
      ['Job a', 'Job b', node],
    ],
  )
})

test('namespace: * includes one that comes later, for who may see it', LIMIT, async (t) => {
  const { open, server, flush } = await aServer(t)
  const reader = await open({ topics: ['Job'], query: { namespace: '*' } })
  await server.ok('writeNamespace', { body: { Name: 'later' } })
  await server.ok('registerJob', register({ Namespace: 'later' }))
  flush()
  assert.deepEqual(
    (await reader.take(1)).map((event) => event.Namespace),
    ['later'],
  )
})

// What operations emit

async function typesOf(reader: EventReader, count: number): Promise<readonly string[]> {
  return (await reader.take(count)).map(({ Topic, Type }) => `${Topic} ${Type}`)
}

test('events: an unchanged job is only an evaluation', LIMIT, async (t) => {
  const { open, server } = await aServer(t)
  await server.ok('registerJob', register())
  await server.ok('registerJob', register())
  const reader = await open({ query: { index: 3 } })
  assert.deepEqual(await typesOf(reader, 1), ['Evaluation EvaluationUpdated'])
})

for (const purge of [false, true])
  test(
    `events: a job that is ${purge ? 'purged' : 'stopped'} is deregistered`,
    LIMIT,
    async (t) => {
      const { open, server } = await aServer(t)
      await server.ok('registerJob', register())
      await server.ok('stopJob', ofJob('web', { purge }))
      const reader = await open({ query: { index: 3 } })
      assert.deepEqual(await typesOf(reader, 2), [
        'Job JobDeregistered',
        'Evaluation EvaluationUpdated',
      ])
      const [event] = reader.events()
      // The answer was held against the contract; this names the part that is looked at.
      const payload = payloadOf(event, 'Job')
      assert.deepEqual(
        [payload.Deleted, payload.Job.Stop],
        purge ? [true, false] : [undefined, true],
      )
    },
  )

test('events: the life of an allocation', LIMIT, async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  const { run, report, settle, allocationsOf } = await withScheduler(server)
  const { open } = await aListening(t, server)
  await run()
  await report(allocationsOf('web')[0] ?? assert.fail(), 'running')
  await server.ok('stopJob', ofJob('web', { no_shutdown_delay: true }))
  await settle()
  const reader = await open({ topics: ['Allocation:web'] })
  const events = await reader.take(4)
  assert.deepEqual(
    events.map((event) => event.Type),
    [
      'AllocationCreated',
      'AllocationUpdated',
      'AllocationUpdateDesiredStatus',
      'AllocationUpdateDesiredStatus',
    ],
  )
  for (const event of events) {
    // The answer was held against the contract; this names the part that is looked at.
    const { Allocation } = payloadOf(event, 'Allocation')
    assert.equal('Job' in Allocation, false)
    assert.notEqual(Allocation.DeploymentID, '')
    assert.deepEqual(event.FilterKeys, ['web', Allocation.DeploymentID])
  }
})

test(
  'events: a job that is placed when it is registered is told of in one index',
  LIMIT,
  async (t) => {
    const server = await createTestServer({ aclEnabled: false })
    const { run } = await withScheduler(server)
    const { open } = await aListening(t, server)
    await run()
    const reader = await open({ topics: ['Job', 'Evaluation', 'Deployment', 'Allocation'] })
    const events = await reader.take(4)
    assert.deepEqual(events.map(({ Topic, Type }) => `${Topic} ${Type}`).toSorted(), [
      'Allocation AllocationCreated',
      'Deployment PlanResult',
      'Evaluation EvaluationUpdated',
      'Job JobRegistered',
    ])
    assert.equal(new Set(events.map(({ Index }) => Index)).size, 1)
  },
)

test(
  'events: the status of a job that a plan or a report moves is told with it',
  LIMIT,
  async (t) => {
    const server = await createTestServer({ aclEnabled: false })
    const { run } = await withScheduler(server)
    const { open } = await aListening(t, server)
    // More instances than are placed by the registration itself.
    await run({ TaskGroups: [aGroup({ Count: 17 })] })
    const reader = await open({ topics: ['Job'] })
    const events = await reader.take(2)
    const statuses = events.map((event) => payloadOf(event, 'Job').Job.Status)
    assert.deepEqual(
      [events.map((event) => event.Type), statuses],
      [
        ['JobRegistered', 'PlanResult'],
        ['pending', 'running'],
      ],
    )
  },
)

test('events: tokens, policies and roles, never with a secret', LIMIT, async (t) => {
  const { server, root, as, token, client } = await aSecuredServer()
  const { open } = await aListening(t, server)
  await client('node { policy = "read" }')
  const made = await token({ Policies: ['policy-1'] })
  const role = await server.ok(
    'createAclRole',
    as(root, { body: { Name: 'r', Policies: [{ Name: 'policy-1' }] } }),
  )
  await server.ok('deleteAclRole', as(root, { params: { role_id: role.ID } }))
  await server.ok('deleteAclToken', as(root, { params: { accessor_id: made.AccessorID } }))
  await server.ok('deleteAclPolicy', as(root, { params: { policy_name: 'policy-1' } }))
  const reader = await open({ token: root.SecretID })
  assert.deepEqual(await typesOf(reader, 8), [
    'ACLToken ACLTokenUpserted',
    'ACLPolicy ACLPolicyUpserted',
    'ACLToken ACLTokenUpserted',
    'ACLToken ACLTokenUpserted',
    'ACLRole ACLRoleUpserted',
    'ACLRole ACLRoleDeleted',
    'ACLToken ACLTokenDeleted',
    'ACLPolicy ACLPolicyDeleted',
  ])
  const text = JSON.stringify(reader.lines)
  for (const secret of [root.SecretID, made.SecretID]) assert.equal(text.includes(secret), false)
  for (const event of reader.events()) payloadOf(event, event.Topic)
})

test('events: a node shows no secret', LIMIT, async (t) => {
  const { open, server } = await aServer(t)
  await putNode(server)
  const reader = await open({ topics: ['Node'] })
  const [event] = await reader.take(1)
  const { Node: node } = payloadOf(event, 'Node')
  assert.deepEqual([node.SecretID, 'SecretHash' in node], ['', false])
})
