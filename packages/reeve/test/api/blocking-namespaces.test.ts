import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  v1Routes,
  type AclToken,
  type PolicyVerdict,
  type Route,
  type V1RouteId,
} from '@reeve/contract'
import { newDeployment, newHostVolume, newSummary } from '../../src/model/index.ts'
import { put, remove, type Change } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aJob, anAllocation, anEvaluation, anId, aNode } from '../build/index.ts'
import { aNamespace } from '../build/store.ts'
import { until } from '../build/until.ts'
import { createTestServer, parkedQueries, type CallOptions, type TestServer } from './harness.ts'

/** Blocking reads of what belongs to no namespace, or to nodes: nothing of them is scoped. */
const CLUSTER_WIDE: ReadonlySet<string> = new Set<V1RouteId>([
  'listAclPolicies',
  'listAclRoles',
  'listAclTokens',
  'listNamespaces',
  'listNodeJoinTokens',
  'listNodePoolNodes',
  'listNodePools',
  'listNodeRevocations',
  'listNodes',
  'listOwnAclPolicies',
  'listTopology',
  'listVolumePlugins',
  'readAclPolicy',
  'readAclRole',
  'readAclRoleByName',
  'readAclToken',
  'readNamespace',
  'readNode',
  'readNodePool',
  'readOwnAclToken',
  'readSchedulerConfiguration',
])

// Each of them is a Route.
const SCOPED = Object.entries(v1Routes as Readonly<Record<string, Route>>)
  .filter(([id, route]) => route.blocking === true && !CLUSTER_WIDE.has(id))
  // The keys of v1Routes are its ids.
  .map(([id, route]) => [id as V1RouteId, route] as const)

const RULES = `namespace "a" {
    policy = "write"
    variables { path "*" { capabilities = ["read", "list", "write"] } }
  }
  node { policy = "read" }
  node_pool "*" { policy = "read" }`

const NODE = anId('node', 1)

interface World {
  readonly server: TestServer
  readonly root: AclToken
  /** May do everything in the namespace `a`, and read nodes. */
  readonly tenant: AclToken
}

/** A token of one namespace, and one of everything in both of them. */
async function aWorld(disk = new MemoryDisk()): Promise<World> {
  const server = await createTestServer({ disk })
  const root = await server.ok('bootstrapAcl')
  const token = root.SecretID
  const params = { policy_name: 'a' }
  await server.ok('writeAclPolicy', { token, params, body: { Name: 'a', Rules: RULES } })
  const body = { Type: 'client', Policies: ['a'] }
  const tenant = await server.ok('createAclToken', { token, body })
  const { SecretID: _secret, ...node } = aNode({ ID: NODE })
  const namespaces = [put('namespaces', aNamespace('a')), put('namespaces', aNamespace('b'))]
  await write(server, ...namespaces, put('nodes', { ...node, SecretHash: '' }))
  await write(server, ...rowsOf(server, 'a'))
  await write(server, ...rowsOf(server, 'b'))
  return { server, root, tenant }
}

async function write({ context }: TestServer, ...changes: readonly Change[]): Promise<number> {
  const { index, durable } = context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => changes,
  })
  await durable
  await turns()
  return index
}

