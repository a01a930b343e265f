import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { schemaErrors } from '../../build/schema-errors.ts'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'

const acme = { organization_name: 'acme' }

async function trail(it: GovernanceServer, query = {}, as: string = it.root) {
  const { data } = await it.ok('listAuditTrail', { params: acme, query, as })
  return data.map(({ attributes }) => attributes)
}

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return it
}

test('trail: a write is recorded with who, when, from where and what', async () => {
  const it = await aWorld()
  const maker = await it.team('acme', 'makers', { 'manage-projects': true })
  const { data } = await it.created('createProject', {
    params: acme,
    body: aBody('projects', { name: 'Web' }),
    as: maker.token,
    headers: { 'x-request-id': 'mine-2' },
  })
  const [entry] = await trail(it)
  const { 'token-id': tokenId, ...rest } = entry ?? assert.fail('no entry')
  assert.match(tokenId, /^at-/)
  assert.deepEqual(rest, {
    timestamp: new Date(it.server.clock.nowMs()).toISOString(),
    'actor-type': 'team',
    'actor-id': maker.id.replace('team-', 'user-'),
    'actor-name': maker.id.replace('team-', 'api-team_'),
    address: '127.0.0.1',
    'request-id': 'mine-2',
    method: 'POST',
    route: '/api/v2/organizations/:organization_name/projects',
    action: 'createProject',
    resources: ['acme', data.id],
    status: 201,
  })
})

test('trail: a management token is the same actor on both APIs', async () => {
  const it = await aWorld()
  const [record] = await it.server.ok('listAuditRecords', { token: it.root })
  assert.equal(record?.Action, 'createOrganization')
  const [bootstrap] = [...it.server.context.store.tables.acl_tokens.rows()]
  assert.equal(record.Actor.ID, bootstrap?.AccessorID)
})

test('trail: a write that changes nothing is not recorded', async () => {
  const it = await aWorld()
  const { id } = await it.project('acme', { name: 'Web' })
  const before = (await trail(it)).length
  const body = aBody('projects', { name: 'Web' })
  await it.ok('updateProject', { params: { project_id: id }, body })
  await it.ok('readProject', { params: { project_id: id } })
  assert.equal((await trail(it)).length, before)
})

test("trail: a refusal of a member is in it, that of a stranger only in the site's", async () => {
  const it = await aWorld()
  const member = await it.team('acme', 'readers')
  const stranger = await it.user('eve')
  const body = aBody('projects', { name: 'Web' })
  await it.refusal('createProject', { params: acme, body, as: member.token })
  await it.refusal('createProject', { params: acme, body, as: stranger.token })
  const refused = (await trail(it)).filter(({ status }) => status === 404)
  assert.deepEqual(
    refused.map((entry) => entry['actor-type']),
    ['team'],
  )
  const site = await it.server.ok('listAuditRecords', {
    token: it.root,
    query: { actor: stranger.id },
  })
  assert.deepEqual(
    site.map(({ Action, Status, OrganizationID }) => [Action, Status, OrganizationID]),
    [['createProject', 404, '']],
  )
})

test('trail: of another organization nothing is in it', async () => {
  const it = await aWorld()
  await it.organization('other')
  await it.project('other', { name: 'Theirs' })
  assert.deepEqual(
    (await trail(it)).map(({ action }) => action),
    ['createOrganization'],
  )
})

test('trail: filters and pages', async () => {
  const it = await aWorld()
  const first = await it.project('acme', { name: 'One' })
  it.server.clock.advance(60_000)
  const since = new Date(it.server.clock.nowMs()).toISOString()
  await it.project('acme', { name: 'Two' })
  const count = async (query: object) => (await trail(it, query)).length
  assert.equal(await count({ 'filter[resource]': first.id }), 1)
  assert.equal(await count({ 'filter[action]': 'createProject' }), 2)
  assert.equal(await count({ 'filter[action]': 'createProject', since }), 1)
  assert.equal(await count({ until: since }), 2)
  assert.equal(await count({ 'filter[actor]': 'nobody' }), 0)
  const page = await it.ok('listAuditTrail', {
    params: acme,
    query: { 'page[number]': 2, 'page[size]': 2 },
  })
  assert.equal(page.data[0]?.attributes.action, 'createOrganization')
  assert.deepEqual(page.meta.pagination, {
    'current-page': 2,
    'page-size': 2,
    'prev-page': 1,
    'next-page': null,
    'total-pages': 2,
    'total-count': 3,
  })
})

test('trail: a time that is none is refused', async () => {
  const it = await aWorld()
  const [status] = await it.refusal('listAuditTrail', { params: acme, query: { since: 'then' } })
  assert.equal(status, 400)
})

test('trail: owners and the organization token read it, others do not find it', async () => {
  const it = await aWorld()
  const token = await it.created('createOrganizationToken', { params: acme })
  assert.ok((await trail(it, {}, token.data.attributes.token)).length > 0)
  const manager = await it.team('acme', 'managers', { 'manage-projects': true })
  const stranger = await it.user('eve')
  for (const as of [manager.token, stranger.token])
    assert.deepEqual(await it.refusal('listAuditTrail', { params: acme, as }), NOT_FOUND)
})

test('audit events: an audit trail token reads its organization in the flat form', async () => {
  const it = await aWorld()
  const made = await it.project('acme', { name: 'Web' })
  const stranger = await it.team('acme', 'readers')
  await it.refusal('createProject', {
    params: acme,
    body: aBody('projects', { name: 'Two' }),
    as: stranger.token,
  })
  const query = { token: 'audit-trails' }
  const token = await it.created('createOrganizationToken', { params: acme, query })
  const read = async (as: string, search = '') => {
    const headers = { authorization: `Bearer ${as}` }
    return await it.server.send('GET', `/api/v2/organization/audit-trail${search}`, { headers })
  }
  const { status, text, headers } = await read(token.data.attributes.token, '?page[size]=100')
  assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
  const page: unknown = JSON.parse(text)
  assert.deepEqual(schemaErrors(v2.AuditEventPage, page), [])
  // Held against the schema in the line above.
  const { data, pagination } = page as v2.AuditEventPage
  const project = data.find(({ resource }) => resource.type === 'project')
  assert.deepEqual(project?.resource, {
    id: made.id,
    type: 'project',
    action: 'create',
    meta: null,
  })
  assert.equal(project.auth.type, 'Client')
  // The refused creation is not in it.
  assert.equal(data.filter(({ resource }) => resource.type === 'project').length, 1)
  assert.deepEqual(
    [pagination.current_page, pagination.next_page, pagination.total_count],
    [1, null, data.length],
  )
  const first: unknown = JSON.parse((await read(token.data.attributes.token, '?page[size]=1')).text)
  assert.partialDeepStrictEqual(first, {
    pagination: { prev_page: null, next_page: 2, total_pages: data.length },
  })
  assert.equal((await read(it.root)).status, 404)
  assert.equal((await read(stranger.token)).status, 404)
})
