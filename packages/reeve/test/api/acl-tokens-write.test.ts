import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AclToken } from '@reeve/contract'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { aSecuredServer, type SecuredServer } from './secured.ts'

const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555'
const OTHER_ID = '99999999-2222-4333-8444-555555555555'

function params(token: { readonly AccessorID: string }) {
  return { accessor_id: token.AccessorID }
}

function invalid(...problems: readonly string[]): string {
  return `token 0 invalid: ${formatMultiError(problems)}`
}

test('create token: answers the token with its secret', async () => {
  const { server, root, as } = await aSecuredServer()
  const body = { Name: 'ci', Type: 'client', Policies: ['reader', 'writer'] }
  const { AccessorID, SecretID, Hash, ...token } = await server.ok(
    'createAclToken',
    as(root, { body }),
  )
  assert.deepEqual(token, {
    ...body,
    Roles: null,
    Global: false,
    CreateTime: '2026-01-01T00:00:00.000Z',
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 3,
    ModifyIndex: 3,
  })
  assert.match(AccessorID, /^[0-9a-f-]{36}$/)
  assert.match(SecretID, /^[0-9a-f-]{36}$/)
  assert.equal(Buffer.from(Hash, 'base64').length, 32)
})

test('create token: the token authenticates at once', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token()
  const self = await server.ok('readOwnAclToken', as(made))
  assert.deepEqual(self, made)
})

test('create token: a management token has all rights', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token({ Type: 'management', Policies: [] })
  await server.ok('listAclTokens', as(made))
})

test('create token: policies need not exist, and start to work when they do', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token({ Policies: ['later'] })
  const reading = as(made, { params: { namespace_name: 'default' } })
  assert.equal((await server.refusal('readNamespace', reading))[0], 403)
  const body = { Name: 'later', Rules: 'namespace "default" { policy = "read" }' }
  await server.ok('writeAclPolicy', as(root, { params: { policy_name: 'later' }, body }))
  await server.ok('readNamespace', reading)
})

test('create token: field names are taken in any case, unknown ones are ignored', async () => {
  const { server, root, as } = await aSecuredServer()
  const body = { name: 'ci', TYPE: 'client', policies: ['p'], Unknown: { deep: 1 } }
  assert.equal((await server.ok('createAclToken', as(root, { body }))).Name, 'ci')
})

test('create token: a global token says so', async () => {
  const { token } = await aSecuredServer()
  assert.equal((await token({ Global: true })).Global, true)
})

test('create token: PUT does the same', async () => {
  const { server, root, as } = await aSecuredServer()
  const body = { Type: 'client', Policies: ['p'] }
  await server.ok('createAclToken', as(root, { body, method: 'PUT' }))
})

test('create token: the answer carries the index of the write', async () => {
  const { server, root, as } = await aSecuredServer()
  const body = { Type: 'client', Policies: ['p'] }
  const reply = await server.call('createAclToken', as(root, { body }))
  assert.equal(reply.index, 3)
})

