// tidy-allow vendor: a category has the name of the program whose variables these are
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace, patchWorkspace } from './workspace-calls.ts'

const ACME = { organization_name: 'acme' }

interface SetWish {
  readonly attributes?: object
  readonly workspaces?: readonly string[]
  readonly projects?: readonly string[]
  /** The project that owns the set. */
  readonly owner?: string
  /** Input variables by key. */
  readonly values?: Readonly<Record<string, string>>
}

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id: workspaceId } = await newWorkspace(it, 'web', { projectId })
  const body = (name: string, wish: SetWish) => {
    const members = (type: string, ids: readonly string[] | undefined) =>
      ids === undefined ? {} : { [type]: { data: ids.map((id) => ({ type, id })) } }
    const vars = Object.entries(wish.values ?? {}).map(([key, value]) => ({
      type: 'vars',
      attributes: { key, value, category: 'terraform' },
    }))
    return aBody(
      'varsets',
      { name, ...wish.attributes },
      {
        ...(wish.owner && { parent: { data: { type: 'projects', id: wish.owner } } }),
        ...members('workspaces', wish.workspaces),
        ...members('projects', wish.projects),
        vars: { data: vars },
      },
    )
  }
  const create = async (name: string, wish: SetWish = {}, as = it.root) =>
    (await it.created('createVariableSet', { params: ACME, body: body(name, wish), as })).data
  const refusal = async (name: string, wish: SetWish, as = it.root) =>
    await it.refusal('createVariableSet', { params: ACME, body: body(name, wish), as })
  const inWorkspace = { params: { workspace_id: workspaceId } }
  /** The values that the runs of the workspace get. */
  const values = async () => {
    const { data } = await it.ok('listAllWorkspaceVariables', inWorkspace)
    return Object.fromEntries(data.map(({ attributes }) => [attributes.key, attributes.value]))
  }
  return { it, projectId, workspaceId, inWorkspace, create, refusal, values }
}

function at(set: v2.VariableSet) {
  return { params: { variable_set_id: set.id } }
}

test('a set is created with variables and members, shown, changed and deleted', async () => {
  const { it, workspaceId, projectId, create } = await aWorld()
  const made = await create('Cloud keys', {
    attributes: { description: 'Keys' },
    workspaces: [workspaceId],
    values: { region: 'eu' },
  })
  const { attributes } = made
  assert.deepEqual(
    [
      attributes.global,
      attributes.priority,
      attributes['var-count'],
      attributes['workspace-count'],
    ],
    [false, false, 1, 1],
  )
  assert.deepEqual(made.relationships.parent.data, { id: 'acme', type: 'organizations' })
  const query = { include: 'vars,workspaces,projects' }
  const shown = await it.ok('readVariableSet', { ...at(made), query })
  assert.deepEqual(shown.included?.map(({ type }) => type).toSorted(), ['vars', 'workspaces'])
  const body = aBody(
    'varsets',
    { name: 'Keys', priority: true },
    { workspaces: { data: [] }, projects: { data: [{ type: 'projects', id: projectId }] } },
  )
  const { data } = await it.ok('updateVariableSet', { ...at(made), body })
  assert.deepEqual([data.attributes.name, data.attributes.priority], ['Keys', true])
  assert.deepEqual(data.relationships.workspaces.data, [])
  assert.deepEqual(data.relationships.projects.data, [{ id: projectId, type: 'projects' }])
  const list = await it.ok('listVariableSets', { params: ACME, query: { q: 'key' } })
  assert.deepEqual(
    list.data.map(({ id }) => id),
    [made.id],
  )
  await it.done('deleteVariableSet', at(made))
  assert.deepEqual(await it.refusal('readVariableSet', at(made)), NOT_FOUND)
  const { tables } = it.server.context.store
  assert.equal([...tables.variable_set_variables.rows()].length, 0)
  assert.equal([...tables.variable_set_members.rows()].length, 0)
})

test('members are added and removed one by one, and twice is once', async () => {
  const { it, workspaceId, projectId, create } = await aWorld()
  const set = await create('cloud')
  const members = [
    ['Workspaces', 'workspaces', workspaceId],
    ['Projects', 'projects', projectId],
  ] as const
  for (const [name, type, id] of members) {
    const call = { ...at(set), body: { data: [{ type, id }] } }
    const shown = async () =>
      (await it.ok('readVariableSet', at(set))).data.relationships[type].data.length
    await it.done(`addVariableSet${name}`, call)
    await it.done(`addVariableSet${name}`, call)
    assert.equal(await shown(), 1)
    await it.done(`removeVariableSet${name}`, call)
    await it.done(`removeVariableSet${name}`, call)
    assert.equal(await shown(), 0)
  }
})

