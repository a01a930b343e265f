import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, ScalingPolicy, ScalingPolicyStub } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aGroup, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, register } from './cluster.ts'
import { createTestServer, untilParked, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const SCALED: Input<Job> = {
  TaskGroups: [
    aGroup({ Scaling: { Min: 1, Max: 4, Policy: { cooldown: '1m', checks: [{ a: 1 }] } } }),
  ],
}

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

/** The jobs that the policies are about, by name. */
function jobsOf(policies: readonly ScalingPolicyStub[]): readonly string[] {
  return policies.map(({ Target }) => Target['Job'] ?? '').toSorted(compareText)
}

async function only(server: TestServer): Promise<ScalingPolicy> {
  const policies = await server.ok('listScalingPolicies')
  assert.equal(policies.length, 1)
  return server.ok('readScalingPolicy', { params: { policy_id: policies[0]?.ID ?? '' } })
}

test('scaling policies: a registered job has its policies listed and read', async () => {
  const server = await aServer(SCALED)
  const [stub] = await server.ok('listScalingPolicies')
  assert.deepEqual(stub, {
    ID: stub?.ID,
    Enabled: true,
    Type: 'horizontal',
    Target: { Namespace: 'default', Job: 'web', Group: 'app' },
    CreateIndex: 2,
    ModifyIndex: 2,
  })
  const policy = await only(server)
  assert.deepEqual(policy, {
    ...stub,
    Policy: { cooldown: '1m', checks: [{ a: 1 }] },
    Min: 1,
    Max: 4,
  })
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(job.TaskGroups[0]?.Scaling, policy)
})

test('scaling policies: those of tasks are policies too', async () => {
  const ScalingPolicies = [{ Type: 'vertical_cpu', Min: 1, Max: 9 }]
  const server = await aServer({ TaskGroups: [aGroup({ tasks: [aTask({ ScalingPolicies })] })] })
  const { Type, Target } = await only(server)
  assert.deepEqual(
    [Type, Target],
    ['vertical_cpu', { Namespace: 'default', Job: 'web', Group: 'app', Task: 'main' }],
  )
})

test('scaling policies: the id stays, and the index moves only with the policy', async () => {
  const server = await aServer(SCALED)
  const first = await only(server)
  await server.ok('registerJob', register({ ...SCALED, Priority: 10 }))
  assert.deepEqual(await only(server), first)
  const other = { ...SCALED, TaskGroups: [aGroup({ Scaling: { Min: 1, Max: 9 } })] }
  await server.ok('registerJob', register(other))
  const next = await only(server)
  assert.deepEqual(
    [next.ID, next.Max, next.CreateIndex, next.ModifyIndex],
    [first.ID, 9, first.CreateIndex, 4],
  )
})

test('scaling policies: an id that the caller made up is not taken', async () => {
  const server = await aServer(SCALED)
  const { ID } = await only(server)
  const TaskGroups = [aGroup({ Scaling: { ID, Max: 2 } })]
  await server.ok('registerJob', register({ ID: 'thief', TaskGroups }))
  const policies = await server.ok('listScalingPolicies')
  assert.deepEqual(jobsOf(policies), ['thief', 'web'])
  assert.equal(policies.find((one) => one.ID === ID)?.Target['Job'], 'web')
})

test('scaling policies: a stop disables them, a registration enables them, a purge removes them', async () => {
  const server = await aServer(SCALED)
  const first = await only(server)
  await server.ok('stopJob', ofJob())
  const stopped = await only(server)
  assert.deepEqual([stopped.ID, stopped.Enabled, stopped.ModifyIndex], [first.ID, false, 3])
  await server.ok('registerJob', register(SCALED))
  const again = await only(server)
  assert.deepEqual([again.ID, again.Enabled], [first.ID, true])
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual(await server.ok('listScalingPolicies'), [])
})

test('scaling policies: one that the job no longer has goes', async () => {
  const server = await aServer(SCALED, {})
  assert.deepEqual(await server.ok('listScalingPolicies'), [])
})

test('scaling policies: scaling a job leaves them alone', async () => {
  const server = await aServer(SCALED)
  const before = await only(server)
  const body = { Count: 2, Target: { Group: 'app' }, Message: 'more' }
  await server.ok('scaleJob', { ...ofJob(), body })
  assert.deepEqual(await only(server), before)
})

test('scaling policies: a child has its own', async () => {
  const server = await aServer({ ...PARAMETERIZED, ...SCALED })
  const { DispatchedJobID } = await server.ok('dispatchJob', ofJob())
  const policies = await server.ok('listScalingPolicies')
  assert.deepEqual(jobsOf(policies), ['web', DispatchedJobID])
})

test('scaling policies: survive a restart', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await before.ok('registerJob', register(SCALED))
  const policy = await only(before)
  await before.close()
  const server = await createTestServer({ aclEnabled: false, disk })
  assert.deepEqual(await only(server), policy)
})

