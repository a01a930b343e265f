// tidy-allow vendor: a category has the name of the program whose variables these are
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace } from './workspace-calls.ts'

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id } = await newWorkspace(it, 'web', { projectId })
  const params = { workspace_id: id }
  const create = async (attributes: object) => {
    const body = aBody('vars', { category: 'terraform', ...attributes })
    return (await it.created('createWorkspaceVariable', { params, body })).data
  }
  const at = (variableId: string) => ({ params: { ...params, variable_id: variableId } })
  return { it, projectId, params, create, at }
}

test('a variable is created, listed, changed and deleted', async () => {
  const { it, params, create, at } = await aWorld()
  const made = await create({ key: 'region', value: 'eu', description: 'Where' })
  const { key, value, hcl, sensitive } = made.attributes
  assert.deepEqual([key, value, hcl, sensitive], ['region', 'eu', false, false])
  const body = aBody('vars', { value: '["eu"]', hcl: true })
  const { data } = await it.ok('updateWorkspaceVariable', { ...at(made.id), body })
  assert.deepEqual([data.attributes.value, data.attributes.hcl], ['["eu"]', true])
  assert.notEqual(data.attributes['version-id'], made.attributes['version-id'])
  for (const route of ['listWorkspaceVariables', 'listAllWorkspaceVariables'] as const)
    assert.equal((await it.ok(route, { params })).data.length, 1)
  const query = { 'filter[organization][name]': 'acme', 'filter[workspace][name]': 'web' }
  assert.equal((await it.ok('findWorkspaceVariables', { query })).data[0]?.id, made.id)
  await it.done('deleteWorkspaceVariable', at(made.id))
  assert.deepEqual(await it.refusal('readWorkspaceVariable', at(made.id)), NOT_FOUND)
})

test('a sensitive value is never shown, never stored in clear, and stays sensitive', async () => {
  const { it, create, at } = await aWorld()
  const open = await create({ key: 'password', value: 'hunter2-open' })
  const body = aBody('vars', { sensitive: true })
  const { data } = await it.ok('updateWorkspaceVariable', { ...at(open.id), body })
  assert.deepEqual([data.attributes.value, data.attributes.sensitive], [null, true])
  const made = await create({ key: 'token', value: 'hunter2-new', sensitive: true })
  assert.equal(made.attributes.value, null)
  const { tables } = it.server.context.store
  const stored = JSON.stringify([...tables.run_variables.rows(), ...tables.audit_records.rows()])
  assert.equal(stored.includes('hunter2'), false)
  const row = tables.run_variables.get(open.id)
  assert.equal(it.server.context.sealer.open(row.value), 'hunter2-open')
  for (const attributes of [{ sensitive: false }, { key: 'other' }]) {
    const call = { ...at(made.id), body: aBody('vars', attributes) }
    assert.equal((await it.refusal('updateWorkspaceVariable', call))[0], 422)
  }
})

test('a key is unique in its category, and has the form of its category', async () => {
  const { it, params, create } = await aWorld()
  await create({ key: 'region' })
  await create({ key: 'region', category: 'env' })
  const refused = async (attributes: object) => {
    const body = aBody('vars', { category: 'terraform', ...attributes })
    return await it.refusal('createWorkspaceVariable', { params, body })
  }
  assert.deepEqual(await refused({ key: 'region' }), [
    422,
    'invalid attribute: Key has already been taken',
  ])
  assert.equal((await refused({ key: 'a b' }))[0], 422)
  for (const key of ['PATH', 'LD_PRELOAD', 'TF_CLI_ARGS', 'TF_CLI_ARGS_init', 'REEVE_TOKEN', 'a-b'])
    assert.equal((await refused({ key, category: 'env' }))[0], 422, key)
  await create({ key: 'TF_CLI_ARGS_plan', category: 'env' })
})

test('each permission: none, read and write of variables', async () => {
  const { it, projectId, params, create, at } = await aWorld()
  const made = await create({ key: 'region', value: 'eu' })
  const reader = await it.team('acme', 'readers')
  await giveProject(it, { teamId: reader.id, projectId }, 'read')
  const writer = await it.team('acme', 'writers')
  await giveProject(it, { teamId: writer.id, projectId }, 'write')
  const stranger = await it.user('stranger')
  const body = aBody('vars', { value: 'us' })
  await it.ok('listWorkspaceVariables', { params, as: reader.token })
  await it.ok('updateWorkspaceVariable', { ...at(made.id), body, as: writer.token })
  const asReader = { ...at(made.id), as: reader.token }
  assert.deepEqual(await it.refusal('updateWorkspaceVariable', { ...asReader, body }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteWorkspaceVariable', asReader), NOT_FOUND)
  const hidden = { params, as: stranger.token }
  assert.deepEqual(await it.refusal('listWorkspaceVariables', hidden), NOT_FOUND)
})
