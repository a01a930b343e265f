import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, aTagged, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { aWorkspace, giveProject } from './rows.ts'

const ACME = { organization_name: 'acme' }

async function withAcme(): Promise<GovernanceServer & { readonly defaultProject: string }> {
  const it = await aGovernanceServer()
  const { relationships } = await it.organization('acme')
  return { ...it, defaultProject: relationships['default-project'].data.id }
}

async function names(it: GovernanceServer, query: Record<string, string> = {}, as?: string) {
  const call = { params: ACME, query, ...(as === undefined ? {} : { as }) }
  const { data, meta } = await it.ok('listProjects', call)
  const found = data.map(({ attributes }) => attributes.name)
  return { found, total: meta.pagination['total-count'], counts: meta['status-counts'] }
}

// Create and show

test('P9, P11 create: the record is what show answers, without counts and most permissions', async () => {
  const it = await withAcme()
  const made = await it.project('acme', { name: 'Payments', description: 'd' })
  assert.deepEqual(Object.keys(made.attributes.permissions), ['can-update'])
  const { data } = await it.ok('readProject', { params: { project_id: made.id } })
  const {
    permissions,
    'workspace-count': workspaces,
    'team-count': teams,
    ...same
  } = data.attributes
  assert.deepEqual([workspaces, teams], [0, 0])
  assert.equal(permissions['can-create-workspace'], true)
  const { permissions: _made, ...attributes } = made.attributes
  assert.deepEqual(same, attributes)
  assert.deepEqual(data.relationships, made.relationships)
  assert.deepEqual(data.links, { self: `/api/v2/projects/${made.id}` })
})

const NAME_RULE =
  'invalid attribute: Name may only contain letters, numbers, spaces, - and _, without a space at either end'
const DURATION_RULE =
  "invalid attribute: Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')"
const BAD_PROJECTS: readonly { readonly attributes: object; readonly says: readonly string[] }[] = [
  { attributes: {}, says: ["invalid attribute: Name can't be blank"] },
  { attributes: { name: '' }, says: ["invalid attribute: Name can't be blank"] },
  { attributes: { name: 7 }, says: ['invalid attribute: Name must be text'] },
  { attributes: { name: 'a!b' }, says: [NAME_RULE] },
  { attributes: { name: ' abc' }, says: [NAME_RULE] },
  { attributes: { name: 'abc ' }, says: [NAME_RULE] },
  { attributes: { name: 'ünique' }, says: [NAME_RULE] },
  {
    attributes: { name: 'ab' },
    says: ['invalid attribute: Name is too short (minimum is 3 characters)'],
  },
  {
    attributes: { name: 'a'.repeat(41) },
    says: ['invalid attribute: Name is too long (maximum is 40 characters)'],
  },
  {
    attributes: { name: 'a!', description: 'd'.repeat(257) },
    says: [
      'invalid attribute: Name is too short (minimum is 3 characters)',
      NAME_RULE,
      'invalid attribute: Description is too long (maximum is 256 characters)',
    ],
  },
  {
    attributes: { name: 'default PROJECT' },
    says: ['invalid attribute: Name has already been taken'],
  },
  ...['20m', '0d', '12345d', '', 'd', '1.5h'].map((duration) => ({
    attributes: { name: 'fine', 'auto-destroy-activity-duration': duration },
    says: [DURATION_RULE],
  })),
]
for (const { attributes, says } of BAD_PROJECTS)
  test(`P12–P14 create: ${JSON.stringify(attributes).slice(0, 70)} is refused`, async () => {
    const it = await withAcme()
    const call = { params: ACME, body: aBody('projects', attributes) }
    assert.deepEqual(await it.refusal('createProject', call), [422, ...says])
    assert.equal((await names(it)).total, 1)
  })

