import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import type {
  PolicyInvocation,
  PolicyResult,
  PolicyEngine,
  PolicyInput,
} from '../../src/policy/index.ts'
import { aGroup } from '../build/index.ts'
import { ofJob, PARAMETERIZED } from './cluster.ts'
import { aGuardedServer, type GuardedServer } from './guarded.ts'
import type { Reply } from './harness.ts'

/** Asks nobody: code that says so denies. Each test says what happens meanwhile. */
class SlowAsker implements PolicyEngine {
  readonly asked: PolicyInput[] = []
  /** Told how often it was asked, this time included. */
  meanwhile: (times: number) => Promise<void> = async () => undefined

  async evaluate(
    subject: PolicyInput,
    policies: readonly PolicyInvocation[],
  ): Promise<readonly PolicyResult[]> {
    this.asked.push(subject)
    await this.meanwhile(this.asked.length)
    return policies.map(({ policy }) => ({
      status: policy.code === 'denies' ? 'failed' : 'passed',
      output: [],
      findings: [],
    }))
  }

  async diagnose(): Promise<readonly []> {
    return []
  }
}

interface Race extends GuardedServer {
  readonly asker: SlowAsker
  /** The policy that guards `default`, and its set. */
  readonly policyId: string
  readonly setId: string
}

async function aRace(): Promise<Race> {
  const asker = new SlowAsker()
  const guarded = await aGuardedServer({ policyAsker: asker })
  const { policy, set } = await guarded.guard({ code: 'allows' })
  return { ...guarded, asker, policyId: policy, setId: set }
}

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

function statusesOf(replies: readonly Reply[]): readonly number[] {
  return replies.map(({ status }) => status).toSorted((a, b) => a - b)
}

/** Resolves for everybody when as many are there. */
function meeting(size: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length >= size) for (const one of waiting.splice(0)) one()
    })
}

test('of callers who enforce one index at once, one registers', async () => {
  const { server, register, asker } = await aRace()
  const { JobModifyIndex } = await server.ok('registerJob', register(count(1)))
  const meet = meeting(8)
  const before = asker.asked.length
  asker.meanwhile = async (times) => (times <= before + 8 ? await meet() : undefined)
  const request = { EnforceIndex: true, JobModifyIndex }
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      server.call('registerJob', register(count(2 + i), request)),
    ),
  )
  const statuses = statusesOf(replies)
  assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 409)])
  const job = await server.ok('readJob', { ...ofJob(), token: register().token })
  const winner = replies.findIndex(({ status }) => status === 200)
  assert.deepEqual([job.Version, job.TaskGroups[0]?.Count], [1, 2 + winner])
  await server.close()
})

test('a job that changes while policies are asked is judged against what it is then', async () => {
  const { server, register, asker } = await aRace()
  await server.ok('registerJob', register(count(1)))
  const before = asker.asked.length
  asker.meanwhile = async (times) => {
    if (times === before + 1) await server.ok('registerJob', register(count(5)))
  }
  const { JobModifyIndex } = await server.ok(
    'registerJob',
    register(count(3), { PreserveCounts: true }),
  )
  const seen = asker.asked.map((subject) => (subject.kind === 'job' ? countsOf(subject) : []))
  assert.deepEqual(seen.slice(before), [
    [1, 1],
    [1, 5],
    [5, 5],
  ])
  const job = await server.ok('readJob', { ...ofJob(), token: register().token })
  // The same as it is by then: no new version.
  assert.deepEqual([job.TaskGroups[0]?.Count, job.JobModifyIndex], [5, JobModifyIndex])
  await server.close()
})

function countsOf({ job, existingJob }: Extract<PolicyInput, { kind: 'job' }>): readonly unknown[] {
  // What policies are given is the job of the wire.
  const counts = (one: unknown) => (one as Job | undefined)?.TaskGroups[0]?.Count
  return [counts(existingJob), counts(job)]
}

test('a policy that comes while others are asked is asked too', async () => {
  const { server, register, asker, upload, policyId } = await aRace()
  asker.meanwhile = async (times) => {
    if (times === 1) await upload(policyId, 'denies')
  }
  assert.equal((await server.refusal('registerJob', register(count(1))))[0], 403)
  assert.equal(asker.asked.length, 2)
  assert.equal(server.context.store.tables.jobs.size, 0)
  await server.close()
})

test('policies that go while they are asked deny nothing', async () => {
  const { it, server, register, asker, upload, policyId, setId } = await aRace()
  await upload(policyId, 'denies')
  asker.meanwhile = async () =>
    await it.done('deletePolicySet', { params: { policy_set_id: setId } })
  await server.ok('registerJob', register(count(1)))
  await server.close()
})

