import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'

const ACME = { organization_name: 'acme' }

async function withAcme() {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  const body = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  await it.created('createOrganization', { body, as: ann.token })
  return { ...it, ann }
}

test('T2 create: secret, without access, and members manage its tokens', async () => {
  const it = await withAcme()
  const { data } = await it.created('createTeam', {
    params: ACME,
    body: aBody('teams', { name: 'devs' }),
  })
  const { attributes } = data
  assert.deepEqual(
    [attributes.visibility, attributes['allow-member-token-management'], attributes['users-count']],
    ['secret', true, 0],
  )
  assert.ok(Object.values(attributes['organization-access']).every((held) => !held))
  const params = { team_id: data.id }
  assert.deepEqual(await it.ok('readTeam', { params }), { data })
  await it.done('deleteTeam', { params })
  assert.deepEqual(await it.refusal('readTeam', { params }), NOT_FOUND)
})

const ACCESSES = [
  { given: { 'manage-workspaces': true }, holds: ['manage-workspaces', 'read-workspaces'] },
  {
    given: { 'manage-projects': true },
    holds: ['manage-projects', 'manage-workspaces', 'read-workspaces'],
  },
  { given: { 'read-projects': true }, holds: ['read-projects', 'read-workspaces'] },
  { given: { 'manage-teams': true }, holds: ['manage-membership', 'manage-teams'] },
  {
    given: { 'manage-organization-access': true },
    holds: ['manage-membership', 'manage-organization-access', 'manage-teams'],
  },
  { given: { 'manage-policies': true, 'read-policies': false }, holds: ['manage-policies'] },
]
for (const { given, holds } of ACCESSES)
  test(`T3 access: ${JSON.stringify(given)} holds ${holds.join()}`, async () => {
    const it = await withAcme()
    const { id } = await it.team('acme', 'devs')
    const body = aBody('teams', { 'organization-access': given })
    const { data } = await it.ok('updateTeam', { params: { team_id: id }, body })
    const held = Object.entries(data.attributes['organization-access'])
    assert.deepEqual(held.flatMap(([name, value]) => (value ? [name] : [])).toSorted(), holds)
  })

test('T3 access: what is not named stays, and what is needed cannot be refused', async () => {
  const it = await withAcme()
  const { id } = await it.team('acme', 'devs', { 'manage-policies': true })
  const params = { team_id: id }
  const add = aBody('teams', { 'organization-access': { 'manage-projects': true } })
  const { data } = await it.ok('updateTeam', { params, body: add })
  assert.equal(data.attributes['organization-access']['manage-policies'], true)
  const body = aBody('teams', { 'organization-access': { 'manage-workspaces': false } })
  assert.deepEqual(await it.refusal('updateTeam', { params, body }), [
    422,
    'invalid attribute: Organization access manage-workspaces is needed by manage-projects',
  ])
})

test('T1 list: owners first, then by name; searched and filtered; secret ones only for members', async () => {
  const it = await withAcme()
  const devs = await it.team('acme', 'devs')
  await it.team('acme', 'Apes')
  const names = async (query: Record<string, string | number>, as?: string) => {
    const call = { params: ACME, query, ...(as === undefined ? {} : { as }) }
    const { data, meta } = await it.ok('listTeams', call)
    assert.equal(meta.pagination['page-size'], 20)
    return data.map(({ attributes }) => attributes.name)
  }
  assert.deepEqual(await names({}), ['owners', 'Apes', 'devs'])
  assert.deepEqual(await names({ q: 'EV' }), ['devs'])
  assert.deepEqual(await names({ 'filter[names]': 'apes,OWNERS' }), ['owners', 'Apes'])
  assert.deepEqual(await names({}, devs.token), ['devs'])
  const open = aBody('teams', { visibility: 'organization' })
  await it.ok('updateTeam', { params: { team_id: devs.id }, body: open })
  const other = await it.team('acme', 'other')
  assert.deepEqual(await names({}, other.token), ['devs', 'other'])
})

test('owners: its name, access and existence are fixed', async () => {
  const it = await withAcme()
  const { data } = await it.ok('listTeams', { params: ACME })
  const params = { team_id: data[0]?.id ?? '' }
  const access = (value: boolean) => ({ 'organization-access': { 'manage-projects': value } })
  for (const attributes of [{ name: 'lords' }, access(false)]) {
    const [status] = await it.refusal('updateTeam', { params, body: aBody('teams', attributes) })
    assert.equal(status, 422)
  }
  // What it is anyway may be said.
  await it.ok('updateTeam', { params, body: aBody('teams', { name: 'owners', ...access(true) }) })
  assert.equal((await it.refusal('deleteTeam', { params }))[0], 422)
})