test('create: the limits themselves are allowed', async () => {
  const it = await withAcme()
  for (const attributes of [
    { name: 'abc', description: 'd'.repeat(256), 'auto-destroy-activity-duration': '9999h' },
    { name: 'A b-_'.padEnd(40, 'x'), 'auto-destroy-activity-duration': '0001d' },
  ]) {
    const { attributes: made } = await it.project('acme', attributes)
    assert.equal(made.name, attributes.name)
    assert.equal(
      made['auto-destroy-activity-duration'],
      attributes['auto-destroy-activity-duration'],
    )
  }
})

const BAD_DOCUMENTS = [
  { body: { data: { type: 'teams', attributes: { name: 'abc' } } }, pointer: '/data/type' },
  { body: { data: { attributes: { name: 'abc' } } }, pointer: '/data/type' },
  { body: {}, pointer: '/data/type' },
  { body: '[]', pointer: '' },
  { body: { data: { type: 'projects' } }, pointer: '/data/attributes/name' },
]
for (const { body, pointer } of BAD_DOCUMENTS)
  test(`create: ${JSON.stringify(body)} is refused at ${pointer}`, async () => {
    const it = await withAcme()
    const reply = await it.call('createProject', { params: ACME, body })
    assert.equal(reply.status, 422)
    assert.ok(reply.text.includes(`"pointer":"${pointer}"`), reply.text)
  })

test('P10 show: an id that is none is not found', async () => {
  const it = await withAcme()
  for (const id of ['nonexisting', 'prj-', 'a b!/..%2f', 'x'.repeat(500)])
    assert.deepEqual(await it.refusal('readProject', { params: { project_id: id } }), NOT_FOUND)
})

// List

test('P1, P2 list: counts, pages and the default project', async () => {
  const it = await withAcme()
  await it.project('acme', { name: 'one' })
  await it.project('acme', { name: 'two' })
  assert.deepEqual(await names(it), {
    found: ['two', 'one', 'Default Project'],
    total: 3,
    counts: { total: 3, matching: 3 },
  })
})

test('list: links are full URLs that keep the rest of the query', async () => {
  const it = await withAcme()
  for (const name of ['pa1', 'pa2', 'pa3']) await it.project('acme', { name })
  const query = { q: 'PA', 'page[size]': 1, 'page[number]': 2, sort: 'name' }
  const { data, links, meta } = await it.ok('listProjects', { params: ACME, query })
  assert.deepEqual(
    data.map(({ attributes }) => attributes.name),
    ['pa2'],
  )
  const at = (page: number): string =>
    `http://localhost:80/api/v2/organizations/acme/projects?q=PA&sort=name&page%5Bnumber%5D=${page}&page%5Bsize%5D=1`
  assert.deepEqual(links, { self: at(2), first: at(1), prev: at(1), next: at(3), last: at(3) })
  assert.deepEqual(meta, {
    'status-counts': { total: 4, matching: 3 },
    pagination: {
      'current-page': 2,
      'page-size': 1,
      'prev-page': 1,
      'next-page': 3,
      'total-pages': 3,
      'total-count': 3,
    },
  })
})

test('list: a page beyond the end is empty, and a size above the most is the most', async () => {
  const it = await withAcme()
  const query = { 'page[number]': 999, 'page[size]': 1000 }
  const { data, links, meta } = await it.ok('listProjects', { params: ACME, query })
  assert.deepEqual(data, [])
  assert.deepEqual([links.prev, links.next], [null, null])
  assert.equal(meta.pagination['current-page'], 999)
  assert.equal(meta.pagination['page-size'], 100)
  assert.equal(meta.pagination['total-count'], 1)
})

for (const [name, value] of [
  ['page[number]', '0'],
  ['page[number]', '-1'],
  ['page[size]', '0'],
  ['page[size]', 'ten'],
  ['page[size]', '1.5'],
  ['sort', 'id'],
  ['include', 'nothing'],
  ['filter[unknown]', 'x'],
  ['filter[tagged][10][key]', 'x'],
] as const)
  test(`list: ${name}=${value} is malformed`, async () => {
    const it = await withAcme()
    const reply = await it.call('listProjects', { params: ACME, query: { [name]: value } })
    assert.equal(reply.status, 400)
    assert.ok(reply.text.includes(`"parameter":"${name}"`), reply.text)
  })

