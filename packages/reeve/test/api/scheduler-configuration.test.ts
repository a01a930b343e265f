import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StateView } from '../../src/control/state-view.ts'
import { isBrokerPaused } from '../../src/state/index.ts'
import { register } from './cluster.ts'
import { createTestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const READ = 'readSchedulerConfiguration'
const WRITE = 'writeSchedulerConfiguration'

const PREEMPTION = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: false,
  BatchSchedulerEnabled: false,
  ServiceSchedulerEnabled: false,
}

async function aServer() {
  return await createTestServer({ aclEnabled: false })
}

test('scheduler configuration: the defaults have an index from the start', async () => {
  const server = await aServer()
  const { SchedulerConfig, Index, KnownLeader } = await server.ok(READ)
  assert.deepEqual(SchedulerConfig, {
    SchedulerAlgorithm: 'binpack',
    PreemptionConfig: PREEMPTION,
    MemoryOversubscriptionEnabled: false,
    RejectJobRegistration: false,
    PauseEvalBroker: false,
    CreateIndex: 1,
    ModifyIndex: 1,
  })
  assert.deepEqual([Index, KnownLeader], [1, true])
})

test('scheduler configuration: replaced as a whole, what is left out has its default', async () => {
  const server = await aServer()
  await server.ok(WRITE, { body: { SchedulerAlgorithm: 'spread', PauseEvalBroker: true } })
  const { Updated, Index } = await server.ok(WRITE, {
    body: {
      PreemptionConfig: { ServiceSchedulerEnabled: true },
      MemoryOversubscriptionEnabled: true,
    },
  })
  assert.equal(Updated, true)
  const { SchedulerConfig } = await server.ok(READ)
  assert.deepEqual(SchedulerConfig, {
    SchedulerAlgorithm: 'binpack',
    PreemptionConfig: { ...PREEMPTION, ServiceSchedulerEnabled: true },
    MemoryOversubscriptionEnabled: true,
    RejectJobRegistration: false,
    PauseEvalBroker: false,
    CreateIndex: 1,
    ModifyIndex: Index,
  })
})

test('scheduler configuration: cas changes only what it names', async () => {
  const server = await aServer()
  const { SchedulerConfig } = await server.ok(READ)
  const body = { SchedulerAlgorithm: 'spread' }
  const cas = SchedulerConfig.ModifyIndex
  const stale = await server.ok(WRITE, { body, query: { cas: cas + 7 } })
  assert.equal(stale.Updated, false)
  assert.equal((await server.ok(READ)).SchedulerConfig.SchedulerAlgorithm, 'binpack')
  assert.equal((await server.ok(WRITE, { body, query: { cas } })).Updated, true)
  assert.equal((await server.ok(WRITE, { body, query: { cas } })).Updated, false)
  assert.equal(
    (await server.ok(WRITE, { body, query: { cas: '18446744073709551615' } })).Updated,
    false,
  )
})

test('scheduler configuration: of a thousand that name one index exactly one wins', async () => {
  const server = await aServer()
  const call = { body: {}, query: { cas: 1 } }
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => server.ok(WRITE, call)))
  assert.equal(answers.filter((one) => one.Updated).length, 1)
})

for (const { name, call, text } of [
  { name: 'no body', call: {}, text: 'Error parsing scheduler config: Request body is empty' },
  {
    name: 'an unknown algorithm',
    call: { body: { SchedulerAlgorithm: 'best' } },
    text: 'invalid scheduler algorithm: best',
  },
  {
    name: 'a cas that is no number',
    call: { body: {}, query: { cas: '-1' } },
    text: 'Error parsing cas value: strconv.ParseUint: parsing "-1": invalid syntax',
  },
])
  test(`scheduler configuration: ${name} is refused`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal(WRITE, call), [400, text])
  })

test('scheduler configuration: a body that cannot be read says so', async () => {
  const server = await aServer()
  for (const body of ['{', { PauseEvalBroker: 'yes' }]) {
    const [status, text] = await server.refusal(WRITE, { body })
    assert.equal(status, 400)
    assert.match(text, /^Error parsing scheduler config: /)
  }
})

test('scheduler configuration: the scheduler follows it, and pools override it', async () => {
  const server = await aServer()
  const { store } = server.context
  const view = new StateView(store)
  const settings = (pool: string) => {
    const { algorithm, memoryOversubscription } = view.settingsFor(pool)
    return [algorithm, memoryOversubscription]
  }
  assert.deepEqual(settings('default'), ['binpack', false])
  await server.ok(WRITE, {
    body: { SchedulerAlgorithm: 'spread', MemoryOversubscriptionEnabled: true },
  })
  await server.ok('writeNodePool', {
    body: {
      Name: 'packed',
      SchedulerConfiguration: {
        SchedulerAlgorithm: 'binpack',
        MemoryOversubscriptionEnabled: false,
      },
    },
  })
  await server.ok('writeNodePool', { body: { Name: 'plain', SchedulerConfiguration: {} } })
  assert.deepEqual(settings('default'), ['spread', true])
  assert.deepEqual(settings('packed'), ['binpack', false])
  assert.deepEqual(settings('plain'), ['spread', true])
  assert.equal(view.settingsFor('default').preemption?.SystemSchedulerEnabled, true)
})

test('scheduler configuration: whether the broker is paused can be asked', async () => {
  const server = await aServer()
  const { tables } = server.context.store
  assert.equal(isBrokerPaused(tables), false)
  await server.ok(WRITE, { body: { PauseEvalBroker: true } })
  assert.equal(isBrokerPaused(tables), true)
})

test('RejectJobRegistration: only management may register', async () => {
  const { server, as, client, root } = await aSecuredServer()
  await server.ok(WRITE, as(root, { body: { RejectJobRegistration: true } }))
  const token = await client('namespace "default" { policy = "write" }')
  assert.deepEqual(await server.refusal('registerJob', as(token, register())), [
    403,
    'Job registration, dispatch, and scale are disabled by the scheduler configuration',
  ])
  await server.ok('registerJob', as(root, register()))
  assert.deepEqual(await server.refusal('registerJob', register()), DENIED)
})

test('scheduler configuration: needs operator:read, operator:write', async () => {
  const { server, as, client } = await aSecuredServer()
  const reader = await client('operator { policy = "read" }')
  const writer = await client('operator { policy = "write" }')
  const other = await client('namespace "*" { policy = "write" }\nnode { policy = "write" }')
  const body = { body: {} }
  await server.ok(READ, as(reader))
  await server.ok(READ, as(writer))
  await server.ok(WRITE, as(writer, body))
  assert.deepEqual(await server.refusal(WRITE, as(reader, body)), DENIED)
  for (const route of [READ, WRITE] as const)
    assert.deepEqual(await server.refusal(route, as(other, body)), DENIED)
})