/** Lets requests that can be answered be answered. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await setImmediate()
}

function idIn(namespace: string): string {
  return anId('any', namespace === 'a' ? 1 : 2)
}

/** One of everything that is in a namespace. */
function rowsOf({ context }: TestServer, Namespace: string): readonly Change[] {
  const job = aJob({ Namespace })
  const ID = idIn(Namespace)
  const stamps = { CreateIndex: 0, ModifyIndex: 0 }
  const allocation = anAllocation({ job, ID, NodeID: NODE, EvalID: ID, DeploymentID: ID })
  const scaled = { Namespace, Job: job.ID, Group: 'app' }
  return [
    put('jobs', job),
    put('job_versions', job),
    put('job_summaries', newSummary(job)),
    put('evaluations', anEvaluation(job, { ID })),
    put('allocations', allocation),
    put('deployments', newDeployment(job, { id: ID, timeMs: 0, priority: 50 })),
    put('scaling_policies', {
      ...stamps,
      ID,
      Enabled: true,
      Type: 'horizontal',
      Target: scaled,
      Policy: null,
      Min: 0,
      Max: 1,
    }),
    put('scaling_events', { ...stamps, Namespace, JobID: job.ID, Group: 'app', Events: [] }),
    put('service_registrations', {
      ...stamps,
      ID: 'r1',
      ServiceName: 'web',
      Namespace,
      Datacenter: 'dc1',
      Tags: null,
      JobID: job.ID,
      AllocID: ID,
      NodeID: NODE,
      Address: '127.0.0.1',
      Port: 80,
    }),
    put('variables', {
      ...stamps,
      Namespace,
      Path: 'p',
      SealedItems: context.sealer.seal('{}'),
      Lock: null,
      CreateTime: 0,
      ModifyTime: 0,
    }),
    put('policy_verdicts', aVerdict(Namespace, ID)),
    put('host_volumes', {
      ...newHostVolume({ Name: 'data', Namespace }, { id: ID, origin: 'created' }),
      NodeID: NODE,
    }),
  ]
}

function aVerdict(Namespace: string, ID: string): PolicyVerdict {
  const asked = { Operation: 'register', Result: 'denied', AccessorID: '', TokenName: '' } as const
  const judged = { SubjectHash: '', HasSubject: false, Asked: 1, Outcomes: [], OutcomesOmitted: 0 }
  const stamps = { Time: 0, CreateIndex: 1, ModifyIndex: 0 }
  return { ID, Namespace, JobID: 'web', Comment: '', ...asked, ...judged, ...stamps }
}

/** What the route asks for in `a`. */
function optionsOf(route: Route, tenant: AclToken, namespace: string): CallOptions {
  const id = idIn('a')
  const params = {
    job_id: 'web',
    alloc_id: id,
    eval_id: id,
    deployment_id: id,
    policy_id: id,
    node_id: NODE,
    pool_name: 'default',
    service_name: 'web',
    volume_id: id,
    path: 'p',
  }
  const isWrite = route.methods[0] !== 'GET'
  const query = { namespace, version: 0 }
  return { params, query, token: tenant.SecretID, ...(isWrite && { body: {} }) }
}

for (const namespace of ['a', '*'])
  for (const [id, route] of SCOPED) {
    // A variable is in one namespace: there is none in all of them.
    if (id === 'readVariable' && namespace === '*') continue
    test(`${id}: with namespace=${namespace} a write to another namespace shows nowhere`, async () => {
      const { server, tenant } = await aWorld()
      const options = optionsOf(route, tenant, namespace)
      const ask = (index: number) =>
        server.call(id, { ...options, query: { ...options.query, index } })
      const { index } = await ask(0)
      assert.ok(index > 0)
      let isAnswered = false
      const waiting = ask(index).then((reply) => {
        isAnswered = true
        return reply
      })
      await turns()
      assert.ok(!isAnswered, 'nothing has changed yet')
      await write(server, ...rowsOf(server, 'b'))
      await write(server, remove('jobs', 'b!web'), remove('allocations', idIn('b')))
      assert.ok(!isAnswered, 'it was woken')
      assert.equal((await ask(0)).index, index, 'its index tells of the write')
      const own = await write(server, ...rowsOf(server, 'a'))
      const isWoken = isAnswered
      // Ends the wait of whatever was not woken.
      server.clock.advance(3_600_000)
      const reply = await waiting
      if (!isConstant(id, route, namespace)) assert.deepEqual([isWoken, reply.index], [true, own])
    })
  }

/** A submission has the index of its version; no job or volume is in a namespace `*`. */
function isConstant(id: V1RouteId, { path }: Route, namespace: string): boolean {
  const isNamed = path.startsWith('/v1/job/') || path.startsWith('/v1/volume/')
  return id === 'readJobSubmission' || (namespace === '*' && isNamed)
}

