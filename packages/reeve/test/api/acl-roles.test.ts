import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { createTestServer, untilParked } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555'
const DENIED = [403, 'Permission denied']

function invalid(...problems: readonly string[]): string {
  return `role 0 invalid: ${formatMultiError(problems)}`
}

/** A secured server with two policies, `a` and `b`. */
async function withPolicies() {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  for (const Name of ['a', 'b'])
    await server.ok('writeAclPolicy', as(root, { params: { policy_name: Name }, body: { Name } }))
  const role = (fields: object = {}) =>
    server.ok(
      'createAclRole',
      as(root, { body: { Name: 'ops', Policies: [{ Name: 'a' }], ...fields } }),
    )
  return { ...secured, role }
}

test('create role: answers the role', async () => {
  const { role } = await withPolicies()
  const Policies = [{ Name: 'a' }, { Name: 'b' }, { Name: 'a' }]
  const { ID, Hash, ...rest } = await role({ Description: 'd', Policies })
  assert.match(ID, /^[0-9a-f-]{36}$/)
  assert.equal(Buffer.from(Hash, 'base64').length, 32)
  assert.deepEqual(rest, {
    Name: 'ops',
    Description: 'd',
    Policies: [{ Name: 'a' }, { Name: 'b' }],
    CreateIndex: 5,
    ModifyIndex: 5,
  })
})

const INVALID = [
  { name: 'a wrong name', fields: { Name: 'a b' }, text: invalid("invalid name 'a b'") },
  { name: 'no name', fields: { Name: null }, text: invalid("invalid name ''") },
  {
    name: 'a long description',
    fields: { Description: 'd'.repeat(257) },
    text: invalid('description longer than 256'),
  },
  {
    name: 'no policies',
    fields: { Policies: [] },
    text: invalid('at least one policy should be specified'),
  },
  {
    name: 'a policy that does not exist',
    fields: { Policies: [{ Name: 'a' }, { Name: 'x' }] },
    text: 'cannot find policy x',
  },
  {
    name: 'an id that does not exist',
    fields: { ID: UNKNOWN_ID },
    text: `cannot find role ${UNKNOWN_ID}`,
  },
]

for (const { name, fields, text } of INVALID)
  test(`create role: ${name} is refused`, async () => {
    const { server, root, as } = await withPolicies()
    const body = { Name: 'ops', Policies: [{ Name: 'a' }], ...fields }
    assert.deepEqual(await server.refusal('createAclRole', as(root, { body })), [400, text])
    assert.equal(server.context.store.tables.acl_roles.size, 0)
  })

test('create role: a name is taken once', async () => {
  const { server, root, as, role } = await withPolicies()
  await role()
  const body = { Name: 'ops', Policies: [{ Name: 'b' }] }
  assert.deepEqual(await server.refusal('createAclRole', as(root, { body })), [
    400,
    'role with name ops already exists',
  ])
})

test('create role: a body is needed', async () => {
  const { server, root, as } = await withPolicies()
  assert.deepEqual(await server.refusal('createAclRole', as(root)), [400, 'Request body is empty'])
})

test('create role: emits the role, which is found by its name too', async () => {
  const { server, role } = await withPolicies()
  const { ID } = await role()
  for await (const commit of server.context.store.log.read(5))
    assert.deepEqual(
      commit.events.map(({ Topic, Type, Key, FilterKeys }) => [Topic, Type, Key, FilterKeys]),
      [['ACLRole', 'ACLRoleUpserted', ID, ['ops']]],
    )
})

test('update role: replaces it, and the tokens that have it change at once', async () => {
  const { server, root, as, role, token } = await withPolicies()
  const params = { policy_name: 'b' }
  const Rules = 'namespace "default" { policy = "read" }'
  await server.ok('writeAclPolicy', as(root, { params, body: { Name: 'b', Rules } }))
  const { ID } = await role()
  const made = await token({ Policies: null, Roles: [{ ID }] })
  const reading = as(made, { params: { namespace_name: 'default' } })
  assert.deepEqual(await server.refusal('readNamespace', reading), DENIED)
  const body = { ID, Name: 'ops', Policies: [{ Name: 'b' }] }
  const changed = await server.ok('updateAclRole', as(root, { params: { role_id: ID }, body }))
  assert.deepEqual([changed.CreateIndex, changed.ModifyIndex], [6, 8])
  await server.ok('readNamespace', reading)
})

test('update role: the id may be left out of the body, the name may stay', async () => {
  const { server, root, as, role } = await withPolicies()
  const { ID } = await role()
  const body = { Name: 'ops', Policies: [{ Name: 'b' }] }
  const changed = await server.ok('updateAclRole', as(root, { params: { role_id: ID }, body }))
  assert.deepEqual([changed.ID, changed.Policies], [ID, [{ Name: 'b' }]])
})

test('update role: another id than in the path is refused', async () => {
  const { server, root, as, role } = await withPolicies()
  const { ID } = await role()
  const body = { ID: UNKNOWN_ID, Name: 'ops', Policies: [{ Name: 'b' }] }
  assert.deepEqual(
    await server.refusal('updateAclRole', as(root, { params: { role_id: ID }, body })),
    [400, 'ACL role ID does not match request path'],
  )
})

test('update role: an unknown role is refused', async () => {
  const { server, root, as } = await withPolicies()
  const body = { Name: 'ops', Policies: [{ Name: 'b' }] }
  assert.deepEqual(
    await server.refusal('updateAclRole', as(root, { params: { role_id: UNKNOWN_ID }, body })),
    [400, `cannot find role ${UNKNOWN_ID}`],
  )
})

