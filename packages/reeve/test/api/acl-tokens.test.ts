import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestServer, untilParked } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555'

function params(token: { readonly AccessorID: string }) {
  return { accessor_id: token.AccessorID }
}

test('read token: management reads any token with its secret', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  const reply = await server.call('readAclToken', as(root, { params: params(made) }))
  assert.deepEqual([reply.status, reply.body, reply.index], [200, made, made.ModifyIndex])
})

test('read token: the holder of the secret reads its own, in any case of its id', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token()
  assert.deepEqual(await server.ok('readAclToken', as(made, { params: params(made) })), made)
  const accessor_id = made.AccessorID.toUpperCase()
  assert.deepEqual(await server.ok('readAclToken', as(made, { params: { accessor_id } })), made)
})

test('read token: an unknown one is told to management only', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const unknown = { params: { accessor_id: UNKNOWN_ID } }
  assert.deepEqual(await server.refusal('readAclToken', as(root, unknown)), [
    404,
    'ACL token not found',
  ])
  assert.deepEqual(await server.refusal('readAclToken', as(await token(), unknown)), [
    403,
    'Permission denied',
  ])
})

test("read token: another's token is refused", async () => {
  const { server, root, as, token } = await aSecuredServer()
  const path = { params: params(root) }
  assert.equal((await server.refusal('readAclToken', as(await token(), path)))[0], 403)
  assert.equal((await server.refusal('readAclToken', path))[0], 403)
  assert.equal(
    (await server.refusal('readAclToken', { params: { accessor_id: 'anonymous' } }))[0],
    403,
  )
})

test('read token: an accessor that is no UUID is refused', async () => {
  const { server, root, as } = await aSecuredServer()
  const path = { params: { accessor_id: 'abc' } }
  assert.deepEqual(await server.refusal('readAclToken', as(root, path)), [
    400,
    'acl token lookup failed: UUID must be 36 characters',
  ])
})

test('read token: a 404 carries the index to wait with', async () => {
  const { server, root, as } = await aSecuredServer()
  const reply = await server.call('readAclToken', as(root, { params: { accessor_id: UNKNOWN_ID } }))
  assert.equal(reply.index, 2)
})

test('read token: blocks until the token changes', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  let answered = 0
  const waiting = server
    .call('readAclToken', as(root, { params: params(made), query: { index: made.ModifyIndex } }))
    .then((reply) => {
      answered++
      return reply
    })
  await untilParked()
  await token({ Name: 'another' })
  assert.equal(answered, 0, 'another token does not concern it')
  const body = { ...made, Name: 'changed' }
  await server.ok('updateAclToken', as(root, { params: params(made), body }))
  const reply = await waiting
  assert.equal(reply.index, 5)
  assert.equal(JSON.parse(reply.text).Name, 'changed')
})

test('read token: at the deadline the token is answered unchanged', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  const query = { index: made.ModifyIndex, wait: '10s' }
  const waiting = server.call('readAclToken', as(root, { params: params(made), query }))
  await untilParked()
  server.clock.advance(10_000)
  assert.deepEqual((await waiting).body, made)
})

// Self

test('read self: the token of the header, with its secret', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token()
  assert.deepEqual(await server.ok('readOwnAclToken', as(made)), made)
})

test('read self: a bearer token is as good as the header', async () => {
  const { server, token } = await aSecuredServer()
  const made = await token()
  const headers = { authorization: `bearer ${made.SecretID}` }
  assert.deepEqual(await server.ok('readOwnAclToken', { headers }), made)
})

test('read self: without a token it is the anonymous one', async () => {
  const { server } = await aSecuredServer()
  const { Hash: _hash, ...token } = await server.ok('readOwnAclToken')
  assert.deepEqual(token, {
    AccessorID: 'anonymous',
    SecretID: '',
    Name: 'Anonymous Token',
    Type: 'client',
    Policies: ['anonymous'],
    Roles: null,
    Global: false,
    CreateTime: '0001-01-01T00:00:00Z',
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  })
})

