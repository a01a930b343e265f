// tidy-allow vendor: the state file has this name for the version of the tool
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { aPhaseWorld, type PhaseWorld } from './phase-world.ts'
import { newWorkspace, patchWorkspace } from './workspace-calls.ts'

function members(...ids: readonly string[]) {
  return { data: ids.map((id) => ({ type: 'workspaces', id })) }
}

async function consumers(it: GovernanceServer, id: string, as?: string) {
  const { data, meta } = await it.ok('listRemoteStateConsumers', {
    params: { workspace_id: id },
    query: { 'page[size]': 2 },
    ...(as !== undefined && { as }),
  })
  return [data.map(({ attributes }) => attributes.name), meta.pagination['total-count']]
}

test('remote state consumers are added, listed by name and page, replaced and removed', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'network')
  const params = { workspace_id: id }
  const [web, api, jobs] = await Promise.all(
    ['web', 'api', 'jobs'].map(async (name) => (await newWorkspace(it, name)).id),
  )
  assert.ok(web !== undefined && api !== undefined && jobs !== undefined)
  await it.done('addRemoteStateConsumers', { params, body: members(web, jobs) })
  await it.done('addRemoteStateConsumers', { params, body: members(web, api) })
  assert.deepEqual(await consumers(it, id), [['api', 'jobs'], 3])
  await it.done('removeRemoteStateConsumers', { params, body: members(jobs) })
  assert.deepEqual(await consumers(it, id), [['api', 'web'], 2])
  await it.call('deleteWorkspace', { params: { workspace_id: api } })
  assert.deepEqual(await consumers(it, id), [['web'], 1])
  await it.done('replaceRemoteStateConsumers', { params, body: members(jobs) })
  assert.deepEqual(await consumers(it, id), [['jobs'], 1])
  await it.done('replaceRemoteStateConsumers', { params, body: members() })
  assert.deepEqual(await consumers(it, id), [[], 0])
})

test('remote state consumers need to exist, and are limited in number', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  await it.organization('other')
  const { id } = await newWorkspace(it, 'network')
  const { data: foreign } = await it.created('createWorkspace', {
    params: { organization_name: 'other' },
    body: aBody('workspaces', { name: 'foreign' }),
  })
  const params = { workspace_id: id }
  for (const unknown of [foreign.id, 'ws-nonexisting000000'])
    assert.deepEqual(
      await it.refusal('addRemoteStateConsumers', { params, body: members(unknown) }),
      [422, `invalid attribute: Workspace ${unknown} does not exist`],
    )
  const many = Array.from({ length: v2.REMOTE_STATE_CONSUMERS_MAX + 1 }, (_, at) => `ws-${at}`)
  const call = { params, body: members(...many) }
  const [status] = await it.refusal('replaceRemoteStateConsumers', call)
  assert.equal(status, 422)
})

test('whoever may read a workspace sees its consumers, and who may update it changes them', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'network')
  const { id: web } = await newWorkspace(it, 'web')
  const params = { workspace_id: id }
  const reader = await it.team('acme', 'readers')
  const call = { params, body: members(web), as: reader.token }
  assert.deepEqual(await it.refusal('listRemoteStateConsumers', call), NOT_FOUND)
  await it.created('createTeamWorkspaceAccess', {
    body: aBody(
      'team-workspaces',
      { access: 'read' },
      {
        team: { data: { type: 'teams', id: reader.id } },
        workspace: { data: { type: 'workspaces', id } },
      },
    ),
  })
  await it.done('addRemoteStateConsumers', { params, body: members(web) })
  // The reader may not read the consumer.
  assert.deepEqual(await consumers(it, id, reader.token), [[], 0])
  for (const route of [
    'addRemoteStateConsumers',
    'replaceRemoteStateConsumers',
    'removeRemoteStateConsumers',
  ] as const)
    assert.deepEqual(await it.refusal(route, call), NOT_FOUND)
})

const STATE = {
  version: 4,
  terraform_version: '1.11.4',
  serial: 3,
  lineage: 'a86ac4be-bb9f-1bea-0fd2-818e442ae91b',
  outputs: {
    subnet: { value: 'subnet-1', type: 'string' },
    password: { value: 's3cret', type: 'string', sensitive: true },
  },
  resources: [
    {
      mode: 'managed',
      type: 'box',
      name: 'a',
      provider: 'provider["example.com/builtin/box"]',
      instances: [{ schema_version: 0, attributes: { id: 'hidden' } }],
    },
  ],
}

async function storeState(it: GovernanceServer, id: string): Promise<void> {
  const params = { workspace_id: id }
  const bytes = Buffer.from(JSON.stringify(STATE))
  const md5 = createHash('md5').update(bytes).digest('hex')
  const { serial, lineage } = STATE
  await it.ok('lockWorkspace', { params })
  const { data } = await it.created('createStateVersion', {
    params,
    body: aBody('state-versions', { serial, lineage, md5, state: bytes.toString('base64') }),
  })
  assert.equal(data.attributes.status, 'finalized')
  await it.ok('unlockWorkspace', { params })
}

async function withSource(): Promise<{ world: PhaseWorld; source: string }> {
  const world = await aPhaseWorld()
  await world.node(1)
  const { id: source } = await newWorkspace(world.it, 'network')
  await storeState(world.it, source)
  return { world, source }
}

test('C79 a run reads outputs of workspaces that share them, and nothing else of a state', async () => {
  const { world, source } = await withSource()
  const runner = await world.runner(await world.queue(), 'plan')
  await runner.start()
  const read = (name = 'network') => runner.send('GET', `/remote-states/${name}`)
  const refused = await read()
  assert.equal(refused.status, 403)
  assert.match(refused.text, /network does not exist or does not share its outputs/)
  const unknown = await read('nowhere')
  assert.equal(unknown.text.replaceAll('nowhere', 'network'), refused.text)
  const shared = { ...STATE, resources: [], check_results: null }
  for (const attributes of [{ 'global-remote-state': true }, { 'project-remote-state': true }]) {
    const workspace = await patchWorkspace(world.it, source, { attributes })
    const [[name, value] = []] = Object.entries(attributes)
    assert.equal(Reflect.get(workspace.attributes, name ?? ''), value)
    const reply = await read()
    assert.equal(reply.status, 200)
    assert.deepEqual(JSON.parse(reply.text), shared)
    const off = { [name ?? '']: false }
    await patchWorkspace(world.it, source, { attributes: off })
    assert.equal((await read()).status, 403)
  }
  const params = { workspace_id: source }
  await world.it.done('addRemoteStateConsumers', { params, body: members(world.workspaceId) })
  assert.deepEqual(JSON.parse((await read()).text), shared)
  assert.equal((await read('app')).status, 204, 'its own workspace has no state yet')
  await world.close()
})

test('C79 a project shares with its own workspaces only, and an ended phase reads nothing', async () => {
  const { world, source } = await withSource()
  const { id: projectId } = await world.it.project('acme', { name: 'apart' })
  await patchWorkspace(world.it, source, {
    attributes: { 'project-remote-state': true },
    relationships: { project: { data: { type: 'projects', id: projectId } } },
  })
  const runId = await world.queue()
  const runner = await world.runner(runId, 'plan')
  await runner.start()
  const read = () => runner.send('GET', '/remote-states/network')
  assert.equal((await read()).status, 403)
  await patchWorkspace(world.it, source, { attributes: { 'global-remote-state': true } })
  assert.equal((await read()).status, 200)
  await runner.finish({ outcome: 'errored' })
  assert.equal((await read()).status, 404)
  await world.close()
})
