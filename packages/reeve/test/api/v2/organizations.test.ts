import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'

function named(name: string) {
  return { organization_name: name }
}

test('O1 list: without a page every organization is there, as it was created', async () => {
  const it = await aGovernanceServer()
  const acme = await it.organization('acme')
  const zeta = await it.organization('zeta')
  const list = await it.ok('listOrganizations')
  assert.deepEqual(list, { data: [acme, zeta] })
})

const SEARCHES = [
  { query: { q: 'CME' }, finds: ['acme'] },
  { query: { q: 'zeta@example' }, finds: ['zeta'] },
  { query: { 'q[name]': 'zet' }, finds: ['zeta'] },
  { query: { 'q[email]': 'acme@' }, finds: ['acme'] },
  { query: { q: 'acme', 'q[name]': 'zeta' }, finds: ['acme'] },
  { query: { q: 'nobody' }, finds: [] },
]
for (const { query, finds } of SEARCHES)
  test(`O2 list: ${JSON.stringify(query)} finds ${finds.join() || 'nothing'}`, async () => {
    const it = await aGovernanceServer()
    await it.organization('acme')
    await it.organization('zeta')
    const { data } = await it.ok('listOrganizations', { query })
    assert.deepEqual(
      data.map(({ id }) => id),
      finds,
    )
  })

test('O3 create: settings have their defaults and the entitlement set is included', async () => {
  const it = await aGovernanceServer()
  const body = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  const { data, included } = await it.created('createOrganization', { body })
  assert.equal(data.attributes['default-execution-mode'], 'remote')
  assert.equal(data.attributes['user-tokens-enabled'], true)
  assert.equal(data.relationships['entitlement-set'].data.id, included?.[0]?.id)
})

const BAD_CREATES = [
  { attributes: { name: 'acme' }, says: ["invalid attribute: Email can't be blank"] },
  { attributes: { email: 'a@b.c' }, says: ["invalid attribute: Name can't be blank"] },
  {
    attributes: { name: 'a b/c', email: 'a@b.c' },
    says: ['invalid attribute: Name may only contain letters, numbers, - and _'],
  },
  {
    attributes: { name: 'taken', email: 'nope' },
    says: ['invalid attribute: Email is not an email address'],
  },
  {
    attributes: { name: 'TAKEN', email: 'a@b.c' },
    says: ['invalid attribute: Name has already been taken'],
  },
]
for (const { attributes, says } of BAD_CREATES)
  test(`O4 create: ${JSON.stringify(attributes)} is refused`, async () => {
    const it = await aGovernanceServer()
    await it.organization('taken')
    const body = aBody('organizations', attributes)
    assert.deepEqual(await it.refusal('createOrganization', { body }), [422, ...says])
  })

test('O5, O6 read: what was created, and 404 for what is not there', async () => {
  const it = await aGovernanceServer()
  const acme = await it.organization('acme')
  assert.deepEqual(await it.ok('readOrganization', { params: named('acme') }), { data: acme })
  assert.deepEqual(await it.refusal('readOrganization', { params: named('gone') }), NOT_FOUND)
})

test('O7 read: the default project can be included', async () => {
  const it = await aGovernanceServer()
  const acme = await it.organization('acme')
  const { included = [] } = await it.ok('readOrganization', {
    params: named('acme'),
    query: { include: 'default-project,entitlement_set' },
  })
  const project = included.find(({ type }) => type === 'projects')
  assert.equal(project?.id, acme.relationships['default-project'].data.id)
  assert.equal(project.attributes?.['name'], 'Default Project')
  const wrong = { params: named('acme'), query: { include: 'teams' } }
  const [status, text = ''] = await it.refusal('readOrganization', wrong)
  assert.equal(status, 400)
  assert.match(text, /include parameter/)
})

test('O8 update: only what is named changes, and a new name is a new path', async () => {
  const it = await aGovernanceServer()
  const acme = await it.organization('acme')
  const { data } = await it.ok('updateOrganization', {
    params: named('acme'),
    body: aBody('organizations', { name: 'acme2' }),
  })
  assert.equal(data.id, 'acme2')
  assert.equal(data.attributes.email, acme.attributes.email)
  assert.equal(data.attributes['external-id'], acme.attributes['external-id'])
  assert.deepEqual(await it.ok('readOrganization', { params: named('acme2') }), { data })
  assert.deepEqual(await it.refusal('readOrganization', { params: named('acme') }), NOT_FOUND)
})

test('O8 update: a body that names another organization is a conflict', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const body = { data: { type: 'organizations', id: 'other', attributes: {} } }
  const [status] = await it.refusal('updateOrganization', { params: named('acme'), body })
  assert.equal(status, 409)
})

test('O9 update: an organization may refuse the tokens of users', async () => {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  const body = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  await it.created('createOrganization', { body, as: ann.token })
  const params = named('acme')
  const { data: teams } = await it.ok('listTeams', { params, as: ann.token })
  const owners = teams[0]?.id ?? ''
  const { data: token } = await it.created('createSingleTeamToken', {
    params: { team_id: owners },
    as: ann.token,
  })
  const off = aBody('organizations', { 'user-tokens-enabled': false })
  const as = token.attributes.token
  const { data } = await it.ok('updateOrganization', { params, body: off, as })
  assert.equal(data.attributes['user-tokens-enabled'], false)
  const [status] = await it.refusal('readOrganization', { params, as: ann.token })
  assert.equal(status, 401)
  assert.deepEqual((await it.ok('listOrganizations', { as: ann.token })).data, [])
  assert.equal((await it.ok('readOrganization', { params, as })).data.id, 'acme')
})

