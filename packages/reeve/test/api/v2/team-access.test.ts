import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { newWorkspace } from './workspace-calls.ts'

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id: workspaceId } = await newWorkspace(it, 'web', { projectId })
  const team = await it.team('acme', 'devs')
  return { it, projectId, workspaceId, team }
}

function toProject(projectId: string, teamId: string, attributes: object) {
  return aBody('team-projects', attributes, {
    project: { data: { type: 'projects', id: projectId } },
    team: { data: { type: 'teams', id: teamId } },
  })
}

function toWorkspace(workspaceId: string, teamId: string, attributes: object) {
  return aBody('team-workspaces', attributes, {
    workspace: { data: { type: 'workspaces', id: workspaceId } },
    team: { data: { type: 'teams', id: teamId } },
  })
}

test('T5 list: a page beyond the end is empty and knows the total; oldest first', async () => {
  const { it, projectId, team } = await aWorld()
  const other = await it.team('acme', 'other')
  for (const { id } of [team, other]) {
    const body = toProject(projectId, id, { access: 'read' })
    await it.created('createTeamProjectAccess', { body })
  }
  const query = { 'filter[project][id]': projectId }
  const { data } = await it.ok('listTeamProjectAccesses', { query })
  assert.deepEqual(
    data.map(({ relationships }) => relationships.team.data.id),
    [team.id, other.id],
  )
  const beyond = { ...query, 'page[number]': 999 }
  const page = await it.ok('listTeamProjectAccesses', { query: beyond })
  assert.deepEqual(page.data, [])
  assert.equal(page.meta.pagination['current-page'], 999)
  assert.equal(page.meta.pagination['total-count'], 2)
  const shown = await it.ok('readProject', { params: { project_id: projectId } })
  assert.equal(shown.data.attributes['team-count'], 2)
})

test('list: the filter must be there', async () => {
  const { it } = await aWorld()
  for (const route of ['listTeamProjectAccesses', 'listTeamWorkspaceAccesses'] as const) {
    const [status] = await it.refusal(route)
    assert.equal(status, 422)
  }
})

const LEVELS = [
  ['read', 'read none none', 'read read read none', ''],
  ['write', 'read none none', 'apply write write read', 'locking'],
  ['maintain', 'read none none', 'apply write write read', 'create locking delete run-tasks'],
  [
    'admin',
    'delete manage write',
    'apply write write read',
    'create locking delete move run-tasks',
  ],
  ['custom', 'read none none', 'read none none none', ''],
] as const
const FLAGS = ['create', 'locking', 'delete', 'move', 'run-tasks', 'policy-overrides'] as const

function shownLevel({ attributes }: v2.TeamProjectAccess) {
  const project = attributes['project-access']
  const workspace = attributes['workspace-access']
  return [
    attributes.access,
    [project.settings, project.teams, project['variable-sets']].join(' '),
    [
      workspace.runs,
      workspace.variables,
      workspace['state-versions'],
      workspace['policy-mocks'],
    ].join(' '),
    FLAGS.filter((name) => workspace[name]).join(' '),
  ]
}

for (const level of LEVELS)
  test(`T6 project access: ${level[0]} stands for its column of the table`, async () => {
    const { it, projectId, team } = await aWorld()
    const body = toProject(projectId, team.id, { access: level[0] })
    const { data } = await it.created('createTeamProjectAccess', { body })
    assert.deepEqual(shownLevel(data), level)
    assert.deepEqual(data.links, { self: `/api/v2/team-projects/${data.id}` })
    const read = await it.ok('readTeamProjectAccess', { params: { team_project_id: data.id } })
    assert.deepEqual(read.data, data)
  })

const FULL = {
  'project-access': { settings: 'delete', teams: 'manage', 'variable-sets': 'write' },
  'workspace-access': {
    runs: 'apply',
    variables: 'write',
    'state-versions': 'write',
    'policy-mocks': 'read',
    'run-tasks': true,
    'policy-overrides': true,
    create: true,
    locking: true,
    delete: true,
    move: true,
  },
}

test('T6 project access: custom in full, in part and not at all', async () => {
  const { it, projectId, team } = await aWorld()
  const full = await it.created('createTeamProjectAccess', {
    body: toProject(projectId, team.id, { access: 'custom', ...FULL }),
  })
  assert.deepEqual(full.data.attributes, { access: 'custom', ...FULL })
  const other = await it.team('acme', 'other')
  const part = await it.created('createTeamProjectAccess', {
    body: toProject(projectId, other.id, {
      access: 'custom',
      'workspace-access': { runs: 'plan', move: true },
    }),
  })
  assert.deepEqual(shownLevel(part.data), [
    'custom',
    'read none none',
    'plan none none none',
    'move',
  ])
})