const INVALID_TOKENS = [
  { name: 'no body', body: undefined, text: 'Request body is empty' },
  {
    name: 'no type',
    body: { Policies: ['p'] },
    text: invalid('token type must be client or management'),
  },
  {
    name: 'an unknown type',
    body: { Type: 'root' },
    text: invalid('token type must be client or management'),
  },
  {
    name: 'a client token without policies',
    body: { Type: 'client' },
    text: invalid('client token missing policies or roles'),
  },
  {
    name: 'a client token with empty policies',
    body: { Type: 'client', Policies: [], Roles: [] },
    text: invalid('client token missing policies or roles'),
  },
  {
    name: 'a management token with policies',
    body: { Type: 'management', Policies: ['p'] },
    text: invalid('management token cannot be associated with policies or roles'),
  },
  {
    name: 'a long name',
    body: { Name: 'n'.repeat(257), Type: 'management' },
    text: invalid('token name too long'),
  },
  {
    name: 'a lifetime that is no duration',
    body: { Type: 'management', ExpirationTTL: 'soon' },
    text: 'time: invalid duration "soon"',
  },
  {
    name: 'a negative lifetime',
    body: { Type: 'management', ExpirationTTL: '-1h' },
    text: invalid(
      "token expiration TTL '-1h0m0s' should not be negative",
      'expiration time cannot be before create time',
      'expiration time cannot be less than 1m0s in the future (was -1h0m0s)',
    ),
  },
  {
    name: 'a lifetime below a minute',
    body: { Type: 'management', ExpirationTTL: '30s' },
    text: invalid('expiration time cannot be less than 1m0s in the future (was 30s)'),
  },
  {
    name: 'a lifetime above a day',
    body: { Type: 'management', ExpirationTTL: '25h' },
    text: invalid('expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)'),
  },
  {
    name: 'an expiry above a day',
    body: { Type: 'management', ExpirationTime: '2026-01-03T00:00:00Z' },
    text: invalid('expiration time cannot be more than 24h0m0s in the future (was 48h0m0s)'),
  },
  {
    name: 'an expiry that is no time',
    body: { Type: 'management', ExpirationTime: 'tomorrow' },
    text: 'parsing time "tomorrow": expiration times are written as RFC 3339',
  },
  {
    name: 'a role that does not exist',
    body: { Type: 'client', Roles: [{ Name: 'ops' }] },
    text: 'cannot find role ops',
  },
  {
    name: 'a role id that does not exist',
    body: { Type: 'client', Roles: [{ ID: UNKNOWN_ID, Name: 'ops' }] },
    text: `cannot find role ${UNKNOWN_ID}`,
  },
  {
    name: 'a role link without id and name',
    body: { Type: 'client', Roles: [{}] },
    text: 'cannot find role ',
  },
  {
    name: 'an accessor that does not exist',
    body: { AccessorID: UNKNOWN_ID, Type: 'client', Policies: ['p'] },
    text: `cannot find token ${UNKNOWN_ID}`,
  },
  {
    name: 'a management token from elsewhere',
    body: { AccessorID: UNKNOWN_ID, SecretID: OTHER_ID, Type: 'management' },
    text: `cannot find token ${UNKNOWN_ID}`,
  },
  {
    name: 'a token from elsewhere with a secret that is no UUID',
    body: { AccessorID: UNKNOWN_ID, SecretID: 'x', Type: 'client', Policies: ['p'] },
    text: `cannot find token ${UNKNOWN_ID}`,
  },
]

for (const { name, body, text } of INVALID_TOKENS)
  test(`create token: ${name} is refused and nothing is stored`, async () => {
    const { server, root, as } = await aSecuredServer()
    const before = server.context.store.index
    assert.deepEqual(await server.refusal('createAclToken', as(root, { body })), [400, text])
    assert.equal(server.context.store.index, before)
  })

const WRONG_SHAPES = [
  { name: 'no JSON', body: '{"Type"', text: /./ },
  { name: 'a list', body: [], text: /^json: cannot unmarshal array/ },
  {
    name: 'a name that is a number',
    body: { Name: 1 },
    text: /^json: cannot unmarshal number into field Name/,
  },
  {
    name: 'policies that are no list',
    body: { Policies: 'p' },
    text: /^json: cannot unmarshal string into field Policies/,
  },
]

for (const { name, body, text } of WRONG_SHAPES)
  test(`create token: ${name} is refused`, async () => {
    const { server, root, as } = await aSecuredServer()
    const [status, message] = await server.refusal('createAclToken', as(root, { body }))
    assert.equal(status, 400)
    assert.match(message, text)
  })

test('create token: a token from elsewhere keeps its ids', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token({ AccessorID: UNKNOWN_ID, SecretID: OTHER_ID })
  assert.deepEqual([made.AccessorID, made.SecretID], [UNKNOWN_ID, OTHER_ID])
  await server.ok('readOwnAclToken', { token: OTHER_ID })
  const body = { AccessorID: OTHER_ID, SecretID: OTHER_ID, Type: 'client', Policies: ['p'] }
  assert.deepEqual(await server.refusal('createAclToken', as(root, { body })), [
    400,
    'another token has this secret',
  ])
})

// Lifetime