const LISTS = [
  { query: { q: 'default' }, finds: ['Default Project'] },
  { query: { q: 'ALPH' }, finds: ['Alpha two', 'alpha'] },
  { query: { q: 'a' }, finds: ['Beta', 'Alpha two', 'alpha', 'Default Project'] },
  { query: { q: 'nothing' }, finds: [] },
  { query: { 'filter[names]': ' ALPHA ,beta,gone' }, finds: ['Beta', 'alpha'] },
  { query: { 'filter[names]': 'alph' }, finds: [] },
  { query: { q: 'Default', 'filter[names]': 'beta' }, finds: ['Beta'] },
  { query: { sort: 'name' }, finds: ['alpha', 'Alpha two', 'Beta', 'Default Project'] },
  { query: { sort: '-name' }, finds: ['Default Project', 'Beta', 'Alpha two', 'alpha'] },
  { query: { q: 'alpha', sort: 'name' }, finds: ['alpha', 'Alpha two'] },
  { query: { 'filter[tagged][0][key]': 'key1', 'filter[tagged][0][value]': '' }, finds: ['alpha'] },
  { query: { 'filter[tagged][0][key]': 'key2' }, finds: ['Beta', 'alpha'] },
  {
    query: { 'filter[tagged][0][key]': 'key2', 'filter[tagged][0][value]': 'b' },
    finds: ['Beta'],
  },
  {
    query: { 'filter[tagged][0][key]': 'key2', 'filter[tagged][1][key]': 'key1' },
    finds: ['alpha'],
  },
]
for (const { query, finds } of LISTS)
  test(`P3–P6 list: ${JSON.stringify(query)}`, async () => {
    const it = await withAcme()
    await it.project('acme', { name: 'alpha' }, { key1: 'v', key2: 'a' })
    await it.project('acme', { name: 'Alpha two' })
    await it.project('acme', { name: 'Beta' }, { key2: 'b' })
    const { found, total } = await names(it, query)
    assert.deepEqual([found, total], [finds, finds.length])
  })

test('P7, P8 include: effective tags are attached to their projects', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'tagged' }, { foo: 'bar', solo: null })
  const query = { include: 'effective_tag_bindings' }
  const { data, included = [] } = await it.ok('listProjects', { params: ACME, query })
  assert.equal(data[0]?.id, id)
  const ids = data[0].relationships['effective-tag-bindings'].data?.map((one) => one.id)
  assert.deepEqual(
    included.map((one) => one.id),
    ids,
  )
  const shown = await it.ok('readProject', { params: { project_id: id }, query })
  assert.deepEqual(shown.included, included)
  assert.deepEqual(
    included.map(({ attributes }) => [attributes?.['key'], attributes?.['value']]),
    [
      ['foo', 'bar'],
      ['solo', ''],
    ],
  )
})

test('fields: only the named attributes and relationships of a type are sent', async () => {
  const it = await withAcme()
  const reply = await it.server.send(
    'GET',
    `/api/v2/projects/${it.defaultProject}?fields[projects]=name,organization,nope`,
    { headers: { authorization: `Bearer ${it.root}` } },
  )
  // A document that was cut down on purpose.
  const { data } = JSON.parse(reply.text) as { data: Record<string, object> }
  assert.deepEqual(data['attributes'], { name: 'Default Project' })
  assert.deepEqual(Object.keys(data['relationships'] ?? {}), ['organization'])
})

// Update

test('P16, P17, P27 update: what is named changes, the rest stays', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one', description: 'd' }, { old: 'x' })
  const params = { project_id: id }
  const body = aBody('projects', { name: 'A Bob' }, aTagged({ foo: 'bar' }))
  const { data } = await it.ok('updateProject', { params, body })
  assert.deepEqual([data.id, data.attributes.name, data.attributes.description], [id, 'A Bob', 'd'])
  for (const route of ['listProjectTagBindings', 'listProjectEffectiveTagBindings'] as const) {
    const list = await it.ok(route, { params })
    assert.deepEqual(
      list.data.map(({ attributes }) => [attributes.key, attributes.value]),
      [['foo', 'bar']],
    )
  }
})