const filters: readonly { query: Record<string, string>; want: readonly string[] }[] = [
  { query: {}, want: ['db', 'web'] },
  { query: { job: 'web' }, want: ['web'] },
  { query: { job: 'we' }, want: [] },
  { query: { type: 'horizontal' }, want: ['web'] },
  { query: { type: 'vertical_mem' }, want: ['db'] },
  { query: { job: 'web', type: 'vertical_mem' }, want: [] },
  { query: { namespace: 'other' }, want: [] },
  { query: { namespace: '*', job: 'db' }, want: ['db'] },
]
for (const { query, want } of filters)
  test(`scaling policies: ${JSON.stringify(query)} lists ${want.join(' ') || 'none'}`, async () => {
    const ScalingPolicies = [{ Type: 'vertical_mem', Max: 9 }]
    const server = await aServer(SCALED, {
      ID: 'db',
      TaskGroups: [aGroup({ tasks: [aTask({ ScalingPolicies })] })],
    })
    const policies = await server.ok('listScalingPolicies', { query })
    assert.deepEqual(jobsOf(policies), want)
  })

test('scaling policies: one that does not exist is not found', async () => {
  const server = await aServer()
  const call = { params: { policy_id: 'gone' } }
  assert.deepEqual(await server.refusal('readScalingPolicy', call), [404, 'policy not found'])
})

test('scaling policies: a blocking list wakes for a new one', async () => {
  const server = await aServer(SCALED)
  const first = await server.call('listScalingPolicies')
  assert.equal(first.index, 2)
  const parked = server.call('listScalingPolicies', { query: { index: 2 } })
  await untilParked()
  await server.ok('registerJob', register({ ...SCALED, ID: 'more' }))
  assert.equal((await parked).index, 3)
})

const rights: readonly { capabilities: readonly string[]; lists: number; reads: number }[] = [
  { capabilities: ['list-scaling-policies'], lists: 200, reads: 404 },
  { capabilities: ['read-scaling-policy'], lists: 403, reads: 200 },
  { capabilities: ['list-jobs', 'read-job'], lists: 200, reads: 200 },
  { capabilities: ['list-jobs'], lists: 403, reads: 404 },
  { capabilities: ['read-job'], lists: 403, reads: 404 },
]
for (const { capabilities, lists, reads } of rights)
  test(`scaling policies: with ${capabilities.join(' and ')} listing is ${lists} and reading ${reads}`, async () => {
    const { server, root, as, client } = await aSecuredServer()
    await server.ok('registerJob', as(root, register(SCALED)))
    const [policy] = await server.ok('listScalingPolicies', as(root))
    const names = capabilities.map((one) => `"${one}"`).join(', ')
    const caller = await client(`namespace "default" { capabilities = [${names}] }`)
    const params = { policy_id: policy?.ID ?? '' }
    assert.equal((await server.call('listScalingPolicies', as(caller))).status, lists)
    assert.equal((await server.call('readScalingPolicy', as(caller, { params }))).status, reads)
  })

test('scaling policies: the list of every namespace shows those that the caller may see', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  await server.ok('registerJob', as(root, register(SCALED)))
  await server.ok('registerJob', as(root, { ...register(SCALED), query: { namespace: 'other' } }))
  const caller = await client('namespace "other" { policy = "read" }')
  const policies = await server.ok('listScalingPolicies', as(caller, { query: { namespace: '*' } }))
  assert.deepEqual(
    policies.map(({ Target }) => Target['Namespace']),
    ['other'],
  )
})
