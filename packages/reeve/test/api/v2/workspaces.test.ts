import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, aTagged, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { giveProject, giveWorkspace } from './rows.ts'
import {
  aWorkspaceBody,
  inProject,
  listedNames,
  newWorkspace,
  patchWorkspace,
} from './workspace-calls.ts'

const ACME = { organization_name: 'acme' }

async function aWorld() {
  const it = await aGovernanceServer()
  const organization = await it.organization('acme')
  const project = await it.project('acme', { name: 'one' })
  return { it, defaultProject: organization.relationships['default-project'].data.id, project }
}

function byId(id: string) {
  return { workspace_id: id }
}

test('W1 create: without a project it goes to the default one, with all that the contract shows', async () => {
  const { it, defaultProject } = await aWorld()
  const { id, attributes, relationships, links } = await newWorkspace(it, 'web')
  assert.equal(relationships.project.data.id, defaultProject)
  assert.deepEqual(links, {
    self: '/api/v2/organizations/acme/workspaces/web',
    'self-html': '/ui/organizations/acme/workspaces/web',
  })
  assert.deepEqual(relationships['locked-by'], { data: null })
  assert.deepEqual(relationships['tag-bindings'].links, {
    related: `/api/v2/workspaces/${id}/tag-bindings`,
  })
  const { permissions, 'created-at': created, ...rest } = attributes
  assert.deepEqual(rest, {
    name: 'web',
    description: null,
    'updated-at': created,
    'latest-change-at': created,
    locked: false,
    'locked-reason': null,
    'execution-mode': 'remote',
    'auto-apply': false,
    'auto-apply-run-trigger': false,
    'auto-destroy-at': null,
    'auto-destroy-activity-duration': null,
    'auto-destroy-status': null,
    'inherits-project-auto-destroy': true,
    'drift-check-interval': null,
    'global-remote-state': false,
    'project-remote-state': false,
    'drift-status': null,
    'resource-count': 0,
    'policy-check-failures': 0,
    'run-failures': 0,
    source: 'api',
    'source-name': null,
    'source-url': null,
    'working-directory': null,
    'structured-run-output-enabled': true,
    'tool-version': null,
    'tag-names': [],
    'setting-overwrites': { 'execution-mode': false },
    actions: { 'is-destroyable': true },
  })
  // The site administrator may do everything.
  assert.ok(Object.values(permissions).every(Boolean))
})

test('W2 read, list: every item says its project', async () => {
  const { it, project, defaultProject } = await aWorld()
  await newWorkspace(it, 'one', { projectId: project.id })
  await newWorkspace(it, 'two')
  const { data } = await it.ok('listWorkspaces', { params: ACME })
  assert.deepEqual(
    data.map(({ relationships }) => relationships.project.data.id),
    [defaultProject, project.id],
  )
})

test('W3 create: in the project that is named, with every attribute that can be set', async () => {
  const { it, project } = await aWorld()
  const attributes = {
    description: 'the site',
    'auto-apply': true,
    'execution-mode': 'local',
    'working-directory': 'infra',
    'tool-version': '1.2.3',
    'source-name': 'seed',
    'source-url': 'https://example.com/seed',
  }
  const workspace = await newWorkspace(it, 'web', { attributes, projectId: project.id })
  assert.equal(workspace.relationships.project.data.id, project.id)
  for (const [name, value] of Object.entries(attributes))
    assert.equal(Reflect.get(workspace.attributes, name), value, name)
  assert.deepEqual(workspace.attributes['setting-overwrites'], { 'execution-mode': true })
  const read = await it.ok('readWorkspace', { params: byId(workspace.id) })
  assert.deepEqual(read.data, workspace)
  assert.deepEqual((await it.ok('listWorkspaces', { params: ACME })).data, [workspace])
})

