import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, aTagged, NOT_FOUND, someTags } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace, pairsOf, patchWorkspace } from './workspace-calls.ts'

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return { it, project: await it.project('acme', { name: 'one' }) }
}

function byId(id: string) {
  return { workspace_id: id }
}

test('W15 tags: two are added in order; more than ten are refused', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web')
  const call = (tags: object) => ({ params: byId(id), body: { data: someTags(tags) } })
  const { data } = await it.ok('updateWorkspaceTagBindings', call({ b: '2', a: '1' }))
  assert.deepEqual(pairsOf(data), ['b=2', 'a=1'])
  const many = Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`k${i}`, 'v']))
  const [status, detail] = await it.refusal('updateWorkspaceTagBindings', call(many))
  assert.equal(status, 422)
  assert.match(detail ?? '', /cannot exceed 10 bindings per resource/)
  const nine = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, 'v']))
  const [limit] = await it.refusal('updateWorkspaceTagBindings', call(nine))
  assert.equal(limit, 422)
})

test('W16 tags: an empty set removes all, and an absent one none', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { tags: { a: '', b: 'c' } })
  const same = await patchWorkspace(it, id, { attributes: { description: 'x' } })
  assert.deepEqual(same.attributes['tag-names'], ['a'])
  await patchWorkspace(it, id, { relationships: aTagged({}) })
  const { data, links } = await it.ok('listWorkspaceTagBindings', { params: byId(id) })
  assert.deepEqual([data, links], [[], { target: `/api/v2/workspaces/${id}` }])
})

test('W17 tags: an update with bindings has exactly them, and the aliases do the same', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { tags: { a: '1', b: '2' } })
  await patchWorkspace(it, id, { relationships: aTagged({ b: '3', c: '4' }) })
  const params = byId(id)
  const own = async () => pairsOf((await it.ok('listWorkspaceTagBindingMembers', { params })).data)
  assert.deepEqual(await own(), ['b=3', 'c=4'])
  await it.done('addWorkspaceTagBindings', { params, body: { data: someTags({ d: '5' }) } })
  assert.deepEqual(await own(), ['b=3', 'c=4', 'd=5'])
  await it.done('replaceWorkspaceTagBindings', { params, body: { data: someTags({ e: '6' }) } })
  assert.deepEqual(await own(), ['e=6'])
})

test('tags: who maintains a project adds them and takes none away', async () => {
  const { it, project } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: project.id, tags: { a: '1' } })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveProject(it, { teamId, projectId: project.id }, 'maintain')
  const params = byId(id)
  const patch = (tags: object) => ({ params, body: aBody('workspaces', {}, aTagged(tags)), as })
  await it.ok('updateWorkspace', patch({ a: '2', b: '3' }))
  assert.deepEqual(await it.refusal('updateWorkspace', patch({ a: '2' })), NOT_FOUND)
  const all = { params, body: { data: someTags({ a: '2', b: '3' }) }, as }
  assert.deepEqual(await it.refusal('replaceWorkspaceTagBindings', all), NOT_FOUND)
})

test('W18 effective tags: none is inherited, so none has links', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { tags: { a: '1', b: '2' } })
  const { data } = await it.ok('listWorkspaceEffectiveTagBindings', { params: byId(id) })
  assert.deepEqual(
    data.map((binding) => 'links' in binding),
    [false, false],
  )
})

test('W19 effective tags: the inherited one, and only it, says from where', async () => {
  const { it, project } = await aWorld()
  const own = { tags: { a: '1', b: '2' }, projectId: project.id }
  const { id } = await newWorkspace(it, 'web', own)
  const params = { project_id: project.id }
  const body = { data: someTags({ b: 'hidden', c: '3' }) }
  await it.ok('updateProjectTagBindings', { params, body })
  const { data } = await it.ok('listWorkspaceEffectiveTagBindings', { params: byId(id) })
  const from = { 'inherited-from': `/api/v2/projects/${project.id}` }
  assert.deepEqual(
    data.map(({ attributes: { key, value }, links }) => [key, value, links]),
    [
      ['a', '1', undefined],
      ['b', '2', undefined],
      ['c', '3', from],
    ],
  )
})

test('P18 effective tags: a workspace has those of its project and its own', async () => {
  const { it } = await aWorld()
  const { id: projectId } = await it.project('acme', { name: 'tagged' }, { foo: 'bar' })
  const { id } = await newWorkspace(it, 'web', { projectId, tags: { baz: 'qux' } })
  const { data } = await it.ok('listWorkspaceEffectiveTagBindings', { params: byId(id) })
  assert.deepEqual(pairsOf(data), ['baz=qux', 'foo=bar'])
})