test('a namespace that is deleted while policies are asked takes no job', async () => {
  const { it, server, register, as, asker, setId } = await aRace()
  const gone = { params: { namespace_name: 'gone' } }
  await server.ok('writeNamespace', as({ ...gone, body: { Name: 'gone' } }))
  const body = { data: [{ type: 'namespaces', id: 'gone' }] }
  await it.done('addPolicySetNamespaces', { params: { policy_set_id: setId }, body })
  asker.meanwhile = async () => void (await server.call('deleteNamespace', as(gone)))
  assert.deepEqual(await server.refusal('registerJob', register({ Namespace: 'gone' })), [
    400,
    'job "web" is in nonexistent namespace "gone"',
  ])
  await server.close()
})

test('a job that changes again and again is given up, and nothing is written', async () => {
  const { server, register, asker, policyId, upload } = await aRace()
  asker.meanwhile = async (times) => await upload(policyId, `allows ${times}`)
  assert.deepEqual(await server.refusal('registerJob', register(count(1))), [
    409,
    'the job or its policies change while policies are asked; try again',
  ])
  assert.equal(asker.asked.length, LIMITS.policyRoundsMax + 1)
  assert.equal(server.context.store.tables.jobs.size, 0)
  await server.close()
})

test('of reverts that enforce one version at once, one succeeds', async () => {
  const { server, register, as, asker } = await aRace()
  for (const size of [1, 2]) await server.ok('registerJob', register(count(size)))
  const before = asker.asked.length
  const meet = meeting(4)
  asker.meanwhile = async (times) => (times <= before + 4 ? await meet() : undefined)
  const body = { JobID: 'web', JobVersion: 0, EnforcePriorVersion: 1 }
  const replies = await Promise.all(
    Array.from({ length: 4 }, () => server.call('revertJob', as({ ...ofJob(), body }))),
  )
  assert.deepEqual(statusesOf(replies), [200, 409, 409, 409])
  await server.close()
})

test('of dispatches with one token at once, one makes a child and all are told of it', async () => {
  const { server, register, as, asker } = await aRace()
  await server.ok('registerJob', register(PARAMETERIZED))
  const before = asker.asked.length
  const meet = meeting(4)
  asker.meanwhile = async (times) => (times <= before + 4 ? await meet() : undefined)
  const call = as({ ...ofJob('web', { idempotency_token: 't' }), body: {} })
  const replies = await Promise.all(Array.from({ length: 4 }, () => server.ok('dispatchJob', call)))
  assert.equal(new Set(replies.map(({ DispatchedJobID }) => DispatchedJobID)).size, 1)
  assert.equal(server.context.store.tables.jobs.size, 2)
  await server.close()
})

test('of scalings that name one index at once, one succeeds', async () => {
  const { server, register, as, asker } = await aRace()
  const { JobModifyIndex } = await server.ok('registerJob', register(count(1)))
  const before = asker.asked.length
  const meet = meeting(4)
  asker.meanwhile = async (times) => (times <= before + 4 ? await meet() : undefined)
  const scale = (Count: number) =>
    server.call(
      'scaleJob',
      as({ ...ofJob(), body: { Count, JobModifyIndex, Target: { Group: 'app' }, Message: 'm' } }),
    )
  const replies = await Promise.all([2, 3, 4, 5].map(scale))
  assert.deepEqual(statusesOf(replies), [200, 409, 409, 409])
  await server.close()
})

test('where no set applies nobody is asked and nothing is awaited before the commit', async () => {
  const asker = new SlowAsker()
  const { server, register, as } = await aGuardedServer({ policyAsker: asker })
  asker.meanwhile = () => assert.fail('a policy was asked')
  await server.ok('registerJob', register(count(1)))
  const body = { Count: 2, Target: { Group: 'app' }, Message: 'm' }
  await server.ok('scaleJob', as({ ...ofJob(), body }))
  await server.ok('revertJob', as({ ...ofJob(), body: { JobID: 'web', JobVersion: 0 } }))
  await server.ok('planJob', { ...register(count(3)), ...ofJob() })
  assert.equal(asker.asked.length, 0)
  await server.close()
})

test('a token that goes while policies are asked writes nothing', async () => {
  const { server, root, register, as, asker } = await aRace()
  const rules = { Name: 'submits', Rules: 'namespace "default" { policy = "write" }' }
  const params = { policy_name: 'submits' }
  await server.ok('writeAclPolicy', as({ params, body: rules }))
  const body = { Type: 'client', Policies: ['submits'], ExpirationTTL: '60s' }
  const losses: readonly ((accessor_id: string) => Promise<unknown>)[] = [
    (accessor_id) => server.ok('deleteAclToken', as({ params: { accessor_id } })),
    async () => server.clock.advance(60_000),
  ]
  for (const lose of losses) {
    const { AccessorID, SecretID } = await server.ok('createAclToken', as({ body }))
    asker.meanwhile = async () => void (await lose(AccessorID))
    const refused = await server.refusal('registerJob', as(register(count(1)), SecretID))
    assert.deepEqual(refused, [403, 'Permission denied'])
  }
  const reply = await server.call('readJob', { ...ofJob(), token: root })
  assert.equal(reply.status, 404)
  await server.close()
})