test('W4 update: a project moves it, and what is omitted stays', async () => {
  const { it, project } = await aWorld()
  const before = await newWorkspace(it, 'web', { attributes: { description: 'the site' } })
  it.server.clock.advance(1_000)
  const after = await patchWorkspace(it, before.id, { relationships: inProject(project.id) })
  assert.equal(after.relationships.project.data.id, project.id)
  const { 'updated-at': updated, ...attributes } = after.attributes
  assert.deepEqual(
    { ...attributes, 'updated-at': before.attributes['updated-at'] },
    before.attributes,
  )
  assert.equal(updated, '2026-01-01T00:00:01.000Z')
})

test('update: nothing new commits nothing', async () => {
  const { it } = await aWorld()
  const before = await newWorkspace(it, 'web', { tags: { a: 'b' } })
  const { index } = it.server.context.store
  const after = await patchWorkspace(it, before.id, {
    attributes: { name: 'web' },
    relationships: aTagged({ a: 'b' }),
  })
  assert.deepEqual([after, it.server.context.store.index], [before, index])
})

test('update: an execution mode overwrites the one of the organization until it is taken back', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web')
  const modes = async (attributes: object) => {
    const found = (await patchWorkspace(it, id, { attributes })).attributes
    return [found['execution-mode'], found['setting-overwrites']['execution-mode']]
  }
  assert.deepEqual(await modes({ 'execution-mode': 'local' }), ['local', true])
  const off = { 'setting-overwrites': { 'execution-mode': false } }
  assert.deepEqual(await modes(off), ['remote', false])
})

test('W5 list: filtered by project', async () => {
  const { it, project } = await aWorld()
  const empty = await it.project('acme', { name: 'empty' })
  await newWorkspace(it, 'web', { projectId: project.id })
  await newWorkspace(it, 'other')
  assert.deepEqual(await listedNames(it, { 'filter[project][id]': project.id }), ['web'])
  assert.deepEqual(await listedNames(it, { 'filter[project][id]': empty.id }), [])
  assert.deepEqual(await listedNames(it, { 'filter[project][id]': 'prj-none' }), [])
})

test('W6 list: a page beyond the end is empty and knows the total', async () => {
  const { it } = await aWorld()
  for (const name of ['a', 'b', 'c']) await newWorkspace(it, name)
  const query = { 'page[number]': '999' }
  const { data, meta } = await it.ok('listWorkspaces', { params: ACME, query })
  assert.deepEqual(data, [])
  assert.equal(meta.pagination['current-page'], 999)
  assert.equal(meta.pagination['total-count'], 3)
})

test('W7 list: sorted by name, by last change, newest first otherwise', async () => {
  const { it } = await aWorld()
  const ids: Record<string, string> = {}
  for (const name of ['b', 'a', 'c']) {
    ids[name] = (await newWorkspace(it, name)).id
    it.server.clock.advance(1_000)
  }
  assert.deepEqual(await listedNames(it), ['c', 'a', 'b'])
  assert.deepEqual(await listedNames(it, { sort: 'name' }), ['a', 'b', 'c'])
  assert.deepEqual(await listedNames(it, { sort: '-name' }), ['c', 'b', 'a'])
  assert.deepEqual(await listedNames(it, { sort: 'latest-change-at' }), ['b', 'a', 'c'])
  assert.deepEqual(await listedNames(it, { sort: '-latest-change-at' }), ['c', 'a', 'b'])
  assert.deepEqual(await listedNames(it, { sort: 'current-run.created-at' }), ['c', 'a', 'b'])
  const [status] = await it.refusal('listWorkspaces', { params: ACME, query: { sort: 'size' } })
  assert.equal(status, 400)
})

test('list: no workspace is in a run status where nothing ran', async () => {
  const { it } = await aWorld()
  await newWorkspace(it, 'web')
  assert.deepEqual(await listedNames(it, { 'filter[current-run][status]': 'applied' }), [])
})