test('T7 project access: a second one for the team, and values that are none', async () => {
  const { it, projectId, team } = await aWorld()
  const body = toProject(projectId, team.id, { access: 'read' })
  await it.created('createTeamProjectAccess', { body })
  assert.deepEqual(await it.refusal('createTeamProjectAccess', { body }), [
    422,
    'invalid attribute: Team has access to the project already',
  ])
  const refused = [
    { access: 'king' },
    { access: 'custom', 'project-access': { settings: 'burn' } },
    { access: 'custom', 'workspace-access': { runs: 'none' } },
    { access: 'custom', 'workspace-access': { create: 'yes' } },
    { access: 'read', 'project-access': { settings: 'delete' } },
    {},
  ]
  const other = await it.team('acme', 'other')
  for (const attributes of refused) {
    const call = { body: toProject(projectId, other.id, attributes) }
    const [status] = await it.refusal('createTeamProjectAccess', call)
    assert.equal(status, 422, JSON.stringify(attributes))
  }
})

test('T8 project access: changed, taken away, and then not there', async () => {
  const { it, projectId, team } = await aWorld()
  const body = toProject(projectId, team.id, { access: 'admin' })
  const { data } = await it.created('createTeamProjectAccess', { body })
  const params = { team_project_id: data.id }
  const change = async (attributes: object) => {
    const patch = { params, body: aBody('team-projects', attributes) }
    return shownLevel((await it.ok('updateTeamProjectAccess', patch)).data)
  }
  // From a fixed level, custom begins with the least; then what is not named stays.
  const runs = { 'workspace-access': { runs: 'plan' } }
  const least = ['custom', 'read none none', 'plan none none none', '']
  assert.deepEqual(await change({ access: 'custom', ...runs }), least)
  const locking = ['custom', 'read none none', 'plan none none none', 'locking']
  assert.deepEqual(await change({ 'workspace-access': { locking: true } }), locking)
  assert.deepEqual(await change({ access: 'read' }), LEVELS[0])
  const { index } = it.server.context.store
  assert.deepEqual(await change({ access: 'read' }), LEVELS[0])
  assert.equal(it.server.context.store.index, index)
  await it.done('deleteTeamProjectAccess', { params })
  assert.deepEqual(await it.refusal('deleteTeamProjectAccess', { params }), NOT_FOUND)
  assert.deepEqual(await it.refusal('readTeamProjectAccess', { params }), NOT_FOUND)
})

const READ_ONLY =
  "invalid attribute: Runs is read-only when access level is 'read'; " +
  "use the 'custom' access level to set this attribute."

test('T9 workspace access: a fixed level takes no values of its own', async () => {
  const { it, workspaceId, team } = await aWorld()
  const attributes = { access: 'read', runs: 'apply' }
  const body = toWorkspace(workspaceId, team.id, attributes)
  assert.deepEqual(await it.refusal('createTeamWorkspaceAccess', { body }), [422, READ_ONLY])
  const good = toWorkspace(workspaceId, team.id, { access: 'read' })
  const { data } = await it.created('createTeamWorkspaceAccess', { body: good })
  const change = aBody('team-workspaces', { runs: 'apply' })
  const params = { team_workspace_id: data.id }
  assert.deepEqual(await it.refusal('updateTeamWorkspaceAccess', { params, body: change }), [
    422,
    READ_ONLY,
  ])
})

const WORKSPACE_LEVELS = [
  ['read', 'read read read none', ''],
  ['plan', 'plan read read none', ''],
  ['write', 'apply write write read', 'workspace-locking'],
  ['admin', 'apply write write read', 'workspace-locking run-tasks'],
  ['custom', 'read none none none', ''],
] as const

function shownWorkspaceLevel({ attributes }: v2.TeamWorkspaceAccess) {
  const { runs, variables } = attributes
  const flags = ['workspace-locking', 'run-tasks', 'policy-overrides'] as const
  return [
    attributes.access,
    [runs, variables, attributes['state-versions'], attributes['policy-mocks']].join(' '),
    flags.filter((name) => attributes[name]).join(' '),
  ]
}

for (const level of WORKSPACE_LEVELS)
  test(`workspace access: ${level[0]} stands for its values`, async () => {
    const { it, workspaceId, team } = await aWorld()
    const body = toWorkspace(workspaceId, team.id, { access: level[0] })
    const { data } = await it.created('createTeamWorkspaceAccess', { body })
    assert.deepEqual(shownWorkspaceLevel(data), level)
    const params = { team_workspace_id: data.id }
    assert.deepEqual((await it.ok('readTeamWorkspaceAccess', { params })).data, data)
  })

