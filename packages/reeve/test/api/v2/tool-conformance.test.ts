// tidy-allow vendor: these are headers and a path of the clients of another vendor
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer } from './harness.ts'
import { aPhaseWorld, finishPlan, type PhaseWorld } from './phase-world.ts'
import { newWorkspace } from './workspace-calls.ts'

// The numbers are those of the conformance list of remote runs.

test('C1 discovery: no token, exactly this type, and relative paths', async () => {
  const { server } = await aGovernanceServer()
  const reply = await server.send('GET', '/.well-known/terraform.json')
  assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'application/json'])
  const services: object = JSON.parse(reply.text)
  for (const [name, path] of Object.entries(services)) assert.equal(path, '/api/v2/', name)
})

test('C2 without the names of other products there is no discovery document', async () => {
  const { server } = await aGovernanceServer({ compatibility: false })
  const reply = await server.send('GET', '/.well-known/terraform.json')
  assert.deepEqual([reply.status, reply.text], [404, ''])
})

test('C8 no login service is announced, so that clients ask for a token of the settings', async () => {
  const { server } = await aGovernanceServer()
  const { text } = await server.send('GET', '/.well-known/terraform.json')
  assert.equal(Object.hasOwn(JSON.parse(text), 'login.v1'), false)
})

test('C3 the ping says the version of the API that clients check', async () => {
  const { server } = await aGovernanceServer()
  const { headers } = await server.send('GET', '/api/v2/ping')
  assert.ok(Number(headers['tfp-api-version']) >= 2.5)
  assert.match(String(headers['x-tfe-version']), /^v\d{6}-\d+$/)
})

test('C4 C5 a wrong token is 401 and an unknown organization 404', async () => {
  const it = await aGovernanceServer()
  const path = '/api/v2/organizations/nobody/entitlement-set'
  const ask = async (token: string): Promise<number> =>
    (await it.server.send('GET', path, { headers: { authorization: `Bearer ${token}` } })).status
  assert.deepEqual([await ask('wrong'), await ask(it.root)], [401, 404])
})

test('C12 C14 a flat tag is a name and a binding, so that nothing is written twice', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'web')
  const params = { workspace_id: id }
  const body = { data: [{ type: 'tags' as const, attributes: { name: 'app' } }] }
  await it.done('addWorkspaceTags', { params, body })
  const { data: workspace } = await it.ok('readWorkspace', { params })
  const { data: bindings } = await it.ok('listWorkspaceTagBindings', { params })
  assert.deepEqual(workspace.attributes['tag-names'], ['app'])
  assert.deepEqual(
    bindings.map(({ attributes: { key, value } }) => [key, value]),
    [['app', '']],
  )
})

test('C18 the body of a lock may have an empty type', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'web')
  const { data } = await it.ok('lockWorkspace', {
    params: { workspace_id: id },
    body: { data: { type: '', attributes: { reason: 'Locked by a client' } } },
  })
  assert.equal(data.attributes['locked-reason'], 'Locked by a client')
})

async function aWorld(): Promise<PhaseWorld> {
  const world = await aPhaseWorld()
  await world.node(1)
  return world
}

test('C37 a log of 50 MB is read in ranges, byte for byte', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const runner = await world.runner(runId, 'plan')
  await runner.start()
  const piece = 'x'.repeat(1023) + '\n'
  const chunk = piece.repeat(v2.RUN_LOG_CHUNK_BYTES_MAX / piece.length)
  const chunks = Math.ceil((50 * 1024 * 1024) / chunk.length)
  for (let at = 0; at < chunks; at++) await runner.log(chunk)
  await finishPlan(runner)
  const path = await world.logPath(runId, 'plan')
  const read = async (offset: number): Promise<string> =>
    (await world.it.server.send('GET', `${path}?limit=65536&offset=${offset}`)).text
  const length = chunks * chunk.length
  assert.equal(await read(1 + length - piece.length), `${piece}planned\n\u0003`)
  assert.equal(await read(1 + 25 * 1024 * 1024 - 1024), piece.repeat(64))
  await world.close()
})

test('C41 a plan-only run may ask for another version, and no other run may', async () => {
  const world = await aWorld()
  const runId = await world.queue({ 'plan-only': true, 'tool-version': '1.0.0' })
  const { attributes } = await world.run(runId)
  assert.equal(attributes.status, 'errored')
  assert.match(attributes['status-reason'] ?? '', /No node has terraform 1\.0\.0/)
  const related = { workspace: { data: { type: 'workspaces', id: world.workspaceId } } }
  const data = { type: 'runs', attributes: { 'tool-version': '1.0.0' }, relationships: related }
  const versions = await world.it.ok('listConfigurationVersions', {
    params: { workspace_id: world.workspaceId },
  })
  const configuration = { type: 'configuration-versions', id: versions.data[0]?.id ?? '' }
  const relationships = { ...related, 'configuration-version': { data: configuration } }
  const [status, text] = await world.it.refusal('createRun', {
    body: { data: { ...data, relationships } },
  })
  assert.equal(status, 422)
  assert.match(String(text), /only be given with plan-only/)
  await world.close()
})

test('C47 an apply without changes is possible where the run asks for it', async () => {
  const world = await aWorld()
  const runId = await world.queue({ 'allow-empty-apply': true })
  const runner = await world.runner(runId, 'plan')
  await runner.start()
  const empty = JSON.stringify({ format_version: '1.2', resource_changes: [] })
  for (const [name, text] of [
    ['plan', 'the plan'],
    ['plan-json', empty],
  ])
    assert.equal((await runner.send('PUT', `/files/${name}`, Buffer.from(text ?? ''))).status, 204)
  await runner.finish({ outcome: 'finished' })
  await world.settle()
  const { attributes } = await world.run(runId)
  assert.deepEqual(
    [attributes.status, attributes['has-changes'], attributes.actions['is-confirmable']],
    ['planned', false, true],
  )
  await world.close()
})