const SEARCHES = [
  { row: 'W8', query: { 'search[name]': 'web' }, finds: ['web-one', 'my-web'] },
  { row: 'W8', query: { 'search[name]': 'WEB-' }, finds: ['web-one'] },
  { row: 'W8', query: { 'search[name]': 'none' }, finds: [] },
  { row: 'W9', query: { 'search[tags]': 'env' }, finds: ['web-one', 'my-web'] },
  { row: 'W9', query: { 'search[tags]': 'env, own' }, finds: ['web-one'] },
  { row: 'W9', query: { 'search[exclude-tags]': 'env' }, finds: ['db'] },
  { row: 'W9', query: { 'search[exclude-tags]': 'own' }, finds: ['my-web', 'db'] },
  { row: 'W9', query: { 'search[tags]': 'env', 'search[exclude-tags]': 'own' }, finds: ['my-web'] },
  { row: 'W10', query: { 'search[wildcard-name]': '*web*' }, finds: ['web-one', 'my-web'] },
  { row: 'W10', query: { 'search[wildcard-name]': 'web*' }, finds: ['web-one'] },
  { row: 'W10', query: { 'search[wildcard-name]': '*WEB' }, finds: ['my-web'] },
  { row: 'W10', query: { 'search[wildcard-name]': 'db' }, finds: ['db'] },
  { row: 'W10', query: { 'search[wildcard-name]': 'd' }, finds: [] },
  { row: 'W10', query: { 'search[wildcard-name]': '*' }, finds: ['web-one', 'my-web', 'db'] },
  { row: 'W10', query: { 'search[wildcard-name]': 'w*e' }, finds: [] },
  { row: 'W11', query: tagged('own'), finds: ['web-one'] },
  { row: 'W11', query: tagged('env'), finds: ['web-one', 'my-web'] },
  // The workspace's own value hides the one of its project.
  { row: 'W11', query: tagged('env', 'prod'), finds: ['my-web'] },
  { row: 'W11', query: tagged('env', 'test'), finds: ['web-one'] },
  { row: 'W11', query: tagged('env', 'none'), finds: [] },
] as const

function tagged(key: string, value = '') {
  return { 'filter[tagged][0][key]': key, 'filter[tagged][0][value]': value }
}

for (const { row, query, finds } of SEARCHES)
  test(`${row} list: ${JSON.stringify(query)} finds ${finds.join() || 'nothing'}`, async () => {
    const it = await aGovernanceServer()
    await it.organization('acme')
    const { id: projectId } = await it.project('acme', { name: 'one' }, { env: 'prod' })
    await newWorkspace(it, 'db')
    await newWorkspace(it, 'my-web', { projectId })
    await newWorkspace(it, 'web-one', { projectId, tags: { env: 'test', own: '' } })
    const { data, meta } = await it.ok('listWorkspaces', { params: ACME, query: { ...query } })
    const names = data.map(({ attributes }) => attributes.name)
    assert.deepEqual([names, meta.pagination['total-count']], [finds, finds.length])
  })

test('list: a filter finds what has changed since it was last asked', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' }, { env: 'prod' })
  const { id: other } = await it.project('acme', { name: 'two' })
  const { id } = await newWorkspace(it, 'web', { projectId })
  const found = async () => [
    await listedNames(it, tagged('env', 'prod')),
    await listedNames(it, { 'search[exclude-tags]': 'env' }),
    await listedNames(it, { 'search[wildcard-name]': 'w*' }),
    await listedNames(it, { 'filter[project][id]': projectId }),
  ]
  assert.deepEqual(await found(), [['web'], [], ['web'], ['web']])
  await patchWorkspace(it, id, { relationships: inProject(other) })
  assert.deepEqual(await found(), [[], ['web'], ['web'], []])
  const body = { data: [{ type: 'tag-bindings', attributes: { key: 'env', value: 'prod' } }] }
  await it.ok('updateProjectTagBindings', { params: { project_id: other }, body })
  assert.deepEqual(await found(), [['web'], [], ['web'], []])
  await patchWorkspace(it, id, { attributes: { name: 'api' } })
  assert.deepEqual(await found(), [['api'], [], [], []])
})

