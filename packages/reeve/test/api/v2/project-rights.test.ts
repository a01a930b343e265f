import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, aTagged, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { aWorkspace, giveProject, giveWorkspace } from './rows.ts'

const ACME = { organization_name: 'acme' }
const LEVELS = ['read', 'write', 'maintain', 'admin'] as const

/** Callers of every kind, by name: who they are, and their secrets. */
async function everybody(it: GovernanceServer, projectId: string, workspaceId: string) {
  const callers: Record<string, string> = {}
  for (const access of v2.ORGANIZATION_ACCESS)
    callers[access] = (await it.team('acme', access, { [access]: true })).token
  for (const level of LEVELS) {
    const team = await it.team('acme', `project-${level}`)
    await giveProject(it, { teamId: team.id, projectId }, level)
    callers[`project-${level}`] = team.token
  }
  const reader = await it.team('acme', 'workspace-reader')
  await giveWorkspace(it, { teamId: reader.id, workspaceId }, 'read')
  callers['workspace-reader'] = reader.token
  callers['nothing'] = (await it.team('acme', 'nothing')).token
  const { data } = await it.created('createOrganizationToken', { params: ACME })
  callers['organization-token'] = data.attributes.token
  callers['stranger'] = (await it.user('eve')).token
  callers['site'] = it.root
  return callers
}

test('rights: permissions, filters and what the routes do are the same for every caller', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await it.project('acme', { name: 'one' })
  await aWorkspace(it, id, { id: 'ws-1' })
  await aWorkspace(it, id, { id: 'ws-2' })
  const params = { project_id: id }
  const callers = await everybody(it, id, 'ws-1')
  const isListed = async (as: string, query: Record<string, string>): Promise<boolean> => {
    const reply = await it.call('listProjects', { params: ACME, query, as })
    if (reply.status === 404) return false
    // 200 and of the contract's shape.
    return (reply.json as v2.ProjectPage).data.some((project) => project.id === id)
  }
  const isDone = async (route: v2.V2RouteId, call: object): Promise<boolean> => {
    const { status } = await it.call(route, call)
    assert.ok([200, 204, 404, 422].includes(status), `${route}: ${status}`)
    return status !== 404
  }
  const seen: string[] = []
  for (const [name, as] of Object.entries(callers)) {
    const shown = await it.call('readProject', { params, as })
    assert.equal(await isListed(as, {}), shown.status === 200, `${name} lists what it reads`)
    if (shown.status === 404) continue
    seen.push(name)
    // 200 and of the contract's shape.
    const { permissions } = (shown.json as v2.ProjectDocument).data.attributes
    const filter = (right: string) => ({ [`filter[permissions][${right}]`]: '' })
    const body = aBody('projects', { description: name })
    const move = { data: [{ type: 'workspaces', id: 'ws-2' }] }
    const tags = { data: aTagged({ a: name })['tag-bindings'].data }
    const facts = {
      'can-update': [
        await isListed(as, filter('update')),
        await isDone('updateProject', { params, body, as }),
      ],
      'can-destroy': [await isDone('deleteProject', { params, as })],
      'can-create-workspace': [await isListed(as, filter('create-workspace'))],
      'can-move-workspace': [
        await isListed(as, filter('move-workspace')),
        await isDone('moveWorkspaces', { params, body: move, as }),
      ],
      'can-manage-tags': [await isDone('updateProjectTagBindings', { params, body: tags, as })],
    } as const
    for (const [permission, found] of Object.entries(facts))
      for (const one of found)
        // A key of `facts` is one of the project's permissions.
        assert.equal(one, permissions[permission as keyof typeof facts], `${name} ${permission}`)
  }
  assert.deepEqual(seen, [
    'manage-projects',
    'manage-workspaces',
    'read-projects',
    'read-workspaces',
    'manage-policies',
    'manage-policy-overrides',
    'manage-agent-pools',
    ...LEVELS.map((level) => `project-${level}`),
    'workspace-reader',
    'organization-token',
    'site',
  ])
})

test('create: only who manages projects may, and the others learn nothing', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await it.project('acme', { name: 'one' })
  await aWorkspace(it, id, { id: 'ws-1' })
  const allowed: string[] = []
  for (const [name, as] of Object.entries(await everybody(it, id, 'ws-1'))) {
    const body = aBody('projects', { name: `by ${name}` })
    const reply = await it.call('createProject', { params: ACME, body, as })
    if (reply.status === 201) allowed.push(name)
    else {
      assert.equal(reply.status, 404)
      // Not even what is wrong with the body.
      const bad = { params: ACME, body: aBody('projects', {}), as }
      assert.deepEqual(await it.refusal('createProject', bad), NOT_FOUND)
    }
  }
  assert.deepEqual(allowed, ['manage-projects', 'organization-token', 'site'])
})

test('list: what cannot be read is neither found nor counted', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const mine = await it.project('acme', { name: 'mine' }, { a: 'b' })
  await it.project('acme', { name: 'minor secret' }, { a: 'b' })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveProject(it, { teamId, projectId: mine.id }, 'read')
  for (const query of [{}, { q: 'min' }, { 'filter[tagged][0][key]': 'a' }, { sort: '-name' }]) {
    const { data, meta } = await it.ok('listProjects', { params: ACME, query, as })
    assert.deepEqual(
      data.map(({ id }) => id),
      [mine.id],
    )
    assert.deepEqual(meta['status-counts'], { total: 1, matching: 1 })
  }
  const query = { 'filter[names]': 'minor secret' }
  assert.deepEqual((await it.ok('listProjects', { params: ACME, query, as })).data, [])
})

test('create-workspace: who manages workspaces may in the default project alone', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  await it.project('acme', { name: 'one' })
  const { token: as } = await it.team('acme', 'devs', { 'manage-workspaces': true })
  const query = { 'filter[permissions][create-workspace]': 'true' }
  const { data, meta } = await it.ok('listProjects', { params: ACME, query, as })
  assert.deepEqual(
    data.map(({ attributes }) => attributes.name),
    ['Default Project'],
  )
  assert.deepEqual(meta['status-counts'], { total: 2, matching: 1 })
  const off = { 'filter[permissions][create-workspace]': 'false' }
  const all = await it.ok('listProjects', { params: ACME, query: off, as })
  assert.equal(all.data.length, 2)
})
