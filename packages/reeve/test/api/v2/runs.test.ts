import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { untilParked } from '../harness.ts'
import { aBody, NOT_FOUND, refusedBy } from './harness.ts'
import { giveWorkspace } from './rows.ts'
import { aRunWorld, BUCKETS, NO_CHANGES, PASSWORD, type RunWorld } from './run-world.ts'

const HOUR_MS = 3_600_000

describe('runs without policies', () => {
  let world: RunWorld
  before(async () => {
    world = await aRunWorld()
  })
  after(() => world.close())

  test('a new run is pending and says where its plan goes', async () => {
    const run = await world.newRun({
      message: 'pipeline 812',
      'commit-sha': '9f1c',
      variables: [{ key: 'token', value: 'do not tell' }],
    })
    assert.equal(run.attributes.status, 'pending')
    assert.deepEqual(run.attributes.variables, [{ key: 'token' }])
    const planId = run.relationships.plan.data.id
    assert.equal(run.links['plan-upload'], `/api/v2/plans/${planId}/upload`)
    const { data: plan } = await world.it.ok('readPlan', { params: { plan_id: planId } })
    assert.equal(plan.attributes.status, 'pending')
    const output = await world.it.server.send('GET', `/api/v2/plans/${planId}/json-output`, {
      headers: { authorization: `Bearer ${world.it.root}` },
    })
    assert.equal(output.status, 204)
  })

  test('a run keeps the name of who made it, also when they are gone', async () => {
    const { it } = world
    const team = await it.team('acme', 'leaving', { 'manage-workspaces': true })
    const user = await it.user('ann')
    const invited = await it.created('createOrganizationMembership', {
      params: { organization_name: 'acme' },
      body: aBody(
        'organization-memberships',
        { email: 'ann@example.com' },
        { teams: { data: [{ type: 'teams', id: team.id }] } },
      ),
    })
    await it.ok('acceptOrganizationMembership', {
      params: { organization_membership_id: invited.data.id },
      as: user.token,
    })
    const made = [
      await world.newRun({}, { as: team.token }),
      await world.newRun({}, { as: user.token }),
      await world.newRun(),
    ]
    const makers = async () => {
      const all = await Promise.all(made.map(({ id }) => world.read(id, { include: 'created_by' })))
      return all.map(({ included = [] }) => included[0]?.attributes?.['username'])
    }
    const names = [team.id.replace('team-', 'api-team_'), 'ann', 'administrator']
    assert.deepEqual(await makers(), names)
    await it.ok('updateAccount', { body: aBody('users', { username: 'anna' }), as: user.token })
    assert.deepEqual(await makers(), [names[0], 'anna', names[2]])
    await it.done('deleteTeam', { params: { team_id: team.id } })
    await it.done('deleteUser', { params: { user_id: user.id } })
    assert.deepEqual(await makers(), names)
  })

  test('an uploaded plan is counted, and the run waits for its confirmation', async () => {
    const run = await world.newRun()
    const reply = await world.upload(run, BUCKETS)
    assert.equal(reply.status, 202)
    // The harness held it against the contract.
    const { data } = reply.json as v2.RunPlanDocument
    assert.deepEqual(
      [data.attributes.status, data.attributes['resource-additions'], data.links.upload],
      ['finished', 2, undefined],
    )
    const { data: waiting } = await world.read(run.id)
    assert.equal(waiting.attributes.status, 'planned')
    assert.equal(waiting.attributes.actions['is-confirmable'], true)
    assert.deepEqual(waiting.relationships['policy-checks'].data, [])
    const applied = await world.it.call('applyRun', {
      params: { run_id: run.id },
      body: { comment: 'go' },
    })
    assert.deepEqual([applied.status, applied.text], [202, ''])
    const again = await world.it.refusal('applyRun', { params: { run_id: run.id } })
    assert.equal(again[0], 409)
    const report = { data: { type: 'runs', attributes: { status: 'applied' } } }
    const call = { params: { run_id: run.id }, body: report }
    assert.equal((await world.it.ok('reportRun', call)).data.attributes.status, 'applied')
    assert.equal((await world.it.refusal('reportRun', call))[0], 409)
    assert.equal((await world.it.refusal('cancelRun', { params: { run_id: run.id } }))[0], 409)
  })

  const changes = (...entries: readonly unknown[]): string =>
    JSON.stringify({ format_version: '1.2', resource_changes: entries })
  const wrongChanges = [
    { entries: [{ address: 'a' }, 5], place: 'an object at resource_changes[1]' },
    { entries: [null], place: 'an object at resource_changes[0]' },
    { entries: [{ change: [] }], place: 'an object at resource_changes[0].change' },
    {
      entries: [{ address: 'x', change: { actions: 'create' } }],
      place: 'a list of texts at resource_changes[0].change.actions',
    },
    {
      entries: [{ change: { actions: ['create', 1] } }],
      place: 'a list of texts at resource_changes[0].change.actions',
    },
  ]
  for (const { entries, place } of wrongChanges)
    test(`a plan must have ${place}, not ${JSON.stringify(entries)}`, async () => {
      const reply = await world.upload(await world.newRun(), changes(...entries))
      const [status, text] = refusedBy(reply)
      assert.equal(status, 422)
      assert.equal(text, `unprocessable entity: The plan must have ${place}`)
    })

  const uploads = [
    { name: 'text that is no JSON', plan: '{"format_version":', status: 422 },
    { name: 'a list', plan: '[]', status: 422 },
    { name: 'an object without a version', plan: '{"resource_changes":[]}', status: 422 },
    { name: 'an object without changes', plan: '{"format_version":"1.2"}', status: 422 },
    {
      name: 'a later major version',
      plan: '{"format_version":"2.0","resource_changes":[]}',
      status: 422,
    },
    { name: 'bytes that are no text', plan: Buffer.from([0x22, 0xff, 0x22]), status: 422 },
    { name: 'half of a gzip file', plan: gzipSync(BUCKETS).subarray(0, 100), status: 422 },
    { name: 'a plan that is nested too deep', plan: '['.repeat(100_000), status: 422 },
    { name: 'a gzip file that grows too much', plan: bomb(), status: 413 },
  ]
  for (const { name, plan, status } of uploads)
    test(`an upload of ${name} is refused and nothing is kept`, async () => {
      const run = await world.newRun()
      const reply = await world.upload(run, plan)
      assert.equal(reply.status, status, reply.text)
      assert.equal((await world.read(run.id)).data.attributes.status, 'pending')
      assert.equal((await world.upload(run, BUCKETS)).status, 202)
    })

  test('a plan may be zipped, by its header or without a word', async () => {
    const zipped = gzipSync(BUCKETS)
    const plain = await world.newRun()
    assert.equal((await world.upload(plain, zipped)).status, 202)
    const encoded = await world.newRun()
    const headers = { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' }
    assert.equal((await world.upload(encoded, zipped, { headers })).status, 202)
  })

  test('a second plan is a conflict', async () => {
    const run = await world.judged()
    assert.deepEqual(refusedBy(await world.upload(run, BUCKETS)), [
      409,
      'conflict: The run has a plan already',
    ])
  })

  test('sensitive values are masked in the plan that the API shows', async () => {
    const run = await world.judged()
    const path = `/api/v2/plans/${run.relationships.plan.data.id}/json-output`
    const headers = { authorization: `Bearer ${world.it.root}` }
    const { status, text } = await world.it.server.send('GET', path, { headers })
    assert.equal(status, 200)
    assert.equal(text.includes(PASSWORD), false)
    assert.equal(text.includes('logs.internal.example'), false)
    const shown = JSON.parse(text)
    const [archive, bucket] = shown.resource_changes
    assert.deepEqual(bucket.change.after.input, {
      encrypted: false,
      name: 'logs',
      password: '(sensitive value)',
    })
    assert.equal(archive.change.after.input.name, 'archive')
    assert.equal(shown.variables.password.value, '(sensitive value)')
    assert.equal(shown.configuration.root_module.variables.password.default, '(sensitive value)')
  })

  const ends = [
    { name: 'a speculative run', attributes: { 'plan-only': true }, ends: 'planned_and_finished' },
    { name: 'a plan without changes', plan: NO_CHANGES, ends: 'planned_and_finished' },
    {
      name: 'a plan without changes that may be applied',
      plan: NO_CHANGES,
      attributes: { 'allow-empty-apply': true },
      ends: 'planned',
    },
    { name: 'a run that applies by itself', attributes: { 'auto-apply': true }, ends: 'confirmed' },
  ]
  for (const { name, attributes, plan, ends: end } of ends)
    test(`${name} is ${end}`, async () => {
      const run = await world.judged(attributes, plan)
      assert.equal(run.attributes.status, end)
    })

  test('a run that waits is discarded, and one that has not begun is canceled', async () => {
    const planned = await world.judged()
    assert.equal(
      (await world.it.call('discardRun', { params: { run_id: planned.id } })).status,
      202,
    )
    assert.equal((await world.read(planned.id)).data.attributes.status, 'discarded')
    const pending = await world.newRun()
    const params = { run_id: pending.id }
    assert.equal((await world.it.refusal('discardRun', { params }))[0], 409)
    assert.equal((await world.it.call('cancelRun', { params })).status, 202)
    assert.equal((await world.read(pending.id)).data.attributes.status, 'canceled')
    assert.equal((await world.upload(pending, BUCKETS)).status, 409)
  })

  test('a run whose plan does not come within an hour ends', async () => {
    const late = await world.newRun()
    world.it.server.clock.advance(HOUR_MS - 1)
    world.loop.expireOverdue()
    assert.equal((await world.read(late.id)).data.attributes.status, 'pending')
    world.it.server.clock.advance(1)
    world.loop.expireOverdue()
    const { data } = await world.read(late.id, { include: 'plan' })
    assert.equal(data.attributes.status, 'errored')
    assert.equal((await world.upload(late, BUCKETS)).status, 409)
  })

  test('a read waits until nothing more happens by itself', async () => {
    const run = await world.newRun()
    const waiting = world.read(run.id, { wait: 30 })
    await untilParked()
    await world.upload(run, BUCKETS)
    assert.equal((await waiting).data.attributes.status, 'planned')
    const late = await world.newRun()
    const vain = world.read(late.id, { wait: 30 })
    await untilParked()
    world.it.server.clock.advance(30_000)
    assert.equal((await vain).data.attributes.status, 'pending')
  })

  test('runs are listed newest first, with what is asked to be included', async () => {
    const first = await world.newRun()
    const second = await world.newRun()
    const page = await world.it.ok('listWorkspaceRuns', {
      params: { workspace_id: world.workspaceId },
      query: { 'page[size]': 2, include: 'plan,created_by,workspace' },
    })
    assert.deepEqual(
      page.data.map(({ id }) => id),
      [second.id, first.id],
    )
    assert.deepEqual(
      new Set(page.included?.map(({ type }) => type)),
      new Set(['plans', 'users', 'workspaces']),
    )
    assert.equal(
      (
        await world.it.refusal('readRun', { params: { run_id: first.id }, query: { include: 'x' } })
      )[0],
      400,
    )
  })

  test('who may only read sees runs and starts none; an organization token never does', async () => {
    const { it, workspaceId } = world
    const readers = await it.team('acme', 'readers')
    await giveWorkspace(it, { teamId: readers.id, workspaceId }, 'read')
    const run = await world.judged()
    const as = readers.token
    const { data } = await it.ok('readRun', { params: { run_id: run.id }, as })
    assert.deepEqual(data.attributes.permissions, {
      'can-apply': false,
      'can-cancel': false,
      'can-discard': false,
      'can-force-cancel': false,
      'can-force-execute': false,
      'can-override-policy-check': false,
      'can-upload-plan': false,
    })
    const body = {
      data: {
        type: 'runs',
        relationships: { workspace: { data: { type: 'workspaces', id: workspaceId } } },
      },
    }
    assert.deepEqual(await it.refusal('createRun', { body, as }), NOT_FOUND)
    assert.deepEqual(await it.refusal('applyRun', { params: { run_id: run.id }, as }), NOT_FOUND)
    const strangers = await it.team('acme', 'strangers')
    const stranger = { params: { run_id: run.id }, as: strangers.token }
    assert.deepEqual(await it.refusal('readRun', stranger), NOT_FOUND)
    const token = await it.created('createOrganizationToken', {
      params: { organization_name: 'acme' },
    })
    const whole = { body, as: token.data.attributes.token }
    assert.deepEqual(await it.refusal('createRun', whole), NOT_FOUND)
  })

  test('only the latest runs of a workspace are kept, and those that have not ended', async () => {
    const { it, workspaceId } = world
    const runs = it.server.context.store.tables.runs
    const open = await world.newRun()
    for (let made = 0; made <= v2.RUNS_KEPT_MAX; made++) {
      const run = await world.newRun()
      await it.call('cancelRun', { params: { run_id: run.id } })
    }
    assert.equal(runs.countByIndex('workspace', workspaceId), v2.RUNS_KEPT_MAX)
    assert.equal((await world.read(open.id)).data.attributes.status, 'pending')
  })
})

/** More than a plan may be, in a few kilobytes. */
function bomb(): Buffer {
  return gzipSync(Buffer.alloc(v2.PLAN_UPLOAD_BYTES_MAX + 1, 0x20))
}

test('a run goes with its workspace, and so does its plan', async () => {
  const world = await aRunWorld()
  const { it, workspaceId } = world
  const run = await world.judged()
  const { store } = it.server.context
  await it.done('deleteWorkspace', { params: { workspace_id: workspaceId } })
  assert.deepEqual(await it.refusal('readRun', { params: { run_id: run.id } }), NOT_FOUND)
  assert.equal(await store.readBlob(`plan/${run.relationships.plan.data.id}`), undefined)
  assert.deepEqual([store.tables.runs.size, store.tables.run_plans.size], [0, 0])
  await world.close()
})

test('a run that is canceled while policies are asked stays canceled', async () => {
  const asking = Promise.withResolvers<void>()
  const canceled = Promise.withResolvers<void>()
  const world = await aRunWorld({
    policyAsker: {
      evaluate: async (_subject, policies) => {
        asking.resolve()
        await canceled.promise
        return policies.map(() => ({ status: 'passed', output: [], findings: [] }) as const)
      },
      diagnose: async () => [],
    },
  })
  await world.set('native', { name: 'one', policies: [{ name: 'one', code: 'main = true' }] })
  const run = await world.newRun()
  await world.upload(run, BUCKETS)
  const judged = world.loop.evaluatePending()
  await asking.promise
  await world.it.call('cancelRun', { params: { run_id: run.id } })
  canceled.resolve()
  await judged
  assert.equal((await world.read(run.id)).data.attributes.status, 'canceled')
  assert.equal((await world.check(run)).attributes.status, 'canceled')
  await world.close()
})