test('a global set has no members, and turning it global removes them', async () => {
  const { it, workspaceId, create, refusal } = await aWorld()
  const [status] = await refusal('all', { attributes: { global: true }, workspaces: [workspaceId] })
  assert.equal(status, 422)
  const set = await create('cloud', { workspaces: [workspaceId] })
  const body = aBody('varsets', { global: true })
  const { data } = await it.ok('updateVariableSet', { ...at(set), body })
  assert.deepEqual(data.relationships.workspaces.data, [])
  const add = { ...at(set), body: { data: [{ type: 'workspaces', id: workspaceId }] } }
  assert.equal((await it.refusal('addVariableSetWorkspaces', add))[0], 422)
})

test('names are unique in their parent, and members are of the same organization', async () => {
  const { it, create, refusal, projectId } = await aWorld()
  await create('cloud')
  const taken = [422, 'invalid attribute: Name has already been taken']
  assert.deepEqual(await refusal('Cloud', {}), taken)
  await create('cloud', { owner: projectId })
  assert.deepEqual(await refusal('cloud', { owner: projectId }), taken)
  await it.organization('other')
  const { id: foreign } = await it.project('other', { name: 'far' })
  for (const wish of [{ projects: [foreign] }, { owner: foreign }, { workspaces: ['ws-none'] }])
    assert.equal((await refusal('new', wish))[0], 422)
})

test('variables of a set have the rules of variables of a workspace', async () => {
  const { it, create } = await aWorld()
  const set = await create('cloud')
  const add = async (attributes: object) => {
    const body = aBody('vars', { category: 'env', ...attributes })
    return (await it.created('createVariableSetVariable', { ...at(set), body })).data
  }
  const made = await add({ key: 'TOKEN', value: 'hunter2-secret', sensitive: true })
  assert.equal(made.attributes.value, null)
  const { tables } = it.server.context.store
  const stored = JSON.stringify([
    ...tables.variable_set_variables.rows(),
    ...tables.audit_records.rows(),
  ])
  assert.equal(stored.includes('hunter2'), false)
  const one = { params: { variable_set_id: set.id, set_variable_id: made.id } }
  assert.equal((await it.ok('readVariableSetVariable', one)).data.attributes.value, null)
  for (const attributes of [{ sensitive: false }, { key: 'OTHER' }])
    assert.equal(
      (
        await it.refusal('updateVariableSetVariable', { ...one, body: aBody('vars', attributes) })
      )[0],
      422,
    )
  for (const key of ['TOKEN', 'PATH', 'a b']) {
    const body = aBody('vars', { key, category: 'env' })
    const call = { ...at(set), body }
    assert.equal((await it.refusal('createVariableSetVariable', call))[0], 422, key)
  }
  const body = aBody('vars', { value: 'new', description: 'For the API' })
  const { data } = await it.ok('updateVariableSetVariable', { ...one, body })
  assert.notEqual(data.attributes['version-id'], made.attributes['version-id'])
  assert.equal((await it.ok('listVariableSetVariables', at(set))).data.length, 1)
  await it.done('deleteVariableSetVariable', one)
  assert.deepEqual(await it.refusal('readVariableSetVariable', one), NOT_FOUND)
})

