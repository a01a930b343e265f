import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import { policyInputBlobKey } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aGroup } from '../build/index.ts'
import { ofJob } from './cluster.ts'
import { aGuardedServer, type GuardedServer, type PolicyFields } from './guarded.ts'
import { createTestServer } from './harness.ts'

/** Denies more than two instances. */
const SMALL = {
  name: 'small',
  code: 'main = rule {\n  job.task_groups[0].count <= 2\n}',
} as const
const OVERRIDES = `namespace "default" {
  capabilities = ["submit-job", "read-job", "policy-override"]
}`

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

async function guardedBy(fields: PolicyFields): Promise<GuardedServer> {
  const guarded = await aGuardedServer()
  await guarded.guard(fields, { name: 'limits' })
  return guarded
}

test('denials and overrides are recorded with who, why, when and what', async () => {
  const { server, as, client, register, policy, set } = await aGuardedServer()
  const soft = await policy({ ...SMALL, level: 'soft-mandatory' })
  const polset = await set([soft, await policy({ name: 'fine', code: 'main = true' })], {
    name: 'limits',
  })
  const token = await client(OVERRIDES)
  const call = (request: object) => as(register(count(3), request), token.SecretID)
  await server.refusal('registerJob', call({}))
  server.clock.advance(1_000)
  const comment = 'x'.repeat(LIMITS.overrideCommentCharsMax + 1)
  await server.ok('registerJob', call({ PolicyOverride: true, PolicyOverrideComment: comment }))
  const verdicts = await server.ok('listJobVerdicts', as(ofJob(), token.SecretID))
  const [first, second] = verdicts
  assert.deepEqual(first, {
    ID: first?.ID,
    Namespace: 'default',
    JobID: 'web',
    Operation: 'register',
    Result: 'denied',
    AccessorID: token.AccessorID,
    TokenName: token.Name,
    Comment: '',
    Time: (server.clock.nowMs() - 1_000) * 1_000_000,
    SubjectHash: first?.SubjectHash,
    HasSubject: true,
    Asked: 2,
    Outcomes: [
      {
        PolicySet: 'limits',
        PolicySetID: polset,
        Policy: 'small',
        PolicyID: soft,
        Level: 'soft-mandatory',
        Status: 'failed',
        Effect: 'denies',
        Overridable: true,
        Description: null,
        Findings: [
          {
            Rule: 'main',
            Line: 2,
            Column: 3,
            Message: 'job.task_groups[0].count <= 2 is false (job.task_groups[0].count is 3)',
          },
        ],
        FindingsOmitted: 0,
      },
    ],
    OutcomesOmitted: 0,
    CreateIndex: first?.CreateIndex,
    ModifyIndex: first?.CreateIndex,
  })
  assert.deepEqual(
    [second?.Result, second?.Comment.length, second?.Outcomes[0]?.Effect, second?.SubjectHash],
    ['overridden', LIMITS.overrideCommentCharsMax, 'overridden', first?.SubjectHash],
  )
  // The override and the job are one commit.
  const job = await server.ok('readJob', as(ofJob(), token.SecretID))
  assert.equal(second?.CreateIndex, job.JobModifyIndex)
  const all = await server.ok('listPolicyVerdicts', as({ query: { namespace: '*' } }))
  assert.deepEqual(all, verdicts)
  const filter = 'Result == "denied"'
  assert.deepEqual(await server.ok('listPolicyVerdicts', as({ query: { filter } })), [first])
  await server.close()
})

test('verdicts: read-job of the namespace shows them', async () => {
  const { server, as, client, register } = await guardedBy(SMALL)
  await server.refusal('registerJob', register(count(3)))
  const { SecretID: none } = await client('namespace "default" { capabilities = ["list-jobs"] }')
  const { SecretID: other } = await client('namespace "other" { capabilities = ["read-job"] }')
  for (const id of ['listPolicyVerdicts', 'listJobVerdicts'] as const)
    assert.equal((await server.refusal(id, as(ofJob(), none)))[0], 403)
  const everywhere = as({ query: { namespace: '*' } }, other)
  assert.deepEqual(await server.ok('listPolicyVerdicts', everywhere), [])
  await server.close()
})

test('verdicts: a namespace keeps the latest, and a judged job goes with the last that has it', async () => {
  const { server, register } = await guardedBy(SMALL)
  const { store } = server.context
  await server.refusal('registerJob', register(count(3)))
  const [first] = [...store.tables.policy_verdicts.rows()]
  const key = policyInputBlobKey(first?.SubjectHash ?? '')
  assert.notEqual(await store.readBlob(key), undefined)
  for (let i = 0; i < LIMITS.policyDecisionsMax; i++)
    await server.refusal('registerJob', register({ ...count(4), ID: `web-${i % 2}` }))
  assert.equal(store.tables.policy_verdicts.size, LIMITS.policyDecisionsMax)
  assert.equal(await store.readBlob(key), undefined)
  await server.close()
})