test('workspace access: listed, changed, given once, taken away', async () => {
  const { it, workspaceId, team } = await aWorld()
  const body = toWorkspace(workspaceId, team.id, { access: 'custom', runs: 'plan' })
  const { data } = await it.created('createTeamWorkspaceAccess', { body })
  assert.deepEqual(await it.refusal('createTeamWorkspaceAccess', { body }), [
    422,
    'invalid attribute: Team has access to the workspace already',
  ])
  const query = { 'filter[workspace][id]': workspaceId }
  const list = async (more: object) =>
    (await it.ok('listTeamWorkspaceAccesses', { query: { ...query, ...more } })).data
  assert.deepEqual(await list({}), [data])
  assert.deepEqual(await list({ 'filter[team][id]': team.id }), [data])
  assert.deepEqual(await list({ 'filter[team][id]': 'team-none' }), [])
  const params = { team_workspace_id: data.id }
  const patch = { params, body: aBody('team-workspaces', { 'workspace-locking': true }) }
  const { data: changed } = await it.ok('updateTeamWorkspaceAccess', patch)
  const locking = ['custom', 'plan none none none', 'workspace-locking']
  assert.deepEqual(shownWorkspaceLevel(changed), locking)
  await it.done('deleteTeamWorkspaceAccess', { params })
  assert.deepEqual(await it.refusal('readTeamWorkspaceAccess', { params }), NOT_FOUND)
})

test('access takes effect at once, and goes with its team', async () => {
  const { it, workspaceId, team } = await aWorld()
  const read = { params: { workspace_id: workspaceId }, as: team.token }
  assert.deepEqual(await it.refusal('readWorkspace', read), NOT_FOUND)
  const body = toWorkspace(workspaceId, team.id, { access: 'write' })
  await it.created('createTeamWorkspaceAccess', { body })
  await it.ok('lockWorkspace', read)
  await it.done('deleteTeam', { params: { team_id: team.id } })
  assert.equal(it.server.context.store.tables.team_workspaces.size, 0)
})

async function giveTeam(it: GovernanceServer, id: string, visibility: string) {
  await it.ok('updateTeam', { params: { team_id: id }, body: aBody('teams', { visibility }) })
}

test('secret teams: who does not see them neither gives them access nor learns of theirs', async () => {
  const { it, projectId, workspaceId, team } = await aWorld()
  const lead = await it.team('acme', 'lead')
  const admin = toProject(projectId, lead.id, { access: 'admin' })
  await it.created('createTeamProjectAccess', { body: admin })
  const as = lead.token
  const body = toProject(projectId, team.id, { access: 'read' })
  assert.deepEqual(await it.refusal('createTeamProjectAccess', { body, as }), NOT_FOUND)
  const inWorkspace = toWorkspace(workspaceId, team.id, { access: 'read' })
  assert.deepEqual(
    await it.refusal('createTeamWorkspaceAccess', { body: inWorkspace, as }),
    NOT_FOUND,
  )
  const made = (await it.created('createTeamProjectAccess', { body })).data
  const madeToo = (await it.created('createTeamWorkspaceAccess', { body: inWorkspace })).data
  const query = { 'filter[project][id]': projectId }
  const { data, meta } = await it.ok('listTeamProjectAccesses', { query, as })
  assert.deepEqual(
    [data.map((one) => one.relationships.team.data.id), meta.pagination['total-count']],
    [[lead.id], 1],
  )
  const params = { team_project_id: made.id }
  for (const route of ['readTeamProjectAccess', 'deleteTeamProjectAccess'] as const)
    assert.deepEqual(await it.refusal(route, { params, as }), NOT_FOUND)
  const others = { params: { team_workspace_id: madeToo.id }, as }
  assert.deepEqual(await it.refusal('readTeamWorkspaceAccess', others), NOT_FOUND)
  await giveTeam(it, team.id, 'organization')
  await it.ok('readTeamProjectAccess', { params, as })
  await it.ok('readTeamWorkspaceAccess', others)
})

test('a team of another organization gets no access', async () => {
  const { it, projectId } = await aWorld()
  await it.organization('other')
  const theirs = await it.team('other', 'theirs')
  const body = toProject(projectId, theirs.id, { access: 'read' })
  assert.deepEqual(await it.refusal('createTeamProjectAccess', { body }), NOT_FOUND)
})