const MISSING = [
  '/v1/job/missing?namespace=a',
  '/v1/job/missing/summary?namespace=a',
  '/v1/job/missing/versions?namespace=a',
  '/v1/job/missing/scale?namespace=a',
  '/v1/var/missing?namespace=a',
  `/v1/allocation/${anId('any', 9)}`,
  `/v1/evaluation/${anId('any', 9)}`,
  `/v1/deployment/${anId('any', 9)}`,
  `/v1/scaling/policy/${anId('any', 9)}`,
  `/v1/allocation/${idIn('b')}`,
  `/v1/node/${anId('any', 9)}/allocations`,
]

for (const url of MISSING)
  test(`the index of ${url}, which is not there, tells nothing of other namespaces`, async () => {
    const { server, tenant } = await aWorld()
    const read = () => server.send('GET', url, { token: tenant.SecretID })
    const { index } = await read()
    await write(server, ...rowsOf(server, 'b'))
    assert.equal((await read()).index, index)
    await write(server, ...rowsOf(server, 'a'))
    assert.ok((await read()).index > index)
  })

/** The index of the jobs of a namespace, as its tenant reads it. */
async function jobsIndex({ server, tenant }: World, namespace = 'a'): Promise<number> {
  const query = { namespace }
  const { status, index } = await server.call('listJobs', { query, token: tenant.SecretID })
  assert.equal(status, 200)
  return index
}

test('the deletion of the last job of a namespace wakes who waits, and counts', async () => {
  const world = await aWorld()
  const index = await jobsIndex(world)
  const query = { namespace: 'a', index }
  const waiting = world.server.call('listJobs', { query, token: world.tenant.SecretID })
  await until('the query to be parked', () => (parkedQueries() > 0 ? true : undefined))
  const deleted = await write(
    world.server,
    remove('jobs', 'a!web'),
    remove('job_summaries', 'a!web'),
  )
  const reply = await waiting
  assert.deepEqual([reply.body, reply.index], [[], deleted])
  await write(world.server, ...rowsOf(world.server, 'b'))
  assert.equal(await jobsIndex(world), deleted)
})

test('a namespace that is deleted and created anew continues with a larger index', async () => {
  const world = await aWorld()
  const { server } = world
  const before = await jobsIndex(world)
  await write(server, remove('jobs', 'a!web'), remove('job_summaries', 'a!web'))
  const deletion = await write(server, remove('namespaces', 'a'))
  assert.ok(deletion > before)
  assert.equal(await jobsIndex(world), deletion)
  assert.equal(await jobsIndex(world, '*'), deletion)
  const creation = await write(server, put('namespaces', aNamespace('a')))
  assert.equal(await jobsIndex(world), creation)
  assert.equal(await jobsIndex(world, '*'), creation)
})

for (const isCheckpointed of [true, false])
  test(`an index is the same after a restart, ${isCheckpointed ? 'with' : 'without'} a checkpoint`, async () => {
    const disk = new MemoryDisk()
    const world = await aWorld(disk)
    const indexes = [await jobsIndex(world), await jobsIndex(world, '*')]
    if (isCheckpointed) await world.server.context.store.checkpoint()
    const again = { ...world, server: await createTestServer({ disk }) }
    assert.deepEqual([await jobsIndex(again), await jobsIndex(again, '*')], indexes)
    await write(again.server, ...rowsOf(again.server, 'b'))
    assert.deepEqual([await jobsIndex(again), await jobsIndex(again, '*')], indexes)
  })

test('a management token with namespace=* has the index of the table', async () => {
  const { server, root } = await aWorld()
  const written = await write(server, ...rowsOf(server, 'b'))
  const query = { namespace: '*' }
  assert.equal((await server.call('listJobs', { query, token: root.SecretID })).index, written)
})
