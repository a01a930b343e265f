import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'

const ACME = { organization_name: 'acme' }

test('account: the management token is the site administrator', async () => {
  const it = await aGovernanceServer()
  const { data } = await it.ok('readAccount')
  assert.equal(data.attributes['is-admin'], true)
  assert.equal(data.attributes.permissions['can-create-organizations'], true)
  assert.equal(data.links['auth-token'], null)
})

test('account: a user, a team token and an organization token say whom they stand for', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const ann = await it.user('ann')
  const team = await it.team('acme', 'devs')
  const made = await it.created('createOrganizationToken', { params: ACME })
  const cases = [
    { as: ann.token, type: 'users', id: ann.id, isService: false },
    { as: team.token, type: 'teams', id: team.id, isService: true },
    { as: made.data.attributes.token, type: 'organizations', id: 'acme', isService: true },
  ]
  for (const { as, type, id, isService } of cases) {
    const { data } = await it.ok('readAccount', { as })
    assert.deepEqual(data.relationships['authenticated-resource'].data, { type, id })
    assert.equal(data.attributes['is-service-account'], isService)
    assert.equal(data.attributes['is-admin'], false)
    assert.equal(data.attributes.permissions['can-create-organizations'], !isService)
    // The link leads to the token in use.
    const path = data.links['auth-token'] ?? ''
    const token = await it.ok('readAuthenticationToken', {
      params: { token_id: path.split('/').at(-1) ?? '' },
    })
    assert.equal(token.data.attributes.token, null)
  }
})

test('account: a user changes its name and address, and nobody else does', async () => {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  await it.user('bob')
  const change = (attributes: object, as?: string) => ({
    body: aBody('users', attributes),
    ...(as === undefined ? {} : { as }),
  })
  const { data } = await it.ok('updateAccount', change({ username: 'anna' }, ann.token))
  assert.deepEqual([data.attributes.username, data.attributes.email], ['anna', 'ann@example.com'])
  assert.deepEqual(await it.refusal('updateAccount', change({ username: 'BOB' }, ann.token)), [
    422,
    'invalid attribute: Username has already been taken',
  ])
  assert.deepEqual(await it.refusal('updateAccount', change({ email: 'x' }, ann.token)), [
    422,
    'invalid attribute: Email is not an email address',
  ])
  assert.deepEqual(await it.refusal('updateAccount', change({ username: 'root' })), NOT_FOUND)
})

test('users: the site administrator makes, lists and deletes them', async () => {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  await it.user('bob')
  const { data, meta } = await it.ok('listUsers', { query: { q: 'ANN@' } })
  assert.deepEqual([data.map(({ id }) => id), meta.pagination['total-count']], [[ann.id], 1])
  const body = aBody('users', { username: 'Ann', email: 'BOB@example.com' })
  assert.deepEqual(await it.refusal('createUser', { body }), [
    422,
    'invalid attribute: Username has already been taken',
    'invalid attribute: Email has already been taken',
  ])
  await it.done('deleteUser', { params: { user_id: ann.id } })
  assert.equal((await it.refusal('readAccount', { as: ann.token }))[0], 401)
  assert.deepEqual(await it.refusal('deleteUser', { params: { user_id: ann.id } }), NOT_FOUND)
})

test('users: nobody else may', async () => {
  const it = await aGovernanceServer()
  const { id, token: as } = await it.user('ann')
  assert.deepEqual(await it.refusal('listUsers', { as }), NOT_FOUND)
  const body = aBody('users', {})
  assert.deepEqual(await it.refusal('createUser', { body, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteUser', { params: { user_id: id }, as }), NOT_FOUND)
})

test('users: one that is an administrator may do what the management token may', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const body = aBody('users', { username: 'boss', email: 'b@o.ss', 'is-admin': true })
  const { data } = await it.created('createUser', { body })
  const token = await it.created('createUserToken', {
    params: { user_id: data.id },
    body: aBody('authentication-tokens'),
  })
  const as = token.data.attributes.token
  assert.equal((await it.ok('readOrganization', { params: ACME, as })).data.id, 'acme')
  await it.ok('listUsers', { as })
})

test('users: shown to those who share an organization', async () => {
  const it = await aGovernanceServer()
  const [ann, bob] = [await it.user('ann'), await it.user('bob')]
  const params = { user_id: ann.id }
  assert.deepEqual(await it.refusal('readUser', { params, as: bob.token }), NOT_FOUND)
  assert.equal((await it.ok('readUser', { params, as: ann.token })).data.id, ann.id)
  const make = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  await it.created('createOrganization', { body: make, as: ann.token })
  const invite = aBody('organization-memberships', { email: 'bob@example.com' })
  const { data } = await it.created('createOrganizationMembership', {
    params: ACME,
    body: invite,
    as: ann.token,
  })
  assert.deepEqual(await it.refusal('readUser', { params, as: bob.token }), NOT_FOUND)
  const seat = { organization_membership_id: data.id }
  await it.ok('acceptOrganizationMembership', { params: seat, as: bob.token })
  const { data: shown } = await it.ok('readUser', { params, as: bob.token })
  assert.deepEqual(shown.attributes, {
    username: 'ann',
    'is-service-account': false,
    'avatar-url': null,
  })
})

test('users: the last owner of an organization cannot be deleted', async () => {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  const body = aBody('organizations', { name: 'acme', email: 'a@b.c' })
  await it.created('createOrganization', { body, as: ann.token })
  assert.deepEqual(await it.refusal('deleteUser', { params: { user_id: ann.id } }), [
    422,
    'unprocessable entity: The user is the last owner of acme.',
  ])
})

const RESERVED = ['administrator', 'Administrator', 'api-org-acme', 'API-team_1111111111111111']
test('users: nobody is called as the server calls others', async () => {
  const it = await aGovernanceServer()
  const ann = await it.user('ann')
  for (const username of RESERVED) {
    const refused = [422, 'invalid attribute: Username is reserved']
    const rename = { body: aBody('users', { username }), as: ann.token }
    assert.deepEqual(await it.refusal('updateAccount', rename), refused)
    const body = aBody('users', { username, email: 'new@example.com' })
    assert.deepEqual(await it.refusal('createUser', { body }), refused)
  }
  await it.organization('acme')
  const { data } = await it.created('createOrganizationMembership', {
    params: ACME,
    body: aBody('organization-memberships', { email: 'administrator@example.com' }),
  })
  const { id } = data.relationships.user.data
  const invited = await it.ok('readUser', { params: { user_id: id } })
  assert.equal(invited.data.attributes.username, id.replace('user-', 'administrator-'))
})