test('update role: the name of another role is refused', async () => {
  const { server, root, as, role } = await withPolicies()
  await role()
  const { ID } = await role({ Name: 'dev' })
  const body = { Name: 'ops', Policies: [{ Name: 'b' }] }
  assert.deepEqual(
    await server.refusal('updateAclRole', as(root, { params: { role_id: ID }, body })),
    [400, 'role with name ops already exists'],
  )
})

test('read role: by id and by name', async () => {
  const { server, root, as, role } = await withPolicies()
  const made = await role()
  const byId = as(root, { params: { role_id: made.ID } })
  assert.deepEqual(await server.ok('readAclRole', byId), made)
  assert.equal((await server.call('readAclRole', byId)).index, made.ModifyIndex)
  const byName = as(root, { params: { role_name: 'ops' } })
  assert.deepEqual(await server.ok('readAclRoleByName', byName), made)
})

test('read role: an unknown one is told to management only', async () => {
  const { server, root, as, token } = await withPolicies()
  const made = await token()
  const byId = { params: { role_id: UNKNOWN_ID } }
  const byName = { params: { role_name: 'ops' } }
  const missing = [404, 'ACL role not found']
  assert.deepEqual(await server.refusal('readAclRole', as(root, byId)), missing)
  assert.deepEqual(await server.refusal('readAclRoleByName', as(root, byName)), missing)
  assert.deepEqual(await server.refusal('readAclRole', as(made, byId)), DENIED)
  assert.deepEqual(await server.refusal('readAclRoleByName', as(made, byName)), DENIED)
})

test('read role: a token may read its own and no other', async () => {
  const { server, as, role, token } = await withPolicies()
  const own = await role()
  const other = await role({ Name: 'dev' })
  const made = await token({ Policies: null, Roles: [{ ID: own.ID }] })
  assert.deepEqual(await server.ok('readAclRole', as(made, { params: { role_id: own.ID } })), own)
  await server.ok('readAclRoleByName', as(made, { params: { role_name: 'ops' } }))
  const others = as(made, { params: { role_id: other.ID } })
  assert.deepEqual(await server.refusal('readAclRole', others), DENIED)
  const byName = as(made, { params: { role_name: 'dev' } })
  assert.deepEqual(await server.refusal('readAclRoleByName', byName), DENIED)
})

test('read role: blocks until it changes', async () => {
  const { server, root, as, role } = await withPolicies()
  const { ID } = await role()
  const params = { role_id: ID }
  const waiting = server.call('readAclRole', as(root, { params, query: { index: 5 } }))
  await untilParked()
  await role({ Name: 'dev' })
  const body = { Name: 'ops', Policies: [{ Name: 'b' }] }
  await server.ok('updateAclRole', as(root, { params, body }))
  assert.equal((await waiting).index, 7)
})

test('list roles: management sees all by id, others their own', async () => {
  const { server, root, as, role, token } = await withPolicies()
  const roles = [await role(), await role({ Name: 'dev' }), await role({ Name: 'net' })]
  const ids = roles.map(({ ID }) => ID).toSorted((a, b) => (a < b ? -1 : 1))
  const listed = await server.ok('listAclRoles', as(root))
  assert.deepEqual(
    listed.map(({ ID }) => ID),
    ids,
  )
  const [own] = roles
  const made = await token({ Policies: null, Roles: [{ ID: own?.ID }] })
  assert.deepEqual(await server.ok('listAclRoles', as(made)), [own])
  assert.deepEqual(await server.ok('listAclRoles', as(await token())), [])
  assert.deepEqual(await server.ok('listAclRoles'), [])
})

test('list roles: a prefix selects by id', async () => {
  const { server, root, as, role } = await withPolicies()
  const made = await role()
  const of = (prefix: string) => server.ok('listAclRoles', as(root, { query: { prefix } }))
  assert.deepEqual(await of(made.ID.slice(0, 5)), [made])
  assert.deepEqual(await of('zz'), [])
})

test('list roles: blocks until one changes', async () => {
  const { server, root, as, role } = await withPolicies()
  const waiting = server.call('listAclRoles', as(root, { query: { index: 1 } }))
  await untilParked()
  await role()
  assert.equal((await waiting).index, 5)
})

test('delete role: answers an empty body and is gone', async () => {
  const { server, root, as, role } = await withPolicies()
  const params = { role_id: (await role()).ID }
  const reply = await server.call('deleteAclRole', as(root, { params }))
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 6])
  const missing = [404, 'ACL role not found']
  assert.deepEqual(await server.refusal('readAclRole', as(root, { params })), missing)
  assert.deepEqual(await server.refusal('deleteAclRole', as(root, { params })), missing)
})

const ROUTES = [
  { route: 'createAclRole', options: { body: {} } },
  { route: 'updateAclRole', options: { params: { role_id: UNKNOWN_ID }, body: {} } },
  { route: 'deleteAclRole', options: { params: { role_id: UNKNOWN_ID } } },
] as const

for (const { route, options } of ROUTES)
  test(`${route}: needs management`, async () => {
    const { server, as, client } = await aSecuredServer()
    const strong = await client('namespace "*" { policy = "write" }\noperator { policy = "write" }')
    assert.deepEqual(await server.refusal(route, as(strong, options)), DENIED)
    assert.deepEqual(await server.refusal(route, options), DENIED)
  })

const ALL = [
  'listAclRoles',
  'createAclRole',
  'updateAclRole',
  'readAclRole',
  'readAclRoleByName',
  'deleteAclRole',
] as const

for (const route of ALL)
  test(`${route}: with ACLs off it says so`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const options = { params: { role_id: UNKNOWN_ID, role_name: 'ops' } }
    assert.deepEqual(await server.refusal(route, options), [400, 'ACL support disabled'])
  })
