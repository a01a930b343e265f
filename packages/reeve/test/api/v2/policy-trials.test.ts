import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, NOT_FOUND } from './harness.ts'
import {
  aRunWorld,
  BUCKETS,
  ENCRYPTED,
  NATIVE_ENCRYPTED,
  OPA_ENCRYPTED,
  type RunWorld,
} from './run-world.ts'

const SMALL_JOBS = `main = rule {
  all job.task_groups as _, group { group.count <= 3 }
}`

describe('policies that are asked without enforcing them', () => {
  let world: RunWorld
  let opaSet: string
  let nativePolicy: string
  before(async () => {
    world = await aRunWorld()
    opaSet = await world.set('opa', {
      name: 'storage',
      policies: [{ name: 'encrypted', code: OPA_ENCRYPTED }],
    })
    nativePolicy = await world.policy({
      name: 'native-encrypted',
      level: 'hard-mandatory',
      code: NATIVE_ENCRYPTED,
    })
  })
  after(() => world.close())

  const dryRun = (attributes: object) => ({
    params: { workspace_id: world.workspaceId },
    body: aBody('policy-dry-runs', attributes),
  })

  test('the sets of a workspace are asked about a plan, and nothing is stored', async () => {
    const { store } = world.it.server.context
    const index = store.index
    const call = dryRun({ plan: JSON.parse(BUCKETS) })
    const { data } = await world.it.ok('evaluateWorkspacePolicies', call)
    assert.equal(data.attributes.status, 'failed')
    const [verdict] = data.attributes['policy-set-outcomes']
    assert.equal(verdict?.['policy-set-name'], 'storage')
    assert.deepEqual(verdict?.outcomes[0]?.output, ['storage_bucket.bucket is not encrypted'])
    const passing = dryRun({ plan: JSON.parse(ENCRYPTED) })
    const { data: passed } = await world.it.ok('evaluateWorkspacePolicies', passing)
    assert.equal(passed.attributes.status, 'passed')
    // Only the audit record of the call.
    assert.equal(store.tables.runs.size, 0)
    assert.ok(store.index - index <= 2)
  })

  const refused = [
    { name: 'without a plan', attributes: {}, status: 422 },
    { name: 'with something else as a plan', attributes: { plan: { a: 1 } }, status: 422 },
    {
      name: 'with a set that is not there',
      attributes: { plan: JSON.parse(BUCKETS), 'policy-sets': ['polset-none'] },
      status: 422,
    },
  ]
  for (const { name, attributes, status } of refused)
    test(`a question ${name} is refused`, async () => {
      const call = dryRun(attributes)
      assert.equal((await world.it.refusal('evaluateWorkspacePolicies', call))[0], status)
    })

  test('a set is tested again on the stored plan of a run', async () => {
    const run = await world.judged()
    const body = aBody('policy-dry-runs', undefined, {
      run: { data: { type: 'runs', id: run.id } },
    })
    const call = { params: { policy_set_id: opaSet }, body }
    const { data } = await world.it.ok('evaluatePolicySet', call)
    assert.equal(data.attributes.status, 'failed')
    const pending = await world.newRun()
    const early = aBody('policy-dry-runs', undefined, {
      run: { data: { type: 'runs', id: pending.id } },
    })
    assert.equal((await world.it.refusal('evaluatePolicySet', { ...call, body: early }))[0], 409)
  })

  test('a policy is asked about any input, with its own code or with other code', async () => {
    const params = { policy_id: nativePolicy }
    const input = { plan: JSON.parse(BUCKETS) }
    const stored = await world.it.ok('tryPolicy', {
      params,
      body: aBody('policy-trials', { input }),
    })
    assert.equal(stored.data.attributes.status, 'failed')
    const [finding] = stored.data.attributes.findings
    assert.equal(finding?.line, 4)
    const code = `param limit\nprint("limit", limit)\n${SMALL_JOBS.replace('3', 'limit')}`
    const job = { ID: 'web', TaskGroups: [{ Name: 'g', Count: 5 }] }
    const call = (limit: number) => ({
      params,
      body: aBody('policy-trials', { code, params: { limit }, input: { job } }),
    })
    const strict = await world.it.ok('tryPolicy', call(3))
    assert.equal(strict.data.attributes.status, 'failed')
    assert.match(JSON.stringify(strict.data.attributes.output), /limit 3/)
    assert.equal((await world.it.ok('tryPolicy', call(9))).data.attributes.status, 'passed')
  })

  test('code that does not compile is told with its place', async () => {
    const { data } = await world.it.ok('tryPolicy', {
      params: { policy_id: nativePolicy },
      body: aBody('policy-trials', { code: 'main = rule {', input: { job: {} } }),
    })
    assert.equal(data.attributes.status, 'errored')
    assert.equal(data.attributes.diagnostics[0]?.severity, 'error')
  })

  test('an input is a plan or a job, and only who manages policies may ask', async () => {
    const params = { policy_id: nativePolicy }
    const empty = { params, body: aBody('policy-trials', { input: {} }) }
    assert.equal((await world.it.refusal('tryPolicy', empty))[0], 422)
    const readers = await world.it.team('acme', 'readers', { 'read-policies': true })
    assert.deepEqual(
      await world.it.refusal('tryPolicy', { ...empty, as: readers.token }),
      NOT_FOUND,
    )
    const replay = { params, body: aBody('policy-replays'), as: readers.token }
    assert.deepEqual(await world.it.refusal('replayPolicy', replay), NOT_FOUND)
  })

  test('a replay says page by page what would have been denied', async () => {
    const { it } = world
    const call = (attributes: object) => ({
      params: { policy_id: nativePolicy },
      body: aBody('policy-replays', attributes),
    })
    await world.judged({}, ENCRYPTED)
    const last = await world.judged()
    const { data: first } = await it.ok('replayPolicy', call({ subjects: ['runs'], limit: 1 }))
    const [result] = first.attributes.results
    assert.deepEqual(
      [first.attributes.judged, first.attributes['would-deny'], result?.id, result?.status],
      [1, 1, last.id, 'failed'],
    )
    const cursor = first.attributes['next-cursor']
    const { data: second } = await it.ok(
      'replayPolicy',
      call({ subjects: ['runs'], limit: 1, cursor }),
    )
    assert.deepEqual(
      [second.attributes['would-deny'], second.attributes.results[0]?.status],
      [0, 'passed'],
    )
    const seen = new Set<string>()
    let next: string | null = null
    do {
      const page: v2.PolicyReplayDocument = await it.ok(
        'replayPolicy',
        call({ limit: 1, cursor: next }),
      )
      for (const one of page.data.attributes.results) {
        assert.equal(seen.has(one.id), false, 'nothing is judged twice')
        seen.add(one.id)
      }
      next = page.data.attributes['next-cursor']
    } while (next !== null)
    assert.ok(seen.size >= 2)
    assert.equal((await it.refusal('replayPolicy', call({ cursor: 'nonsense' })))[0], 422)
  })

  test('a replay judges the registrations of the namespaces that policies reach', async () => {
    const { it } = world
    const project = await it.project('acme', { name: 'Web' })
    await it.server.ok('writeNamespace', { token: it.root, body: { Name: 'web' } })
    await it.call('addProjectNamespaces', {
      params: { project_id: project.id },
      body: { data: [{ type: 'namespaces', id: 'web' }] },
    })
    for (const count of [1, 9])
      await it.server.ok('registerJob', {
        token: it.root,
        body: {
          Job: {
            ID: 'shop',
            Namespace: 'web',
            Datacenters: ['*'],
            TaskGroups: [{ Name: 'g', Count: count, Tasks: [{ Name: 't', Driver: 'mock' }] }],
          },
        },
      })
    const { data } = await it.ok('replayPolicy', {
      params: { policy_id: nativePolicy },
      body: aBody('policy-replays', { subjects: ['jobs'], code: SMALL_JOBS }),
    })
    assert.deepEqual(
      data.attributes.results.map((one) => [one.id, one.version, one['would-deny']]),
      [
        ['web/shop', 1, true],
        ['web/shop', 0, false],
      ],
    )
  })

  test('a replay counts apart what the policy is not about', async () => {
    const { it } = world
    const { data } = await it.ok('replayPolicy', {
      params: { policy_id: nativePolicy },
      body: aBody('policy-replays', { code: 'import "plan/v2" as plan\nmain = false\n' }),
    })
    const { judged, skipped, results, 'would-deny': denied } = data.attributes
    const of = (type: string) => results.filter((one) => one.type === type)
    assert.deepEqual([of('runs').length > 0, of('jobs').length > 0], [true, true])
    assert.deepEqual(
      [judged, denied, skipped],
      [of('runs').length, of('runs').length, of('jobs').length],
    )
    for (const one of of('jobs')) assert.equal(one.skipped, 'it is about a plan')
    for (const one of of('runs')) assert.equal('skipped' in one, false)
  })
})