test('W12 include: effective tags, own and inherited, are attached', async () => {
  const { it } = await aWorld()
  const { id: projectId } = await it.project('acme', { name: 'tagged' }, { team: 'core' })
  const { id } = await newWorkspace(it, 'web', { projectId, tags: { a: '1', b: '2' } })
  const query = { include: 'effective_tag_bindings' }
  const list = await it.ok('listWorkspaces', { params: ACME, query })
  const one = await it.ok('readWorkspace', { params: byId(id), query })
  for (const { workspace, included = [] } of [
    { workspace: list.data[0], included: list.included },
    { workspace: one.data, included: one.included },
  ]) {
    assert.deepEqual(
      included.map(({ attributes }) => attributes?.['key']),
      ['a', 'b', 'team'],
    )
    assert.deepEqual(
      workspace?.relationships['effective-tag-bindings'].data,
      included.map((binding) => ({ id: binding.id, type: binding.type })),
    )
  }
})

test('include: organization, project and who holds the lock', async () => {
  const { it, project } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: project.id })
  const team = await it.team('acme', 'devs')
  await giveProject(it, { teamId: team.id, projectId: project.id }, 'write')
  await it.ok('lockWorkspace', { params: byId(id), as: team.token })
  const query = { include: 'organization,project,locked-by,current_run,latest_run' }
  const { included = [] } = await it.ok('readWorkspace', { params: byId(id), query })
  assert.deepEqual(
    included.map((one) => `${one.type} ${one.id}`),
    ['organizations acme', `projects ${project.id}`, `teams ${team.id}`],
  )
  const wrong = { params: byId(id), query: { include: 'teams' } }
  const [status, detail] = await it.refusal('readWorkspace', wrong)
  assert.equal(status, 400)
  assert.match(detail ?? '', /include parameter/)
})

const REFUSED = [
  { attributes: { name: 'a b' }, detail: /Name may only contain/ },
  { attributes: { name: '' }, detail: /Name can't be blank/ },
  { attributes: {}, detail: /Name can't be blank/ },
  { attributes: { name: 'x'.repeat(91) }, detail: /Name is too long/ },
  { attributes: { name: 'Taken' }, detail: /Name has already been taken/ },
  { attributes: { name: 'a', 'execution-mode': 'agent' }, detail: /when using 'agent' execution/ },
  { attributes: { name: 'a', 'auto-destroy-at': 'soon' }, detail: /Auto destroy at is not a time/ },
  {
    attributes: { name: 'a', 'auto-destroy-activity-duration': '20m' },
    detail: /Auto destroy activity duration has an incorrect format/,
  },
]
for (const { attributes, detail } of REFUSED)
  test(`W13 create: ${JSON.stringify(attributes).slice(0, 60)} is refused`, async () => {
    const { it } = await aWorld()
    await newWorkspace(it, 'taken')
    const body = aBody('workspaces', attributes)
    const [status, text] = await it.refusal('createWorkspace', { params: ACME, body })
    assert.equal(status, 422)
    assert.match(text ?? '', detail)
  })

test('create: a project of another organization is told like one that is not there', async () => {
  const { it } = await aWorld()
  await it.organization('other')
  const theirs = await it.project('other', { name: 'theirs' })
  for (const projectId of [theirs.id, 'prj-none'])
    assert.deepEqual(
      await it.refusal('createWorkspace', {
        params: ACME,
        body: aWorkspaceBody('a', { projectId }),
      }),
      [422, 'invalid attribute: Project does not exist'],
    )
})

test('create: one name for the organization, whatever the project', async () => {
  const { it, project } = await aWorld()
  await newWorkspace(it, 'web', { projectId: project.id })
  const { id } = await newWorkspace(it, 'db')
  const call = { params: byId(id), body: aBody('workspaces', { name: 'WEB' }) }
  assert.deepEqual(await it.refusal('updateWorkspace', call), [
    422,
    'invalid attribute: Name has already been taken',
  ])
})

test('W14 read: by id and by name are equal; what is not there is not found', async () => {
  const { it } = await aWorld()
  const { id } = await newWorkspace(it, 'web')
  const one = await it.ok('readWorkspace', { params: byId(id) })
  const named = { ...ACME, workspace_name: 'WEB' }
  assert.deepEqual(await it.ok('readNamedWorkspace', { params: named }), one)
  for (const [route, params] of [
    ['readWorkspace', byId('nonexisting')],
    ['readNamedWorkspace', { ...ACME, workspace_name: 'none' }],
    ['readNamedWorkspace', { organization_name: 'none', workspace_name: 'web' }],
  ] as const)
    assert.deepEqual(await it.refusal(route, { params }), NOT_FOUND)
})

test('by name: update, safe-delete and delete do what they do by id', async () => {
  const { it } = await aWorld()
  await newWorkspace(it, 'web')
  await newWorkspace(it, 'db')
  const web = { ...ACME, workspace_name: 'web' }
  const body = aBody('workspaces', { name: 'site' })
  const { data } = await it.ok('updateNamedWorkspace', { params: web, body })
  assert.equal(data.attributes.name, 'site')
  assert.deepEqual(await it.refusal('updateNamedWorkspace', { params: web, body }), NOT_FOUND)
  await it.done('safeDeleteNamedWorkspace', { params: { ...ACME, workspace_name: 'site' } })
  await it.done('deleteNamedWorkspace', { params: { ...ACME, workspace_name: 'db' } })
  assert.deepEqual(await listedNames(it), [])
})

test('delete: everything that names the workspace goes with it', async () => {
  const { it, project } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: project.id, tags: { a: 'b' } })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveWorkspace(it, { teamId, workspaceId: id }, 'read')
  await it.ok('readProject', { params: { project_id: project.id }, as })
  await it.done('deleteWorkspace', { params: byId(id) })
  const { tag_bindings: tags, team_workspaces: accesses } = it.server.context.store.tables
  assert.deepEqual([tags.size, accesses.size], [0, 0])
  assert.deepEqual(
    await it.refusal('readProject', { params: { project_id: project.id }, as }),
    NOT_FOUND,
  )
})

