import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../../src/state/index.ts'
import { aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace } from './workspace-calls.ts'

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id } = await newWorkspace(it, 'web', { projectId })
  return { it, projectId, params: { workspace_id: id } }
}

async function aTeam(it: GovernanceServer, projectId: string, name: string) {
  const team = await it.team('acme', name)
  await giveProject(it, { teamId: team.id, projectId }, 'write')
  return team
}

test('W22 lock: locked with its reason, and not a second time', async () => {
  const { it, params } = await aWorld()
  const body = { reason: 'maintenance' }
  const { data } = await it.ok('lockWorkspace', { params, body })
  assert.deepEqual(
    [data.attributes.locked, data.attributes['locked-reason']],
    [true, 'maintenance'],
  )
  assert.equal(data.relationships['locked-by'].data?.type, 'users')
  assert.deepEqual(await it.refusal('lockWorkspace', { params, body }), [
    409,
    'conflict: Workspace is locked already',
  ])
})

for (const body of [undefined, {}, { reason: '' }, { reason: null }])
  test(`lock: ${JSON.stringify(body)} is no reason`, async () => {
    const { it, params } = await aWorld()
    const { data } = await it.ok('lockWorkspace', { params, body })
    assert.equal(data.attributes['locked-reason'], null)
  })

test('lock: a reason that is no text or too long is refused', async () => {
  const { it, params } = await aWorld()
  for (const reason of [7, 'x'.repeat(5_000)]) {
    const [status] = await it.refusal('lockWorkspace', { params, body: { reason } })
    assert.equal(status, 422)
  }
})

test('W23 unlock: one’s own lock, once', async () => {
  const { it, params } = await aWorld()
  await it.ok('lockWorkspace', { params })
  const { data } = await it.ok('unlockWorkspace', { params })
  assert.deepEqual([data.attributes.locked, data.relationships['locked-by'].data], [false, null])
  assert.deepEqual(await it.refusal('unlockWorkspace', { params }), [
    409,
    'conflict: Workspace is not locked',
  ])
})

test('W23 unlock: a team’s token locks for the team, and the refusal says who holds it', async () => {
  const { it, params, projectId } = await aWorld()
  const one = await aTeam(it, projectId, 'one')
  const two = await aTeam(it, projectId, 'two')
  const { data } = await it.ok('lockWorkspace', { params, as: one.token })
  assert.deepEqual(data.relationships['locked-by'].data, { id: one.id, type: 'teams' })
  assert.deepEqual(await it.refusal('unlockWorkspace', { params }), [
    409,
    'conflict: Workspace is locked by Team one',
  ])
  // The other team does not see the first one, which is secret.
  assert.deepEqual(await it.refusal('unlockWorkspace', { params, as: two.token }), [
    409,
    'conflict: Workspace is locked by Team',
  ])
  const seen = await it.ok('readWorkspace', { params, as: two.token })
  assert.deepEqual(
    [seen.data.attributes.locked, seen.data.relationships['locked-by'].data],
    [true, null],
  )
  await it.ok('unlockWorkspace', { params, as: one.token })
  await it.ok('lockWorkspace', { params })
  assert.deepEqual(await it.refusal('unlockWorkspace', { params, as: one.token }), [
    409,
    'conflict: Workspace is locked by User administrator',
  ])
})

test('W23 unlock: the lock of a run is its own', async () => {
  const { it, params } = await aWorld()
  const { store } = it.server.context
  const row = store.tables.workspaces.get(params.workspace_id)
  const lock = { byType: 'runs', byId: 'run-1', byName: 'run-1', reason: null } as const
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('workspaces', { ...row, lock })],
  }).durable
  assert.deepEqual(await it.refusal('unlockWorkspace', { params }), [
    409,
    'conflict: Workspace is locked by Run run-1',
  ])
  await it.ok('forceUnlockWorkspace', { params })
})

test('W24 force unlock: an administrator frees any lock; there must be one', async () => {
  const { it, params, projectId } = await aWorld()
  const team = await aTeam(it, projectId, 'devs')
  await it.ok('lockWorkspace', { params, as: team.token })
  assert.deepEqual(await it.refusal('forceUnlockWorkspace', { params, as: team.token }), NOT_FOUND)
  const { data } = await it.ok('forceUnlockWorkspace', { params })
  assert.equal(data.attributes.locked, false)
  assert.deepEqual(await it.refusal('forceUnlockWorkspace', { params }), [
    409,
    'conflict: Workspace is not locked',
  ])
})