test('read self: an unknown secret is refused', async () => {
  const { server } = await aSecuredServer()
  for (const token of [UNKNOWN_ID, 'x', "' or 1=1"])
    assert.deepEqual(await server.refusal('readOwnAclToken', { token }), [403, 'Permission denied'])
})

// Delete

test('delete token: it stops working at once', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  const reply = await server.call('deleteAclToken', as(root, { params: params(made) }))
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 4])
  assert.equal((await server.refusal('readOwnAclToken', as(made)))[0], 403)
})

test('delete token: an unknown one is refused', async () => {
  const { server, root, as } = await aSecuredServer()
  for (const accessor_id of [UNKNOWN_ID, 'abc'])
    assert.deepEqual(
      await server.refusal('deleteAclToken', as(root, { params: { accessor_id } })),
      [400, `Cannot delete nonexistent tokens: ${accessor_id}`],
    )
})

test("delete token: the caller's own may be deleted", async () => {
  const { server, root, as } = await aSecuredServer()
  await server.ok('deleteAclToken', as(root, { params: params(root) }))
  assert.equal((await server.refusal('listAclTokens', as(root)))[0], 403)
})

test('delete token: emits the token as it was, without its secret', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  await server.ok('deleteAclToken', as(root, { params: params(made) }))
  for await (const commit of server.context.store.log.read(4)) {
    assert.deepEqual(
      commit.events.map(({ Type, Key }) => [Type, Key]),
      [['ACLTokenDeleted', made.AccessorID]],
    )
    assert.equal(JSON.stringify(commit).includes(made.SecretID), false)
  }
})

// Who may

const MANAGEMENT_ONLY = [
  { route: 'listAclTokens', options: {} },
  { route: 'createAclToken', options: { body: { Type: 'management' } } },
  { route: 'updateAclToken', options: { params: { accessor_id: UNKNOWN_ID }, body: {} } },
  { route: 'deleteAclToken', options: { params: { accessor_id: UNKNOWN_ID } } },
] as const

for (const { route, options } of MANAGEMENT_ONLY)
  test(`${route}: needs management`, async () => {
    const { server, as, client } = await aSecuredServer()
    const strong = await client(
      'namespace "*" { policy = "write" }\nnode { policy = "write" }\n' +
        'agent { policy = "write" }\noperator { policy = "write" }',
    )
    const denied = [403, 'Permission denied']
    assert.deepEqual(await server.refusal(route, as(strong, options)), denied)
    assert.deepEqual(await server.refusal(route, options), denied)
    assert.deepEqual(await server.refusal(route, { ...options, token: UNKNOWN_ID }), denied)
  })

test('who may not write is not told what is wrong with the body', async () => {
  const { server } = await aSecuredServer()
  assert.equal((await server.refusal('createAclToken', { body: '{' }))[0], 403)
})

const TOKEN_ROUTES = [
  'listAclTokens',
  'createAclToken',
  'updateAclToken',
  'readAclToken',
  'readOwnAclToken',
  'deleteAclToken',
  'createOneTimeToken',
  'exchangeOneTimeToken',
] as const

for (const route of TOKEN_ROUTES)
  test(`${route}: with ACLs off it says so`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const options = { params: { accessor_id: UNKNOWN_ID }, body: {} }
    assert.deepEqual(await server.refusal(route, options), [400, 'ACL support disabled'])
  })

test('storage: a failed write is answered 503 and the token does not exist', async () => {
  const { server, root, as } = await aSecuredServer()
  server.engine.faultInjector.fillDisk()
  const body = { Type: 'client', Policies: ['p'] }
  const reply = await server.send('POST', '/v1/acl/token', as(root, { body }))
  assert.equal(reply.status, 503)
  const { body: tokens } = await server.send('GET', '/v1/acl/tokens', as(root))
  assert.deepEqual(Array.isArray(tokens) && tokens.length, 1)
})
