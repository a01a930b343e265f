import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryDisk } from '../../src/storage/index.ts'
import { createTestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555'
const DENIED = [403, 'Permission denied']

function exchangeOf(secret: string) {
  return { body: { OneTimeSecretID: secret } }
}

test('one-time token: is made for the token of the header', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token()
  const { OneTimeToken, Index } = await server.ok('createOneTimeToken', as(made))
  const { OneTimeSecretID, ...rest } = OneTimeToken
  assert.deepEqual(rest, {
    AccessorID: made.AccessorID,
    ExpiresAt: '2026-01-01T00:10:00.000Z',
    CreateIndex: 4,
    ModifyIndex: 4,
  })
  assert.equal(Index, 4)
  assert.match(OneTimeSecretID, /^[0-9a-f-]{36}$/)
  assert.notEqual(OneTimeSecretID, made.SecretID)
})

test('one-time token: a management token may make one too', async () => {
  const { server, root, as } = await aSecuredServer()
  await server.ok('createOneTimeToken', as(root))
})

test('one-time token: without the header it is refused', async () => {
  const { server } = await aSecuredServer()
  assert.deepEqual(await server.refusal('createOneTimeToken'), DENIED)
})

test('one-time token: an unknown or expired token is refused', async () => {
  const { server, as, token } = await aSecuredServer()
  assert.deepEqual(await server.refusal('createOneTimeToken', { token: UNKNOWN_ID }), DENIED)
  const made = await token({ ExpirationTTL: '1m' })
  server.clock.advance(60_000)
  assert.deepEqual(await server.refusal('createOneTimeToken', as(made)), DENIED)
})

test('one-time token: it is no token itself', async () => {
  const { server, root, as } = await aSecuredServer()
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(root))
  const token = OneTimeToken.OneTimeSecretID
  assert.deepEqual(await server.refusal('listAclTokens', { token }), DENIED)
})

test('exchange: returns the token that made it, with its secret and hash', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token({ Name: 'browser' })
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(made))
  const answer = await server.ok('exchangeOneTimeToken', exchangeOf(OneTimeToken.OneTimeSecretID))
  assert.deepEqual(answer, { Token: made, Index: 5 })
})

test('exchange: a stale token header does not matter', async () => {
  const { server, root, as } = await aSecuredServer()
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(root))
  const call = { ...exchangeOf(OneTimeToken.OneTimeSecretID), token: UNKNOWN_ID }
  assert.deepEqual((await server.ok('exchangeOneTimeToken', call)).Token, root)
})

test('exchange: works once', async () => {
  const { server, root, as } = await aSecuredServer()
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(root))
  const call = exchangeOf(OneTimeToken.OneTimeSecretID)
  await server.ok('exchangeOneTimeToken', call)
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', call), DENIED)
})

test('exchange: of two at the same time one succeeds', async () => {
  const { server, root, as } = await aSecuredServer()
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(root))
  const call = exchangeOf(OneTimeToken.OneTimeSecretID)
  const replies = await Promise.all([
    server.call('exchangeOneTimeToken', call),
    server.call('exchangeOneTimeToken', call),
  ])
  assert.equal(replies.filter((reply) => reply.status === 200).length, 1)
})

test('exchange: a new one-time token makes the old one void', async () => {
  const { server, root, as } = await aSecuredServer()
  const first = (await server.ok('createOneTimeToken', as(root))).OneTimeToken
  const second = (await server.ok('createOneTimeToken', as(root))).OneTimeToken
  assert.equal(second.CreateIndex, first.CreateIndex + 1)
  const old = exchangeOf(first.OneTimeSecretID)
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', old), DENIED)
  await server.ok('exchangeOneTimeToken', exchangeOf(second.OneTimeSecretID))
})

test('exchange: one-time tokens of different tokens do not touch each other', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const first = (await server.ok('createOneTimeToken', as(root))).OneTimeToken
  await server.ok('createOneTimeToken', as(await token()))
  await server.ok('exchangeOneTimeToken', exchangeOf(first.OneTimeSecretID))
})

test('exchange: works for ten minutes', async () => {
  const { server, root, as } = await aSecuredServer()
  const call = exchangeOf(
    (await server.ok('createOneTimeToken', as(root))).OneTimeToken.OneTimeSecretID,
  )
  server.clock.advance(10 * 60_000)
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', call), DENIED)
  const next = exchangeOf(
    (await server.ok('createOneTimeToken', as(root))).OneTimeToken.OneTimeSecretID,
  )
  server.clock.advance(10 * 60_000 - 1)
  await server.ok('exchangeOneTimeToken', next)
})

test('exchange: the owner must still be there', async () => {
  const { server, root, as, token } = await aSecuredServer()
  const made = await token()
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(made))
  await server.ok('deleteAclToken', as(root, { params: { accessor_id: made.AccessorID } }))
  const call = exchangeOf(OneTimeToken.OneTimeSecretID)
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', call), DENIED)
  assert.equal(server.context.store.tables.one_time_tokens.size, 0)
})

test('exchange: the owner must not be expired', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token({ ExpirationTTL: '1m' })
  const { OneTimeToken } = await server.ok('createOneTimeToken', as(made))
  server.clock.advance(60_000)
  const call = exchangeOf(OneTimeToken.OneTimeSecretID)
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', call), DENIED)
})

const WRONG = [
  { name: 'an unknown id', body: { OneTimeSecretID: UNKNOWN_ID }, wanted: DENIED },
  { name: 'an id that is no UUID', body: { OneTimeSecretID: 'x' }, wanted: DENIED },
  {
    name: 'an empty id',
    body: { OneTimeSecretID: '' },
    wanted: [400, 'one-time token lookup failed: missing secret'],
  },
  { name: 'no id', body: {}, wanted: [400, 'one-time token lookup failed: missing secret'] },
  { name: 'no body', body: undefined, wanted: [400, 'Request body is empty'] },
]

for (const { name, body, wanted } of WRONG)
  test(`exchange: ${name} is refused`, async () => {
    const { server, root, as } = await aSecuredServer()
    await server.ok('createOneTimeToken', as(root))
    assert.deepEqual(await server.refusal('exchangeOneTimeToken', { body }), wanted)
  })

test('exchange: the secret of the token itself is no one-time secret', async () => {
  const { server, root, as } = await aSecuredServer()
  await server.ok('createOneTimeToken', as(root))
  assert.deepEqual(await server.refusal('exchangeOneTimeToken', exchangeOf(root.SecretID)), DENIED)
})

test('one-time tokens: survive a restart and emit nothing', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ disk })
  const root = await before.ok('bootstrapAcl')
  const { OneTimeToken } = await before.ok('createOneTimeToken', { token: root.SecretID })
  for await (const commit of before.context.store.log.read(3)) assert.deepEqual(commit.events, [])
  await before.close()
  const after = await createTestServer({ disk })
  const answer = await after.ok('exchangeOneTimeToken', exchangeOf(OneTimeToken.OneTimeSecretID))
  assert.equal(answer.Token.SecretID, root.SecretID)
})