test('precedence: workspace, then sets by scope, owner and name, and priority sets before all', async () => {
  const { it, projectId, workspaceId, inWorkspace, create, values } = await aWorld()
  // Each is created in the order of its precedence, lowest first, and wins over those before it.
  const attributes = { global: true }
  const steps: readonly (readonly [string, SetWish])[] = [
    ['global', { attributes }],
    ['project-b', { projects: [projectId] }],
    ['project-a', { projects: [projectId] }],
    ['project-owned', { owner: projectId, projects: [projectId] }],
    ['workspace', { workspaces: [workspaceId] }],
    ['workspace-owned', { owner: projectId, workspaces: [workspaceId] }],
  ]
  for (const [name, wish] of steps) {
    await create(name, { ...wish, values: { key: name } })
    assert.deepEqual(await values(), { key: name })
  }
  const body = aBody('vars', { key: 'key', value: 'own', category: 'terraform' })
  await it.created('createWorkspaceVariable', { ...inWorkspace, body })
  assert.deepEqual(await values(), { key: 'own' })
  const priority = { priority: true }
  const priorities: readonly (readonly [string, SetWish])[] = [
    ['p-workspace', { workspaces: [workspaceId] }],
    ['p-project-owned', { owner: projectId, projects: [projectId] }],
    ['p-project', { projects: [projectId] }],
    ['p-global', { attributes }],
  ]
  for (const [name, wish] of priorities) {
    const more = { ...wish.attributes, ...priority }
    await create(name, { ...wish, attributes: more, values: { key: name } })
    assert.deepEqual(await values(), { key: name })
  }
  const applied = await it.ok('listWorkspaceVariableSets', inWorkspace)
  assert.deepEqual(
    applied.data.map((set) => set.attributes.name),
    [...priorities.map(([name]) => name).toReversed(), ...steps.map(([name]) => name).toReversed()],
  )
})

test('a set of a project applies only in the project, also after its workspace has moved', async () => {
  const { it, projectId, workspaceId, create, refusal, values } = await aWorld()
  const { id: other } = await it.project('acme', { name: 'two' })
  const elsewhere = await newWorkspace(it, 'db', { projectId: other })
  for (const wish of [
    { owner: projectId, attributes: { global: true } },
    { owner: projectId, workspaces: [elsewhere.id] },
    { owner: projectId, projects: [other] },
  ])
    assert.equal((await refusal('owned', wish))[0], 422)
  const wish = { owner: projectId, workspaces: [workspaceId], values: { key: 'value' } }
  const set = await create('owned', wish)
  assert.deepEqual(await values(), { key: 'value' })
  await patchWorkspace(it, workspaceId, {
    relationships: { project: { data: { type: 'projects', id: other } } },
  })
  assert.deepEqual(await values(), {})
  assert.equal((await it.ok('readVariableSet', at(set))).data.attributes['workspace-count'], 0)
  const params = { project_id: projectId }
  const ofProject = await it.ok('listProjectVariableSets', { params })
  assert.deepEqual(
    ofProject.data.map(({ id }) => id),
    [set.id],
  )
  await it.done('deleteProject', { params })
  assert.deepEqual(await it.refusal('readVariableSet', at(set)), NOT_FOUND)
})

test('each permission: manage workspaces, variable sets of a project, variables of a workspace', async () => {
  const { it, projectId, workspaceId, create, refusal } = await aWorld()
  const manager = await it.team('acme', 'managers', { 'manage-workspaces': true })
  const owner = await it.team('acme', 'owners-of-one')
  await giveProject(it, { teamId: owner.id, projectId }, 'admin')
  const reader = await it.team('acme', 'readers')
  await giveProject(it, { teamId: reader.id, projectId }, 'read')
  const nobody = await it.team('acme', 'nobody')
  const ofAll = await create('all', { workspaces: [workspaceId] }, manager.token)
  const hidden = await create('hidden')
  const owned = await create('owned', { owner: projectId }, owner.token)
  assert.deepEqual(await refusal('x', {}, owner.token), NOT_FOUND)
  assert.deepEqual(await refusal('x', { owner: projectId }, reader.token), NOT_FOUND)
  const reads = async (set: v2.VariableSet, as: string) =>
    (await it.call('readVariableSet', { ...at(set), as })).status
  const body = aBody('varsets', { description: 'x' })
  const writes = async (set: v2.VariableSet, as: string) =>
    (await it.call('updateVariableSet', { ...at(set), as, body })).status
  const found = async (as: string) =>
    await Promise.all(
      [ofAll, hidden, owned].map(async (set) => [await reads(set, as), await writes(set, as)]),
    )
  assert.deepEqual(await found(manager.token), [
    [200, 200],
    [200, 200],
    [200, 200],
  ])
  assert.deepEqual(await found(owner.token), [
    [200, 404],
    [404, 404],
    [200, 200],
  ])
  assert.deepEqual(await found(reader.token), [
    [200, 404],
    [404, 404],
    [200, 404],
  ])
  assert.deepEqual(await found(nobody.token), [
    [404, 404],
    [404, 404],
    [404, 404],
  ])
  const listed = await it.ok('listVariableSets', { params: ACME, as: reader.token })
  assert.deepEqual(
    listed.data.map(({ attributes }) => attributes.name),
    ['all', 'owned'],
  )
})