test('lifetime: a duration, nanoseconds or a time set the expiry', async () => {
  const { token } = await aSecuredServer()
  const cases = [
    { fields: { ExpirationTTL: '8h' }, ttl: '8h0m0s' },
    { fields: { ExpirationTTL: 28_800_000_000_000 }, ttl: '8h0m0s' },
    { fields: { ExpirationTime: '2026-01-01T08:00:00Z' }, ttl: '' },
  ]
  for (const { fields, ttl } of cases) {
    const made = await token(fields)
    assert.equal(made.ExpirationTime, '2026-01-01T08:00:00.000Z')
    assert.equal(made.ExpirationTTL, ttl)
  }
})

test('lifetime: an expired token is refused, and only its own routes say why', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token({ Type: 'management', Policies: null, ExpirationTTL: '1h' })
  await server.ok('listAclTokens', as(made))
  server.clock.advance(3_600_000)
  assert.deepEqual(await server.refusal('listAclTokens', as(made)), [403, 'Permission denied'])
  const expired = [403, 'ACL token expired']
  assert.deepEqual(await server.refusal('readOwnAclToken', as(made)), expired)
  assert.deepEqual(
    await server.refusal('readAclToken', as(made, { params: params(made) })),
    expired,
  )
})

// Update

async function updated(secured: SecuredServer, token: AclToken, fields: object) {
  const { server, root, as } = secured
  const body = { AccessorID: token.AccessorID, Type: 'client', Policies: ['p'], ...fields }
  return server.call('updateAclToken', as(root, { params: params(token), body }))
}

test('update token: replaces name, type, policies and roles; keeps the rest', async () => {
  const secured = await aSecuredServer()
  const made = await secured.token({ Name: 'old', Policies: ['a'], ExpirationTTL: '1h' })
  secured.server.clock.advance(1_000)
  const { status } = await updated(secured, made, { Name: 'new', Policies: ['b'] })
  assert.equal(status, 200)
  const now = await secured.server.ok('readOwnAclToken', secured.as(made))
  const { Hash, ...rest } = now
  assert.notEqual(Hash, made.Hash)
  const { Hash: _hash, ...before } = made
  assert.deepEqual(rest, { ...before, Name: 'new', Policies: ['b'], ModifyIndex: 4 })
})

test('update token: what the request leaves out is emptied', async () => {
  const secured = await aSecuredServer()
  const made = await secured.token({ Name: 'old' })
  await updated(secured, made, {})
  assert.equal((await secured.server.ok('readOwnAclToken', secured.as(made))).Name, '')
})

test('update token: the type may change', async () => {
  const secured = await aSecuredServer()
  const made = await secured.token()
  await updated(secured, made, { Type: 'management', Policies: null })
  await secured.server.ok('listAclTokens', secured.as(made))
})

test('update token: rights change at once', async () => {
  const secured = await aSecuredServer()
  const made = await secured.client('namespace "default" { policy = "read" }')
  const reading = secured.as(made, { params: { namespace_name: 'default' } })
  await secured.server.ok('readNamespace', reading)
  await updated(secured, made, { Policies: ['nothing'] })
  assert.equal((await secured.server.refusal('readNamespace', reading))[0], 403)
})

const REFUSED_UPDATES = [
  {
    name: 'becoming global',
    made: {},
    change: { Global: true },
    text: invalid('cannot toggle global mode'),
  },
  {
    name: 'becoming local',
    made: { Global: true },
    change: { Global: false },
    text: invalid('cannot toggle global mode'),
  },
  {
    name: 'another lifetime',
    made: { ExpirationTTL: '1h' },
    change: { ExpirationTTL: '2h' },
    text: invalid('cannot update expiration TTL'),
  },
  {
    name: 'a lifetime where there was none',
    made: {},
    change: { ExpirationTTL: '2h' },
    text: invalid('cannot update expiration TTL'),
  },
  {
    name: 'another expiry',
    made: {},
    change: { ExpirationTime: '2026-01-01T09:00:00Z' },
    text: invalid('cannot update expiration time'),
  },
  {
    name: 'no type',
    made: {},
    change: { Type: null },
    text: invalid('token type must be client or management'),
  },
  {
    name: 'no policies',
    made: {},
    change: { Policies: [] },
    text: invalid('client token missing policies or roles'),
  },
  {
    name: 'another accessor',
    made: {},
    change: { AccessorID: UNKNOWN_ID },
    text: 'ACL token accessor does not match request path',
  },
  {
    name: 'no accessor',
    made: {},
    change: { AccessorID: null },
    text: 'ACL token accessor does not match request path',
  },
]

