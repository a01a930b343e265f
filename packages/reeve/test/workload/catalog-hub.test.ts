import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { WatchUpdateMessage, type WatchTopic } from '@reeve/contract'
import { Value } from 'typebox/value'
import { MANAGEMENT_GRANTS } from '../../src/acl/index.ts'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { reportServices, writeVariable } from '../../src/workload/index.ts'
import { CatalogWatches } from '../../src/sessions/index.ts'
import { createTestServer } from '../api/harness.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'

const [NODE, OTHER] = [anId('node', 1), anId('node', 2)]

/** A server on which one node runs the job `web`, and another node the job `db`. */
async function aWorld(t: TestContext) {
  const server = await createTestServer({ aclEnabled: false })
  const { context } = server
  const jobs = [aJob({ ID: 'web' }), aJob({ ID: 'db' })]
  const allocations = jobs.map((job, i) => ({
    ...anAllocation({ job, index: i }),
    ID: anId('alloc', i + 1),
    NodeID: i === 0 ? NODE : OTHER,
  }))
  await context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...jobs.flatMap((job) => [put('jobs', job), put('job_versions', job)]),
      ...allocations.map((row) => put('allocations', row)),
    ],
  }).durable
  const hub = new CatalogWatches(context)
  t.after(async () => {
    hub.close()
    await server.close()
  })
  const [web = assert.fail()] = allocations
  const [group = assert.fail()] = jobs[0]?.TaskGroups ?? []
  return { server, context, hub, web, group }
}

type World = Awaited<ReturnType<typeof aWorld>>

function aReader(nodeId = NODE) {
  const told: WatchUpdateMessage[] = []
  return {
    nodeId,
    told,
    send(text: string) {
      const facts: unknown = JSON.parse(text)
      assert.ok(Value.Check(WatchUpdateMessage, facts))
      told.push(facts)
    },
  }
}

/** Lets what was gathered be told. */
async function settle({ server, context }: World): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await context.store.whenDurable()
    await setImmediate()
    server.clock.advance(100)
    await setImmediate()
  }
}

async function write({ context }: World, path: string, Items: Record<string, string>) {
  const caller = {
    by: 'system',
    grants: MANAGEMENT_GRANTS,
    accessorId: '',
    name: '',
    type: 'management',
    expiresMs: undefined,
  } as const
  const body = { Items }
  const target = { namespace: 'default', path, cas: undefined, lock: undefined, body }
  assert.ok((await writeVariable(context, caller, target)).ok)
}

async function offer({ context, web }: World, ...ports: readonly number[]): Promise<void> {
  const services = ports.map((Port) => ({
    ID: `_${web.ID}-${Port}`,
    ServiceName: 'web',
    Tags: ['a'],
    Address: '10.0.0.1',
    Port,
  }))
  const sets = [{ allocation: web.ID, services }]
  await reportServices(context, { nodeId: NODE, sets, all: undefined })
}

const SERVICE: WatchTopic = { topic: 'service', namespace: 'default', name: 'web' }

test('catalog hub: a service is sent immediately, and once after each change', async (t) => {
  const world = await aWorld(t)
  const reader = aReader()
  world.hub.watch(reader, 1, SERVICE)
  world.hub.watch(reader, 2, { topic: 'services', namespace: 'default' })
  await settle(world)
  assert.deepEqual(reader.told, [
    { kind: 'facts', id: 1, instances: [] },
    { kind: 'facts', id: 2, names: [] },
  ])
  reader.told.length = 0
  await offer(world, 1)
  await offer(world, 1, 2)
  await settle(world)
  assert.deepEqual(
    reader.told.map(({ instances, names }) => instances?.map(({ Port }) => Port) ?? names),
    [[1, 2], [{ name: 'web', tags: ['a'] }]],
  )
  reader.told.length = 0
  await offer(world, 2)
  await settle(world)
  assert.equal(reader.told.length, 1, 'the names are what they were')
})

const variables = [
  { path: 'service/jobs', isOwn: true },
  { path: 'service/jobs/web', isOwn: true },
  { path: 'service/jobs/web/GROUP', isOwn: true },
  { path: 'service/jobs/web/GROUP/TASK', isOwn: true },
  { path: 'service/jobs/web/other', isOwn: false },
  { path: 'service/jobs/db', isOwn: false },
  { path: 'team/shared', isOwn: false },
]
for (const { path, isOwn } of variables)
  test(`catalog hub: a node ${isOwn ? 'reads' : 'does not read'} ${path}`, async (t) => {
    const world = await aWorld(t)
    const { Name: group, Tasks } = world.group
    const task = Tasks[0]?.Name ?? ''
    const named = path.replace('GROUP', group).replace('TASK', task)
    await write(world, named, { a: '1' })
    const reader = aReader()
    world.hub.watch(reader, 1, { topic: 'variable', namespace: 'default', path: named })
    world.hub.watch(reader, 2, { topic: 'variables', namespace: 'default', path: '' })
    await settle(world)
    assert.deepEqual(reader.told, [
      { kind: 'facts', id: 1, items: isOwn ? { a: '1' } : null },
      { kind: 'facts', id: 2, paths: isOwn ? [named] : [] },
    ])
  })

test('catalog hub: a policy that is bound to the job opens more, to that job alone', async (t) => {
  const world = await aWorld(t)
  const Rules = 'namespace "default" { variables { path "team/*" { capabilities = ["read"] } } }'
  const JobACL = { Namespace: 'default', JobID: 'web', Group: '', Task: '' }
  const policy = { Name: 'p', Description: '', Rules, JobACL, Hash: '' }
  world.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('acl_policies', { ...policy, CreateIndex: 0, ModifyIndex: 0 })],
  })
  await write(world, 'team/shared', { a: '1' })
  const what: WatchTopic = { topic: 'variable', namespace: 'default', path: 'team/shared' }
  const [mine, theirs] = [aReader(), aReader(OTHER)]
  world.hub.watch(mine, 1, what)
  world.hub.watch(theirs, 1, what)
  await settle(world)
  assert.deepEqual([mine.told[0]?.items, theirs.told[0]?.items], [{ a: '1' }, null])
})

test('catalog hub: a node that runs nothing in a namespace learns nothing of it', async (t) => {
  const world = await aWorld(t)
  await offer(world, 1)
  const stranger = aReader(anId('node', 3))
  world.hub.watch(stranger, 1, SERVICE)
  await settle(world)
  assert.deepEqual(stranger.told, [{ kind: 'facts', id: 1, instances: [] }])
})

test('catalog hub: nothing is sent without a watch', async (t) => {
  const world = await aWorld(t)
  const [one, two] = [aReader(), aReader()]
  world.hub.watch(one, 1, SERVICE)
  world.hub.watch(two, 1, SERVICE)
  await settle(world)
  world.hub.unwatch(one, 1)
  world.hub.onSessionClosed(two)
  await offer(world, 1)
  await settle(world)
  assert.deepEqual([one.told.length, two.told.length], [1, 1])
})

test('catalog hub: a node follows a bounded number of things', async (t) => {
  const world = await aWorld(t)
  const reader = aReader()
  for (let id = 1; id <= LIMITS.nodeWatchesMax + 5; id++)
    world.hub.watch(reader, id, { topic: 'variable', namespace: 'default', path: `p${id}` })
  await settle(world)
  assert.equal(reader.told.length, LIMITS.nodeWatchesMax)
})
