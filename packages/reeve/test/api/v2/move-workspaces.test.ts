import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { aWorkspace, giveProject, giveWorkspace } from './rows.ts'

interface World {
  readonly it: GovernanceServer
  readonly from: string
  readonly to: string
}

async function aWorld(): Promise<World> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const from = (await it.project('acme', { name: 'from' })).id
  const to = (await it.project('acme', { name: 'to it', 'auto-destroy-activity-duration': '4h' }))
    .id
  return { it, from, to }
}

function moving(projectId: string, ...ids: readonly string[]) {
  return {
    params: { project_id: projectId },
    body: { data: ids.map((id) => ({ type: 'workspaces', id })) },
  }
}

function placeOf({ it }: World, id: string) {
  return it.server.context.store.tables.workspaces.get(id).projectId
}

test('move: the workspaces are in the new project, in one commit', async () => {
  const world = await aWorld()
  const { it, from, to } = world
  await aWorkspace(it, from, { id: 'ws-1' })
  await aWorkspace(it, from, { id: 'ws-2' })
  const { index } = it.server.context.store
  await it.done('moveWorkspaces', moving(to, 'ws-1', 'ws-2', 'ws-1'))
  assert.deepEqual([placeOf(world, 'ws-1'), placeOf(world, 'ws-2')], [to, to])
  assert.equal(it.server.context.store.index, index + 1)
  const { data } = await it.ok('readProject', { params: { project_id: to } })
  assert.equal(data.attributes['workspace-count'], 2)
})

test('move: an inherited duration is the one of the new project, an override stays', async () => {
  const { it, from, to } = await aWorld()
  await aWorkspace(it, from, { id: 'ws-1', latestChangeMs: 5 })
  await aWorkspace(it, from, {
    id: 'ws-2',
    inheritsProjectAutoDestroy: false,
    autoDestroyActivityDuration: '9d',
  })
  await it.done('moveWorkspaces', moving(to, 'ws-1', 'ws-2'))
  const { workspaces } = it.server.context.store.tables
  assert.equal(workspaces.get('ws-1').autoDestroyActivityDuration, '4h')
  assert.equal(workspaces.get('ws-1').autoDestroyAtMs, 5 + 4 * 3_600_000)
  assert.equal(workspaces.get('ws-2').autoDestroyActivityDuration, '9d')
})

test('move: who may read a workspace sees the project it went to, and no longer the old one', async () => {
  const { it, from, to } = await aWorld()
  await aWorkspace(it, from, { id: 'ws-1' })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveWorkspace(it, { teamId, workspaceId: 'ws-1' }, 'read')
  await it.ok('readProject', { params: { project_id: from }, as })
  await it.done('moveWorkspaces', moving(to, 'ws-1'))
  await it.ok('readProject', { params: { project_id: to }, as })
  assert.deepEqual(await it.refusal('readProject', { params: { project_id: from }, as }), NOT_FOUND)
})

test('move: one that is not found, and nothing moves; the detail lists the ids', async () => {
  const world = await aWorld()
  const { it, from, to } = world
  await aWorkspace(it, from, { id: 'ws-1' })
  await it.organization('other')
  const other = (await it.project('other', { name: 'theirs' })).id
  await aWorkspace(it, other, { id: 'ws-other' })
  assert.deepEqual(await it.refusal('moveWorkspaces', moving(to, 'ws-1', 'ws-9', 'ws-other')), [
    403,
    'forbidden: Not found or not movable by you: ws-9, ws-other',
  ])
  assert.equal(placeOf(world, 'ws-1'), from)
})

test('move: both ends must allow it, and a destination that does not is not found', async () => {
  const world = await aWorld()
  const { it, from, to } = world
  await aWorkspace(it, from, { id: 'ws-1' })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  const call = { ...moving(to, 'ws-1'), as }
  assert.deepEqual(await it.refusal('moveWorkspaces', call), NOT_FOUND)
  await giveProject(it, { teamId, projectId: to }, 'maintain')
  assert.deepEqual(await it.refusal('moveWorkspaces', call), NOT_FOUND)
  await giveProject(it, { teamId, projectId: to }, 'admin')
  assert.deepEqual(await it.refusal('moveWorkspaces', call), [
    403,
    'forbidden: Not found or not movable by you: ws-1',
  ])
  await giveProject(it, { teamId, projectId: from }, 'admin')
  await it.done('moveWorkspaces', call)
  assert.equal(placeOf(world, 'ws-1'), to)
})

const BAD_LISTS = [
  { data: [], status: 422 },
  { data: [{ type: 'projects', id: 'ws-1' }], status: 422 },
  { data: [{ type: 'workspaces' }], status: 422 },
  { data: { type: 'workspaces', id: 'ws-1' }, status: 422 },
  {
    data: Array.from({ length: 501 }, (_, i) => ({ type: 'workspaces', id: `ws-${i}` })),
    status: 422,
  },
]
for (const { data, status } of BAD_LISTS)
  test(`move: ${JSON.stringify(data).slice(0, 50)} is refused`, async () => {
    const { it, to } = await aWorld()
    const [found] = await it.refusal('moveWorkspaces', {
      params: { project_id: to },
      body: { data },
    })
    assert.equal(found, status)
  })

test('move: a workspace that is there already stays, without a commit', async () => {
  const { it, to } = await aWorld()
  await aWorkspace(it, to, { id: 'ws-1' })
  const { index } = it.server.context.store
  await it.done('moveWorkspaces', moving(to, 'ws-1'))
  assert.equal(it.server.context.store.index, index)
})