test('names: unique in the organization, case ignored', async () => {
  const it = await withAcme()
  await it.team('acme', 'devs')
  const body = aBody('teams', { name: 'DEVS' })
  assert.deepEqual(await it.refusal('createTeam', { params: ACME, body }), [
    422,
    'invalid attribute: Name has already been taken',
  ])
  await it.organization('other')
  await it.team('other', 'devs')
})

test('T4 members: by username, user id or membership', async () => {
  const it = await withAcme()
  const { id } = await it.team('acme', 'devs')
  const params = { team_id: id }
  const { data: seats } = await it.ok('listOrganizationMemberships', { params: ACME })
  const ways = [
    ['addTeamUsers', 'removeTeamUsers', 'users', 'ANN'],
    ['addTeamUsers', 'removeTeamUsers', 'users', it.ann.id],
    ['addTeamMemberships', 'removeTeamMemberships', 'organization-memberships', seats[0]?.id ?? ''],
  ] as const
  for (const [add, take, type, member] of ways) {
    const body = { data: [{ type, id: member }] }
    await it.done(add, { params, body })
    await it.done(add, { params, body })
    const query = { include: 'users,organization_memberships' }
    const { data, included = [] } = await it.ok('readTeam', { params, query })
    assert.equal(data.attributes['users-count'], 1)
    assert.deepEqual(
      included.map((one) => one.type),
      ['users', 'organization-memberships'],
    )
    await it.done(take, { params, body })
    assert.equal((await it.ok('readTeam', { params })).data.attributes['users-count'], 0)
  }
})

test('members: who is not in the organization is refused, and nobody is added', async () => {
  const it = await withAcme()
  await it.user('eve')
  const { id } = await it.team('acme', 'devs')
  const params = { team_id: id }
  const users = { data: ['ann', 'eve'].map((one) => ({ type: 'users', id: one })) }
  assert.deepEqual(await it.refusal('addTeamUsers', { params, body: users }), [
    400,
    'bad request: User eve does not exist',
  ])
  const seats = { data: [{ type: 'organization-memberships', id: 'ou-gone' }] }
  assert.equal((await it.refusal('addTeamMemberships', { params, body: seats }))[0], 422)
  assert.equal((await it.ok('readTeam', { params })).data.attributes['users-count'], 0)
})

test('members: the last owner cannot leave the owners team', async () => {
  const it = await withAcme()
  const { data } = await it.ok('listTeams', { params: ACME })
  const params = { team_id: data[0]?.id ?? '' }
  const body = { data: [{ type: 'users', id: 'ann' }] }
  assert.deepEqual(await it.refusal('removeTeamUsers', { params, body }), [
    422,
    'unprocessable entity: The last owner cannot leave the owners team.',
  ])
})

test('rights: who manages teams may not hand out access, and never touches the owners', async () => {
  const it = await withAcme()
  const { token: as } = await it.team('acme', 'chiefs', { 'manage-teams': true })
  const made = await it.created('createTeam', {
    params: ACME,
    body: aBody('teams', { name: 'devs' }),
    as,
  })
  assert.deepEqual(made.data.attributes.permissions, {
    'can-update-membership': true,
    'can-destroy': true,
    'can-update-organization-access': false,
    'can-update-api-token': true,
    'can-update-visibility': true,
    'can-view-api-token': true,
  })
  const access = aBody('teams', { 'organization-access': { 'manage-projects': true } })
  const params = { team_id: made.data.id }
  assert.deepEqual(await it.refusal('updateTeam', { params, body: access, as }), [
    422,
    'invalid attribute: Organization access cannot be given by you',
  ])
  const { data } = await it.ok('listTeams', { params: ACME, as })
  const owners = { team_id: data[0]?.id ?? '' }
  const body = { data: [{ type: 'users', id: 'ann' }] }
  for (const route of ['addTeamUsers', 'removeTeamUsers'] as const)
    assert.deepEqual(await it.refusal(route, { params: owners, body, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('createSingleTeamToken', { params: owners, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteTeam', { params: owners, as }), NOT_FOUND)
})

test('team names: spaces are allowed inside, not at the ends', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await it.team('acme', 'foo bar')
  const params = { team_id: id }
  const { data } = await it.ok('updateTeam', { params, body: aBody('teams', { name: 'bar baz' }) })
  assert.equal(data.attributes.name, 'bar baz')
  const [status] = await it.refusal('updateTeam', { params, body: aBody('teams', { name: ' x' }) })
  assert.equal(status, 422)
})