for (const { name, made, change, text } of REFUSED_UPDATES)
  test(`update token: ${name} is refused`, async () => {
    const secured = await aSecuredServer()
    const reply = await updated(secured, await secured.token(made), change)
    assert.deepEqual([reply.status, reply.text], [400, text])
  })

test('update token: a lifetime that is repeated or left out is no change', async () => {
  const secured = await aSecuredServer()
  const made = await secured.token({ ExpirationTTL: '1h', Global: true })
  for (const change of [
    {},
    { ExpirationTTL: '1h' },
    { ExpirationTTL: '60m', Global: true },
    { ExpirationTime: made.ExpirationTime },
  ])
    assert.equal((await updated(secured, made, change)).status, 200)
})

test('update token: an unknown accessor is refused', async () => {
  const secured = await aSecuredServer()
  const made = await secured.token()
  const reply = await updated(secured, { ...made, AccessorID: UNKNOWN_ID }, {})
  assert.deepEqual([reply.status, reply.text], [400, `cannot find token ${UNKNOWN_ID}`])
})

test('update token: without an accessor in the path it says so', async () => {
  const { server, root, as } = await aSecuredServer()
  const path = { params: { accessor_id: '' } }
  const wanted = [400, 'Missing Token Accessor']
  assert.deepEqual(await server.refusal('updateAclToken', as(root, { ...path, body: {} })), wanted)
  assert.deepEqual(await server.refusal('readAclToken', as(root, path)), wanted)
  assert.deepEqual(await server.refusal('deleteAclToken', as(root, path)), wanted)
})

// Roles of a token

async function withRole(secured: SecuredServer) {
  const { server, root, as } = secured
  const body = { Name: 'p', Rules: 'namespace "default" { policy = "read" }' }
  await server.ok('writeAclPolicy', as(root, { params: { policy_name: 'p' }, body }))
  return server.ok('createAclRole', as(root, { body: { Name: 'ops', Policies: [{ Name: 'p' }] } }))
}

test('roles of a token: linked by id or by name, each once, shown with their name', async () => {
  const secured = await aSecuredServer()
  const role = await withRole(secured)
  const Roles = [{ Name: 'ops' }, { ID: role.ID }, { ID: role.ID, Name: 'other' }]
  const made = await secured.token({ Policies: null, Roles })
  assert.deepEqual(made.Roles, [{ ID: role.ID, Name: 'ops' }])
  await secured.server.ok(
    'readNamespace',
    secured.as(made, { params: { namespace_name: 'default' } }),
  )
})

test('roles of a token: a renamed role is shown with its new name', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  const role = await withRole(secured)
  const made = await secured.token({ Policies: null, Roles: [{ ID: role.ID }] })
  const body = { Name: 'operators', Policies: [{ Name: 'p' }] }
  await server.ok('updateAclRole', as(root, { params: { role_id: role.ID }, body }))
  const self = await server.ok('readOwnAclToken', as(made))
  assert.deepEqual(self.Roles, [{ ID: role.ID, Name: 'operators' }])
})

test('roles of a token: a deleted role is not shown and grants nothing', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  const role = await withRole(secured)
  const made = await secured.token({ Policies: null, Roles: [{ ID: role.ID }] })
  await server.ok('deleteAclRole', as(root, { params: { role_id: role.ID } }))
  assert.deepEqual((await server.ok('readOwnAclToken', as(made))).Roles, [])
  const reading = as(made, { params: { namespace_name: 'default' } })
  assert.equal((await server.refusal('readNamespace', reading))[0], 403)
  const stub = (await server.ok('listAclTokens', as(root))).find(
    (one) => one.AccessorID === made.AccessorID,
  )
  assert.deepEqual(stub?.Roles, [])
})
