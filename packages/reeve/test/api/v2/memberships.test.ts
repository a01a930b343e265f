import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'

const ACME = { organization_name: 'acme' }

function seat(id: string) {
  return { organization_membership_id: id }
}

/** An organization that ann owns, and bob who is invited into the team devs. */
async function aWorld() {
  const it = await aGovernanceServer()
  const [ann, bob] = [await it.user('ann'), await it.user('bob')]
  const body = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  await it.created('createOrganization', { body, as: ann.token })
  const devs = await it.team('acme', 'devs', { 'read-projects': true })
  const invite = aBody(
    'organization-memberships',
    { email: 'BOB@example.com' },
    { teams: { data: [{ type: 'teams', id: devs.id }] } },
  )
  const { data, included } = await it.created('createOrganizationMembership', {
    params: ACME,
    body: invite,
    as: ann.token,
  })
  assert.deepEqual(
    included?.map(({ type, id }) => [type, id]),
    [['users', bob.id]],
  )
  return { it, ann, bob, devs, invitation: data }
}

test('T15 invite: an invited user has nothing until it accepts', async () => {
  const { it, bob, devs, invitation } = await aWorld()
  assert.equal(invitation.attributes.status, 'invited')
  assert.deepEqual(invitation.relationships.teams.data, [{ type: 'teams', id: devs.id }])
  const as = bob.token
  assert.deepEqual(await it.refusal('readOrganization', { params: ACME, as }), NOT_FOUND)
  const own = await it.ok('listOwnOrganizationMemberships', { as })
  assert.deepEqual(
    own.data.map(({ id }) => id),
    [invitation.id],
  )
  const params = seat(invitation.id)
  const { data } = await it.ok('acceptOrganizationMembership', { params, as })
  assert.equal(data.attributes.status, 'active')
  assert.equal((await it.ok('listProjects', { params: ACME, as })).data.length, 1)
  const [status] = await it.refusal('acceptOrganizationMembership', { params, as })
  assert.equal(status, 409)
})

test('invite: only the one who was invited accepts', async () => {
  const { it, ann, invitation } = await aWorld()
  const call = { params: seat(invitation.id), as: ann.token }
  assert.deepEqual(await it.refusal('acceptOrganizationMembership', call), NOT_FOUND)
})

test('invite: an address that nobody has gets a user, to whom a token can be given', async () => {
  const { it, ann } = await aWorld()
  const body = aBody('organization-memberships', { email: 'new.one@example.com' })
  const call = { params: ACME, body, as: ann.token }
  const { data } = await it.created('createOrganizationMembership', call)
  const { id } = data.relationships.user.data
  const params = { user_id: id }
  assert.equal((await it.ok('readUser', { params })).data.attributes.username, 'new-one')
  const token = await it.created('createUserToken', {
    params,
    body: aBody('authentication-tokens'),
  })
  const as = token.data.attributes.token
  await it.ok('acceptOrganizationMembership', { params: seat(data.id), as })
  assert.deepEqual(await it.refusal('createOrganizationMembership', call), [
    422,
    'invalid attribute: Email has already been taken',
  ])
})

test('invite: a team that is not there, or not the caller’s to fill, is refused', async () => {
  const { it, ann } = await aWorld()
  await it.organization('other')
  const theirs = await it.team('other', 'theirs')
  for (const id of ['team-gone', theirs.id]) {
    const teams = { teams: { data: [{ type: 'teams', id }] } }
    const body = aBody('organization-memberships', { email: 'x@y.z' }, teams)
    const call = { params: ACME, body, as: ann.token }
    assert.deepEqual(await it.refusal('createOrganizationMembership', call), [
      422,
      `invalid attribute: Team ${id} does not exist`,
    ])
  }
})