test('O10 update: a pool needs the agent mode, and there are none', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const pool = { 'default-agent-pool': { data: { type: 'agent-pools', id: 'apool-1' } } }
  const cases = [
    { attributes: {}, relationships: pool, says: 'must not be specified unless using' },
    {
      attributes: { 'default-execution-mode': 'agent' },
      relationships: undefined,
      says: 'must be specified when using',
    },
  ]
  for (const { attributes, relationships, says } of cases) {
    const body = aBody('organizations', attributes, relationships)
    const [status, text = ''] = await it.refusal('updateOrganization', {
      params: named('acme'),
      body,
    })
    assert.equal(status, 422)
    assert.ok(text.includes(`${says} 'agent' execution mode`), text)
  }
})

test('O11 delete: everything in it goes with it', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const team = await it.team('acme', 'devs', { 'manage-projects': true })
  await it.project('acme', { name: 'one' }, { a: 'b' })
  const { tables } = it.server.context.store
  await it.done('deleteOrganization', { params: named('acme') })
  assert.deepEqual(await it.refusal('readOrganization', { params: named('acme') }), NOT_FOUND)
  const left = [tables.projects, tables.teams, tables.tag_bindings, tables.api_tokens]
  assert.deepEqual(
    left.map(({ size }) => size),
    [0, 0, 0, 0],
  )
  const [status] = await it.refusal('readAccount', { as: team.token })
  assert.equal(status, 401)
})

test('O12 entitlements: all are held and nothing is limited', async () => {
  const it = await aGovernanceServer()
  const acme = await it.organization('acme')
  const { data } = await it.ok('readEntitlementSet', { params: named('acme') })
  assert.equal(data.id, acme.attributes['external-id'])
  assert.equal(data.attributes['policy-enforcement'], true)
  assert.equal(data.attributes['policy-limit'], null)
  assert.deepEqual(await it.refusal('readEntitlementSet', { params: named('gone') }), NOT_FOUND)
})

test('O13 update: whether workspaces may be deleted by force is kept both ways', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  for (const value of [true, false]) {
    const body = aBody('organizations', { 'allow-force-delete-workspaces': value })
    const { data } = await it.ok('updateOrganization', { params: named('acme'), body })
    assert.equal(data.attributes['allow-force-delete-workspaces'], value)
  }
})

test('O14 teams: a new organization has exactly its owners team', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const query = { 'filter[names]': 'owners' }
  const { data } = await it.ok('listTeams', { params: named('acme'), query })
  assert.deepEqual(
    data.map(({ attributes }) => attributes.name),
    ['owners'],
  )
})

test('organizations: a stranger sees none of them', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { token: as } = await it.user('eve')
  const params = named('acme')
  assert.deepEqual((await it.ok('listOrganizations', { as })).data, [])
  for (const route of [
    'readOrganization',
    'readEntitlementSet',
    'listTeams',
    'listProjects',
  ] as const)
    assert.deepEqual(await it.refusal(route, { params, as }), NOT_FOUND)
  // What is wrong with the body is not told either.
  const body = aBody('organizations', { name: '!' })
  assert.deepEqual(await it.refusal('updateOrganization', { params, as, body }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteOrganization', { params, as }), NOT_FOUND)
})

test('organizations: the organization token may change but not delete it', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const params = named('acme')
  const { data } = await it.created('createOrganizationToken', { params })
  const as = data.attributes.token
  const shown = await it.ok('readOrganization', { params, as })
  assert.equal(shown.data.attributes.permissions['can-update'], true)
  assert.equal(shown.data.attributes.permissions['can-destroy'], false)
  assert.deepEqual(await it.refusal('deleteOrganization', { params, as }), NOT_FOUND)
})

test('list: what a token may not read is not counted', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  await it.organization('zeta')
  const params = named('acme')
  const audit = await it.created('createOrganizationToken', {
    params,
    query: { token: 'audit-trails' },
  })
  const attributes = { username: 'root', email: 'root@example.com', 'is-admin': true }
  const { data: root } = await it.created('createUser', { body: aBody('users', attributes) })
  const own = await it.created('createUserToken', {
    params: { user_id: root.id },
    body: aBody('authentication-tokens'),
  })
  const off = aBody('organizations', { 'user-tokens-enabled': false })
  await it.ok('updateOrganization', { params, body: off })
  const seen = async (as: string, more: object = {}) => {
    const query = { 'page[size]': 1, ...more }
    const { data, meta } = await it.ok('listOrganizations', { as, query })
    return [data.map(({ id }) => id), meta?.pagination['total-count']]
  }
  assert.deepEqual(await seen(audit.data.attributes.token), [[], 0])
  assert.deepEqual(await seen(own.data.attributes.token), [['zeta'], 1])
  assert.deepEqual(await seen(own.data.attributes.token, { 'q[name]': 'a' }), [['zeta'], 1])
  assert.deepEqual(await seen(it.root), [['acme'], 2])
})