test('update: null clears, an empty description is none, and absence keeps', async () => {
  const it = await withAcme()
  const fields = { name: 'one', description: 'd', 'auto-destroy-activity-duration': '3d' }
  const params = { project_id: (await it.project('acme', fields)).id }
  const steps = [
    { attributes: undefined, description: 'd', duration: '3d' },
    { attributes: { description: '' }, description: null, duration: '3d' },
    { attributes: { 'auto-destroy-activity-duration': null }, description: null, duration: null },
  ]
  for (const { attributes, description, duration } of steps) {
    const { data } = await it.ok('updateProject', { params, body: aBody('projects', attributes) })
    assert.equal(data.attributes.description, description)
    assert.equal(data.attributes['auto-destroy-activity-duration'], duration)
  }
})

test('update: what changes nothing commits nothing', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' }, { a: 'b' })
  const { index } = it.server.context.store
  const body = aBody('projects', { name: 'one' }, aTagged({ a: 'b' }))
  await it.ok('updateProject', { params: { project_id: id }, body })
  assert.equal(it.server.context.store.index, index)
})

test('P19, P20 update: the rules are those of create', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' })
  const params = { project_id: id }
  const cases = [
    { attributes: { name: 'a!b' }, says: NAME_RULE },
    { attributes: { 'auto-destroy-activity-duration': 'bar' }, says: DURATION_RULE },
    {
      attributes: { name: 'Default Project' },
      says: 'invalid attribute: Name has already been taken',
    },
  ]
  for (const { attributes, says } of cases) {
    const body = aBody('projects', attributes)
    assert.deepEqual(await it.refusal('updateProject', { params, body }), [422, says])
  }
  // Its own name in another case is no conflict.
  const body = aBody('projects', { name: 'ONE' })
  assert.equal((await it.ok('updateProject', { params, body })).data.attributes.name, 'ONE')
})

test('P28 update: tag relationships replace the whole set, and keep what stays', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' }, { a: '1', b: '2' })
  const params = { project_id: id }
  const list = async () => (await it.ok('listProjectTagBindings', { params })).data
  const [before] = await list()
  for (const tags of [{ a: '1', c: '3', d: '4' }, { a: '9' }, {}]) {
    await it.ok('updateProject', { params, body: aBody('projects', undefined, aTagged(tags)) })
    const now = await list()
    assert.deepEqual(
      Object.fromEntries(now.map(({ attributes }) => [attributes.key, attributes.value])),
      tags,
    )
    if ('a' in tags) assert.equal(now[0]?.id, before?.id)
  }
})

test('update: a new duration goes to the workspaces that have no override', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' })
  await aWorkspace(it, id, { id: 'ws-1', latestChangeMs: 1_000 })
  await aWorkspace(it, id, {
    id: 'ws-2',
    inheritsProjectAutoDestroy: false,
    autoDestroyActivityDuration: '9d',
  })
  const body = aBody('projects', { 'auto-destroy-activity-duration': '2h' })
  await it.ok('updateProject', { params: { project_id: id }, body })
  const { workspaces } = it.server.context.store.tables
  const inheriting = workspaces.get('ws-1')
  assert.equal(inheriting.autoDestroyActivityDuration, '2h')
  assert.equal(inheriting.autoDestroyAtMs, 1_000 + 2 * 3_600_000)
  assert.equal(workspaces.get('ws-2').autoDestroyActivityDuration, '9d')
})

// Delete