test('invite: into a secret team only by those who may know of it', async () => {
  const { it, devs } = await aWorld()
  const { token: as } = await it.team('acme', 'people', { 'manage-membership': true })
  const teams = { teams: { data: [{ type: 'teams', id: devs.id }] } }
  const call = {
    params: ACME,
    body: aBody('organization-memberships', { email: 'x@y.z' }, teams),
  }
  assert.deepEqual(await it.refusal('createOrganizationMembership', { ...call, as }), [
    422,
    `invalid attribute: Team ${devs.id} does not exist`,
  ])
  await it.created('createOrganizationMembership', call)
})

const SEARCHES = [
  { query: {}, finds: ['ann', 'bob'] },
  { query: { q: 'BO' }, finds: ['bob'] },
  { query: { q: 'ann@' }, finds: ['ann'] },
  { query: { 'filter[status]': 'active' }, finds: ['ann'] },
  { query: { 'filter[email]': 'bob@example.com, gone@x.y' }, finds: ['bob'] },
  { query: { 'page[size]': 1, 'page[number]': 2 }, finds: ['bob'] },
]
for (const { query, finds } of SEARCHES)
  test(`list: ${JSON.stringify(query)} finds ${finds.join()}`, async () => {
    const { it, ann } = await aWorld()
    const call = { params: ACME, query: { ...query, include: 'user' }, as: ann.token }
    const { included = [] } = await it.ok('listOrganizationMemberships', call)
    assert.deepEqual(
      included.map(({ attributes }) => attributes?.['username']),
      finds,
    )
  })

test('T15 list: another include is 400 with the words that clients know', async () => {
  const { it } = await aWorld()
  const call = { params: ACME, query: { include: 'everything' } }
  const [status, text = ''] = await it.refusal('listOrganizationMemberships', call)
  assert.equal(status, 400)
  assert.match(text, /include parameter/)
})

test('list: a search by username follows a new username', async () => {
  const { it, bob } = await aWorld()
  const body = aBody('users', { username: 'robert' })
  await it.ok('updateAccount', { body, as: bob.token })
  const find = async (q: string) =>
    (await it.ok('listOrganizationMemberships', { params: ACME, query: { q } })).data.length
  assert.deepEqual([await find('robert'), await find('bobb')], [1, 0])
})

test('read: secret teams are not told through their members', async () => {
  const { it, ann, bob, invitation } = await aWorld()
  await it.ok('acceptOrganizationMembership', { params: seat(invitation.id), as: bob.token })
  const { data } = await it.ok('listOrganizationMemberships', { params: ACME, as: bob.token })
  const teamsOf = data.map(({ relationships }) => relationships.teams.data.length)
  assert.deepEqual(teamsOf, [0, 1])
  const all = await it.ok('listOrganizationMemberships', { params: ACME, as: ann.token })
  assert.deepEqual(
    all.data.map(({ relationships }) => relationships.teams.data.length),
    [1, 1],
  )
})

test('delete: members leave, owners put out, and the last owner stays', async () => {
  const { it, ann, bob, invitation } = await aWorld()
  await it.ok('acceptOrganizationMembership', { params: seat(invitation.id), as: bob.token })
  const { data } = await it.ok('listOrganizationMemberships', { params: ACME })
  const anns = seat(data[0]?.id ?? '')
  assert.deepEqual(
    await it.refusal('deleteOrganizationMembership', { params: anns, as: bob.token }),
    NOT_FOUND,
  )
  assert.deepEqual(
    await it.refusal('deleteOrganizationMembership', { params: anns, as: ann.token }),
    [422, 'unprocessable entity: The user is the last owner of the organization.'],
  )
  await it.done('deleteOrganizationMembership', { params: seat(invitation.id), as: bob.token })
  assert.deepEqual(await it.refusal('readOrganization', { params: ACME, as: bob.token }), NOT_FOUND)
  assert.deepEqual(
    await it.refusal('readOrganizationMembership', { params: seat(invitation.id) }),
    NOT_FOUND,
  )
})