test('C54 C55 the current run is what a waiting client waits for', async () => {
  const world = await aWorld()
  const first = await world.queue()
  const second = await world.queue()
  const current = async () => (await world.workspace()).relationships['current-run'].data?.id
  assert.deepEqual(
    [await current(), (await world.run(second)).attributes.status],
    [first, 'pending'],
  )
  await world.it.call('cancelRun', { params: { run_id: first } })
  await world.settle()
  assert.equal(await current(), second)
  await world.close()
})

test('C65 C66 the answer of create names the stage, and events warn of empty policy sets', async () => {
  const world = await aWorld()
  const { it, workspaceId } = world
  const params = { organization_name: 'acme' }
  const { data: policy } = await it.ok('createPolicy', {
    params,
    body: aBody('policies', {
      name: 'deny',
      kind: 'opa',
      query: 'data.x.deny',
      'enforcement-level': 'mandatory',
    }),
  })
  await it.ok('uploadPolicy', { params: { policy_id: policy.id }, body: 'package x\ndeny := []\n' })
  const policies = { data: [{ type: 'policies', id: policy.id }] }
  for (const [name, relationships] of [
    ['guard', { policies }],
    ['empty', {}],
  ] as const)
    await it.created('createPolicySet', {
      params,
      body: aBody('policy-sets', { name, kind: 'opa', global: true }, relationships),
    })
  const versions = await it.ok('listConfigurationVersions', {
    params: { workspace_id: workspaceId },
  })
  const configuration = { type: 'configuration-versions', id: versions.data[0]?.id ?? '' }
  const relationships = {
    workspace: { data: { type: 'workspaces', id: workspaceId } },
    'configuration-version': { data: configuration },
  }
  const { data: run } = await it.created('createRun', { body: aBody('runs', {}, relationships) })
  const [stage] = run.relationships['task-stages'].data
  assert.ok(stage !== undefined)
  const read = await it.ok('readTaskStage', { params: { task_stage_id: stage.id } })
  assert.equal(read.data.attributes.status, 'pending')
  const { data: events } = await it.ok('listRunEvents', { params: { run_id: run.id } })
  assert.deepEqual(
    events.slice(0, 2).map(({ attributes: { action, description } }) => [action, description]),
    [
      ['created', null],
      [
        'ignored_policy_sets',
        'Policy set empty has no policies, so it checks nothing in this run.',
      ],
    ],
  )
  await world.close()
})

test('C87 an apply is placed on another node when that of the plan is gone', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const planner = await world.runner(runId, 'plan')
  await planner.start()
  await finishPlan(planner)
  await world.settle()
  const [planned] = world.allocations(runId, 'plan')
  await world.node(2)
  await world.loseNode(1)
  await world.it.call('applyRun', { params: { run_id: runId } })
  await world.settle()
  const [applied] = world.allocations(runId, 'apply')
  assert.ok(applied !== undefined && planned !== undefined)
  assert.notEqual(applied.NodeID, planned.NodeID)
  const runner = await world.runner(runId, 'apply')
  assert.equal((await runner.start()).status, 200)
  assert.equal((await runner.send('GET', '/files/plan')).text, 'the plan')
  await world.close()
})

const FOREIGN = [
  '/account/details',
  '/organizations',
  '/organizations/acme',
  '/organizations/acme/entitlement-set',
  '/organizations/acme/workspaces',
  '/organizations/acme/runs/queue',
  '/organizations/acme/capacity',
  '/organizations/acme/teams',
  '/organizations/acme/varsets',
  '/organizations/acme/policies',
  '/organizations/acme/policy-sets',
  '/workspaces/WS',
  '/workspaces/WS/vars',
  '/workspaces/WS/all-vars',
  '/workspaces/WS/runs',
  '/workspaces/WS/current-state-version',
  '/workspaces/WS/current-state-version-outputs',
  '/workspaces/WS/configuration-versions',
  '/runs/RUN',
  '/runs/RUN/run-events',
  '/runs/RUN/policy-checks',
] as const
test('C89 the token of a phase opens none of 20 other routes', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const token = 'the-token-of-a-phase-that-looks-around'
  await (await world.runner(runId, 'plan', token)).start()
  for (const path of FOREIGN) {
    const url = path.replace('WS', world.workspaceId).replace('RUN', runId)
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await world.it.server.send('GET', `/api/v2${url}`, { headers })
    assert.equal(status, 401, path)
  }
  await world.close()
})

test('C90 of two hundred workspaces at once, none is lost, and the order is fair', async () => {
  const world = await aWorld()
  const runs: string[] = []
  for (let number = 0; number < 200; number++)
    runs.push(await world.queue({ 'plan-only': true }, await world.newWorkspace(`w${number}`)))
  for (const [at, runId] of runs.entries()) {
    const started = await Promise.all(
      runs.slice(at, at + 11).map(async (id) => (await world.run(id)).attributes.status),
    )
    assert.deepEqual(new Set(started.slice(0, 10)), new Set(['plan_queued']), runId)
    assert.equal(started[10] ?? 'pending', 'pending')
    const runner = await world.runner(runId, 'plan')
    await runner.start()
    await finishPlan(runner)
    await world.settle()
  }
  for (const runId of runs)
    assert.equal((await world.run(runId)).attributes.status, 'planned_and_finished')
  await world.close()
})