test('P24, P25 delete: 204, then it is not there', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' }, { a: 'b' })
  const params = { project_id: id }
  await it.done('deleteProject', { params })
  assert.deepEqual(await it.refusal('readProject', { params }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteProject', { params }), NOT_FOUND)
  assert.equal(it.server.context.store.tables.tag_bindings.size, 0)
})

test('P30 delete: a project with workspaces stays, and so does the default project', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' })
  await aWorkspace(it, id, { id: 'ws-1' })
  assert.deepEqual(await it.refusal('deleteProject', { params: { project_id: id } }), [
    422,
    'invalid attribute: Project contains 1 workspace(s); move or delete them first',
  ])
  assert.deepEqual(
    await it.refusal('deleteProject', { params: { project_id: it.defaultProject } }),
    [422, 'unprocessable entity: The default project cannot be deleted.'],
  )
})

test('delete: by force the workspaces go too; who may not force is told so', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' })
  await aWorkspace(it, id, { id: 'ws-1' })
  const team = await it.team('acme', 'admins')
  await giveProject(it, { teamId: team.id, projectId: id }, 'admin')
  const call = { params: { project_id: id }, query: { force: true } }
  assert.deepEqual(await it.refusal('deleteProject', { ...call, as: team.token }), [
    403,
    'forbidden: Not authorized to force-delete the project.',
  ])
  const body = aBody('organizations', { 'allow-force-delete-workspaces': true })
  await it.ok('updateOrganization', { params: ACME, body })
  await it.done('deleteProject', { ...call, as: team.token })
  assert.equal(it.server.context.store.tables.workspaces.size, 0)
})

// Namespaces

test('namespaces: they belong to one project, and leave it', async () => {
  const it = await withAcme()
  const one = { project_id: (await it.project('acme', { name: 'one' })).id }
  const two = { project_id: (await it.project('acme', { name: 'two' })).id }
  const body = { data: [{ type: 'namespaces', id: 'default' }] }
  await it.done('addProjectNamespaces', { params: one, body })
  assert.deepEqual((await it.ok('listProjectNamespaces', { params: one })).data, body.data)
  assert.deepEqual(await it.refusal('addProjectNamespaces', { params: two, body }), [
    422,
    'invalid attribute: Namespace default belongs to another project',
  ])
  const gone = { data: [{ type: 'namespaces', id: 'gone' }] }
  assert.deepEqual(await it.refusal('addProjectNamespaces', { params: two, body: gone }), [
    422,
    'invalid attribute: Namespace gone does not exist',
  ])
  await it.done('removeProjectNamespaces', { params: two, body })
  await it.done('removeProjectNamespaces', { params: one, body })
  assert.deepEqual((await it.ok('listProjectNamespaces', { params: one })).data, [])
})

test('namespaces: they leave with who manages policies, not with who manages projects', async () => {
  const it = await withAcme()
  const { id } = await it.project('acme', { name: 'one' })
  const params = { project_id: id }
  const body = { data: [{ type: 'namespaces', id: 'default' }] }
  await it.done('addProjectNamespaces', { params, body })
  const projects = await it.team('acme', 'projects', { 'manage-projects': true })
  const force = { params, query: { force: true } }
  const allowed = aBody('organizations', { 'allow-force-delete-workspaces': true })
  await it.ok('updateOrganization', { params: ACME, body: allowed })
  const NOT_RELEASED = [
    403,
    'forbidden: Not authorized to take namespaces out of the project: it takes the permission to manage policies',
  ]
  const as = projects.token
  assert.deepEqual(await it.refusal('removeProjectNamespaces', { params, body, as }), NOT_RELEASED)
  assert.deepEqual(await it.refusal('deleteProject', { ...force, as }), NOT_RELEASED)
  assert.deepEqual(await it.refusal('deleteProject', { params, as }), [
    422,
    'invalid attribute: Project contains 1 namespace(s); remove them first',
  ])
  const both = await it.team('acme', 'both', { 'manage-projects': true, 'manage-policies': true })
  await it.done('removeProjectNamespaces', { params, body, as: both.token })
  await it.done('addProjectNamespaces', { params, body })
  await it.done('deleteProject', { ...force, as: both.token })
  assert.equal(it.server.context.store.tables.project_namespaces.size, 0)
})