async function organizationSetting(it: GovernanceServer, attributes: object) {
  await it.ok('updateOrganization', { params: ACME, body: aBody('organizations', attributes) })
}

test('W25 delete: by force only where the organization allows it; safely when nothing is in the way', async () => {
  const { it, project } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: project.id })
  const { id: other } = await newWorkspace(it, 'db', { projectId: project.id })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveProject(it, { teamId, projectId: project.id }, 'maintain')
  assert.deepEqual(await it.refusal('deleteWorkspace', { params: byId(id), as }), [
    403,
    'forbidden: Not authorized to force-delete the workspace.',
  ])
  await it.ok('lockWorkspace', { params: byId(id), as })
  assert.deepEqual(await it.refusal('safeDeleteWorkspace', { params: byId(id), as }), [
    409,
    'conflict: Workspace is locked; unlock it first',
  ])
  await it.ok('unlockWorkspace', { params: byId(id), as })
  await it.done('safeDeleteWorkspace', { params: byId(id), as })
  assert.deepEqual(await it.refusal('readWorkspace', { params: byId(id), as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('safeDeleteWorkspace', { params: byId(id), as }), NOT_FOUND)
  await organizationSetting(it, { 'allow-force-delete-workspaces': true })
  await it.ok('lockWorkspace', { params: byId(other), as })
  await it.done('deleteWorkspace', { params: byId(other), as })
})

test('W26 permissions: can-force-delete follows the organization', async () => {
  const { it, project } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: project.id })
  const { id: teamId, token: as } = await it.team('acme', 'devs')
  await giveProject(it, { teamId, projectId: project.id }, 'maintain')
  const may = async () => {
    const { data } = await it.ok('readWorkspace', { params: byId(id), as })
    return data.attributes.permissions['can-force-delete']
  }
  assert.equal(await may(), false)
  await organizationSetting(it, { 'allow-force-delete-workspaces': true })
  assert.equal(await may(), true)
})