test('verdicts: however many denials do not push an override out', async () => {
  const { server, register } = await guardedBy({ ...SMALL, level: 'soft-mandatory' })
  const { store } = server.context
  await server.ok('registerJob', register(count(3), { PolicyOverride: true }))
  for (let i = 0; i <= LIMITS.policyDecisionsMax; i++)
    await server.refusal('registerJob', register({ ...count(4), ID: `web-${i % 2}` }))
  const results = [...store.tables.policy_verdicts.rows()].map(({ Result }) => Result)
  assert.equal(results.filter((result) => result === 'denied').length, LIMITS.policyDecisionsMax)
  assert.equal(results.filter((result) => result === 'overridden').length, 1)
  await server.close()
})

test('verdicts are events, and those that are forgotten are none', async () => {
  const { server, register } = await guardedBy({ ...SMALL, level: 'soft-mandatory' })
  const { store } = server.context
  const from = store.index + 1
  await server.refusal('registerJob', register(count(3)))
  await server.ok('registerJob', register(count(3), { PolicyOverride: true }))
  const events: string[] = []
  for await (const commit of store.log.read(from))
    events.push(
      ...commit.events.map(
        ({ Topic, Type, FilterKeys }) => `${Topic} ${Type} ${FilterKeys?.join()}`,
      ),
    )
  assert.deepEqual(
    events.filter((text) => text.startsWith('Policy')),
    ['PolicyVerdict PolicyDenied web', 'PolicyVerdict PolicyOverridden web'],
  )
  await server.close()
})

test('verdicts outlive a restart, with the job that was judged', async () => {
  const disk = new MemoryDisk()
  const { server, register, guard, root } = await aGuardedServer({ disk })
  await guard(SMALL)
  await server.refusal('registerJob', register(count(3)))
  const before = await server.ok('listPolicyVerdicts', { token: root })
  await server.close()
  const again = await createTestServer({ disk })
  assert.deepEqual(await again.ok('listPolicyVerdicts', { token: root }), before)
  const bytes = await again.context.store.readBlob(policyInputBlobKey(before[0]?.SubjectHash ?? ''))
  // Written from a job of the wire.
  const job = JSON.parse(new TextDecoder().decode(bytes)) as Job
  assert.deepEqual([job.ID, job.TaskGroups[0]?.Count], ['web', 3])
  await again.close()
})

test('a denial in spite of an override says which policies were passed over', async () => {
  const { server, register, as, policy, set } = await aGuardedServer()
  const code = 'main = rule { false }'
  await set([
    await policy({ code, name: 'hard' }),
    await policy({ code, name: 'soft', level: 'soft-mandatory' }),
  ])
  const [, text] = await server.refusal('registerJob', register({}, { PolicyOverride: true }))
  assert.doesNotMatch(text, /"soft"/)
  const [verdict] = await server.ok('listPolicyVerdicts', as({}))
  assert.equal(verdict?.Result, 'denied')
  assert.deepEqual(
    verdict?.Outcomes.map(({ Policy, Effect }) => [Policy, Effect]),
    [
      ['hard', 'denies'],
      ['soft', 'overridden'],
    ],
  )
  await server.close()
})

test('a denial has one audit record, which says that it was refused', async () => {
  const { server, as, register } = await guardedBy(SMALL)
  await server.refusal('registerJob', register(count(3)))
  await server.ok('registerJob', register(count(1)))
  const refused = { body: { Count: 3, Target: { Group: 'app' }, Message: 'more' } }
  await server.refusal('scaleJob', as({ ...ofJob(), ...refused }))
  const records = await server.ok('listAuditRecords', as({}))
  const seen = records.map(({ Action, Status, Resources }) => [Action, Status, Resources].join(' '))
  assert.deepEqual(seen.filter((one) => one.includes('Job ')).toSorted(), [
    'registerJob 200 web',
    'registerJob 403 web',
    'scaleJob 403 web',
  ])
})

test('verdicts end with their namespace, and with them the jobs that were judged', async () => {
  const { server, as, register, policy, set } = await aGuardedServer()
  const shop = { params: { namespace_name: 'shop' } }
  const make = () => server.ok('writeNamespace', as({ ...shop, body: { Name: 'shop' } }))
  await make()
  await set([await policy(SMALL)], { namespaces: ['shop'] })
  await server.refusal('registerJob', register({ ...count(3), Namespace: 'shop' }))
  const listed = async () => {
    const found = await server.ok('listPolicyVerdicts', as({ query: { namespace: 'shop' } }))
    return found.length
  }
  assert.equal(await listed(), 1)
  const [verdict] = server.context.store.tables.policy_verdicts.rows()
  const blob = policyInputBlobKey(verdict?.SubjectHash ?? '')
  assert.notEqual(await server.context.store.readBlob(blob), undefined)
  await server.ok('deleteNamespace', as(shop))
  await make()
  assert.equal(await listed(), 0)
  assert.equal(await server.context.store.readBlob(blob), undefined)
  await server.close()
})
