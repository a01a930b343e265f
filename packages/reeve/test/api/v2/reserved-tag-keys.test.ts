import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, aTagged, NOT_FOUND, someTags } from './harness.ts'
import { aWorkspaceBody, inProject, newWorkspace, patchWorkspace } from './workspace-calls.ts'

const ACME = { organization_name: 'acme' }

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const reserve = async (attributes: object) => {
    const body = aBody('reserved-tag-keys', attributes)
    return (await it.created('createReservedTagKey', { params: ACME, body })).data
  }
  return { it, reserve }
}

test('T14 reserved keys: created, listed by key in pages, changed, deleted', async () => {
  const { it, reserve } = await aWorld()
  const team = await reserve({ key: 'team' })
  assert.equal(team.attributes['disable-overrides'], false)
  const env = await reserve({ key: 'cost center', 'disable-overrides': true })
  const list = await it.ok('listReservedTagKeys', { params: ACME })
  assert.deepEqual(list.data, [env, team])
  const beyond = { params: ACME, query: { 'page[number]': 999 } }
  const page = await it.ok('listReservedTagKeys', beyond)
  assert.deepEqual([page.data, page.meta.pagination['total-count']], [[], 2])
  it.server.clock.advance(1_000)
  const params = { reserved_tag_key_id: team.id }
  const body = aBody('reserved-tag-keys', { key: 'squad' })
  const { data } = await it.ok('updateReservedTagKey', { params, body })
  assert.deepEqual(data.attributes, {
    ...team.attributes,
    key: 'squad',
    'updated-at': '2026-01-01T00:00:01.000Z',
  })
  const { index } = it.server.context.store
  assert.deepEqual((await it.ok('updateReservedTagKey', { params, body })).data, data)
  assert.equal(it.server.context.store.index, index)
  await it.done('deleteReservedTagKey', { params })
  assert.deepEqual(await it.refusal('deleteReservedTagKey', { params }), NOT_FOUND)
})

const REFUSED = [
  { key: 'team', detail: 'Key has already been taken' },
  { key: 'a/b', detail: 'Key is invalid' },
  { key: '', detail: "Key can't be blank" },
]
for (const { key, detail } of REFUSED)
  test(`T14 reserved keys: ${JSON.stringify(key)} is refused, made or changed`, async () => {
    const { it, reserve } = await aWorld()
    await reserve({ key: 'team' })
    const other = await reserve({ key: 'Team' })
    const body = aBody('reserved-tag-keys', { key })
    const wanted = [422, `invalid attribute: ${detail}`]
    assert.deepEqual(await it.refusal('createReservedTagKey', { params: ACME, body }), wanted)
    const params = { reserved_tag_key_id: other.id }
    assert.deepEqual(await it.refusal('updateReservedTagKey', { params, body }), wanted)
  })

test('T14 reserved keys: an organization that is not there', async () => {
  const { it } = await aWorld()
  const params = { organization_name: 'none' }
  const body = aBody('reserved-tag-keys', { key: 'team' })
  assert.deepEqual(await it.refusal('listReservedTagKeys', { params }), NOT_FOUND)
  assert.deepEqual(await it.refusal('createReservedTagKey', { params, body }), NOT_FOUND)
})

test('reserved keys: every member reads them, who manages projects writes them', async () => {
  const { it, reserve } = await aWorld()
  const { id } = await reserve({ key: 'team' })
  const member = await it.team('acme', 'member')
  const manager = await it.team('acme', 'manager', { 'manage-projects': true })
  const stranger = await it.user('eve')
  const body = aBody('reserved-tag-keys', { key: 'env' })
  const params = { reserved_tag_key_id: id }
  assert.deepEqual(await it.refusal('listReservedTagKeys', { params: ACME, as: stranger.token }), [
    ...NOT_FOUND,
  ])
  await it.ok('listReservedTagKeys', { params: ACME, as: member.token })
  const as = member.token
  assert.deepEqual(await it.refusal('createReservedTagKey', { params: ACME, body, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('updateReservedTagKey', { params, body, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteReservedTagKey', { params, as }), NOT_FOUND)
  await it.ok('updateReservedTagKey', { params, body, as: manager.token })
  await it.done('deleteReservedTagKey', { params, as: manager.token })
})

test('disable-overrides: a workspace may not bind what its project binds; what is there stays', async () => {
  const { it, reserve } = await aWorld()
  const { id: projectId } = await it.project('acme', { name: 'one' }, { team: 'core' })
  const early = await newWorkspace(it, 'early', { projectId, tags: { team: 'own' } })
  await reserve({ key: 'team', 'disable-overrides': true })
  const refusal = [
    422,
    'invalid attribute: Key is reserved and cannot override the one of the project',
  ]
  const body = aWorkspaceBody('late', { projectId, tags: { team: 'own' } })
  assert.deepEqual(await it.refusal('createWorkspace', { params: ACME, body }), refusal)
  const params = { workspace_id: early.id }
  const bind = (value: string) => ({ params, body: { data: someTags({ team: value }) } })
  assert.deepEqual(await it.refusal('updateWorkspaceTagBindings', bind('new')), refusal)
  await it.ok('updateWorkspaceTagBindings', bind('own'))
  // Elsewhere the key is free, until a move brings it under the project.
  const free = await newWorkspace(it, 'free', { tags: { team: 'x' } })
  const relationships = { ...inProject(projectId), ...aTagged({ team: 'y' }) }
  const move = { params: { workspace_id: free.id }, body: aBody('workspaces', {}, relationships) }
  assert.deepEqual(await it.refusal('updateWorkspace', move), refusal)
  await patchWorkspace(it, free.id, { relationships: inProject(projectId) })
})
