import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryDisk } from '../../src/storage/index.ts'
import { createTestServer } from './harness.ts'

const SECRET = '2b778dd9-f5f1-6f29-b4b4-9a5fa948757a'

test('bootstrap: returns the initial management token', async () => {
  const server = await createTestServer()
  const { Hash, AccessorID, SecretID, ...token } = await server.ok('bootstrapAcl')
  assert.deepEqual(token, {
    Name: 'Bootstrap Token',
    Type: 'management',
    Policies: null,
    Roles: null,
    Global: true,
    CreateTime: '2026-01-01T00:00:00.000Z',
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 2,
    ModifyIndex: 2,
  })
  assert.match(AccessorID, /^[0-9a-f-]{36}$/)
  assert.match(SecretID, /^[0-9a-f-]{36}$/)
  assert.notEqual(AccessorID, SecretID)
  assert.equal(Buffer.from(Hash, 'base64').length, 32)
})

test('bootstrap: the token works at once', async () => {
  const server = await createTestServer()
  const { SecretID, AccessorID } = await server.ok('bootstrapAcl')
  const [token] = await server.ok('listAclTokens', { token: SecretID })
  assert.equal(token?.AccessorID, AccessorID)
})

test('bootstrap: the answer carries the index of the write', async () => {
  const server = await createTestServer()
  assert.equal((await server.call('bootstrapAcl')).index, 2)
})

test('bootstrap: a given secret becomes that of the token', async () => {
  const server = await createTestServer()
  const { SecretID } = await server.ok('bootstrapAcl', { body: { BootstrapSecret: SECRET } })
  assert.equal(SecretID, SECRET)
  await server.ok('listAclTokens', { token: SECRET })
})

test('bootstrap: an empty secret or an empty object makes one', async () => {
  for (const body of [{}, { BootstrapSecret: '' }, { BootstrapSecret: null }]) {
    const server = await createTestServer()
    assert.match((await server.ok('bootstrapAcl', { body })).SecretID, /^[0-9a-f-]{36}$/)
  }
})

const REFUSED = [
  {
    name: 'a secret that is no UUID',
    body: { BootstrapSecret: 'hunter2' },
    text: /^invalid acl token$/,
  },
  {
    name: 'a UUID without hyphens',
    body: { BootstrapSecret: SECRET.replaceAll('-', '') },
    text: /^invalid acl token$/,
  },
  { name: 'a body that is no JSON', body: 'secret', text: /^failed to decode request body: ./ },
  {
    name: 'a secret that is no text',
    body: { BootstrapSecret: 7 },
    text: /^failed to decode request body: json: cannot unmarshal number/,
  },
]

for (const { name, body, text } of REFUSED)
  test(`bootstrap: ${name} is refused and nothing is done`, async () => {
    const server = await createTestServer()
    const [status, message] = await server.refusal('bootstrapAcl', { body })
    assert.equal(status, 400)
    assert.match(message, text)
    await server.ok('bootstrapAcl')
  })

test('bootstrap: works once', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl')
  assert.deepEqual(await server.refusal('bootstrapAcl'), [
    400,
    'ACL bootstrap already done (reset index: 2)',
  ])
})

test('bootstrap: of two calls at the same time one succeeds', async () => {
  const server = await createTestServer()
  const replies = await Promise.all([server.call('bootstrapAcl'), server.call('bootstrapAcl')])
  assert.equal(replies.filter((reply) => reply.status === 200).length, 1)
  assert.equal(replies.filter((reply) => reply.status === 400).length, 1)
})

test('bootstrap: a token header does not matter, known or not', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl', { token: SECRET })
})

test('bootstrap: the right number in the reset file allows another one, once', async () => {
  const server = await createTestServer()
  const first = await server.ok('bootstrapAcl')
  server.resetFile = '2\n'
  const second = await server.ok('bootstrapAcl')
  assert.notEqual(second.AccessorID, first.AccessorID)
  assert.deepEqual(await server.refusal('bootstrapAcl'), [
    400,
    'Invalid bootstrap reset index (specified 2, reset index: 3)',
  ])
  const tokens = await server.ok('listAclTokens', { token: first.SecretID })
  assert.equal(tokens.length, 2, 'existing tokens stay')
})

test('bootstrap: of two resets at the same time one succeeds', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl')
  server.resetFile = '2'
  const replies = await Promise.all([server.call('bootstrapAcl'), server.call('bootstrapAcl')])
  assert.equal(replies.filter((reply) => reply.status === 200).length, 1)
  assert.equal(replies.filter((reply) => reply.status === 400).length, 1)
})

test('bootstrap: another number, or no number, in the reset file is refused', async () => {
  for (const text of ['7', 'two', '2x', '-2']) {
    const server = await createTestServer()
    await server.ok('bootstrapAcl')
    server.resetFile = text
    assert.deepEqual(await server.refusal('bootstrapAcl'), [
      400,
      `Invalid bootstrap reset index (specified ${text}, reset index: 2)`,
    ])
  }
})

test('bootstrap: an empty reset file counts as none', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl')
  server.resetFile = '\n'
  assert.deepEqual(await server.refusal('bootstrapAcl'), [
    400,
    'ACL bootstrap already done (reset index: 2)',
  ])
})

test('bootstrap: a reset cannot take the secret of another token', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl', { body: { BootstrapSecret: SECRET } })
  server.resetFile = '2'
  assert.deepEqual(await server.refusal('bootstrapAcl', { body: { BootstrapSecret: SECRET } }), [
    400,
    'invalid acl token',
  ])
})

test('bootstrap: it is known after a restart that it was done', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ disk })
  const { SecretID } = await before.ok('bootstrapAcl')
  await before.close()
  const after = await createTestServer({ disk })
  assert.equal((await after.refusal('bootstrapAcl'))[0], 400)
  assert.equal((await after.ok('readOwnAclToken', { token: SecretID })).SecretID, SecretID)
})

test('bootstrap: the secret is not in the storage, in no form that can be read', async () => {
  const disk = new MemoryDisk()
  const server = await createTestServer({ disk })
  const { SecretID } = await server.ok('bootstrapAcl')
  await server.close()
  const texts = [...disk.rows.values()].map((row) => row.text)
  const log = disk.entries(1, disk.lastIndex).map((entry) => entry.text)
  assert.equal([...texts, ...log].join('\n').includes(SecretID), false)
})

test('bootstrap: emits that a token was written, without its secret', async () => {
  const server = await createTestServer()
  const { AccessorID, SecretID } = await server.ok('bootstrapAcl')
  const events: unknown[] = []
  for await (const commit of server.context.store.log.read(2)) events.push(...commit.events)
  assert.deepEqual(events, [
    {
      Topic: 'ACLToken',
      Type: 'ACLTokenUpserted',
      Key: AccessorID,
      Namespace: '',
      FilterKeys: null,
      row: 0,
    },
  ])
  assert.equal(JSON.stringify(events).includes(SecretID), false)
})

test('bootstrap: PUT does the same', async () => {
  const server = await createTestServer()
  await server.ok('bootstrapAcl', { method: 'PUT' })
})

test('bootstrap: other methods are refused', async () => {
  const server = await createTestServer()
  assert.deepEqual(await server.refusal('bootstrapAcl', { method: 'GET' }), [405, 'Invalid method'])
})

test('bootstrap: with ACLs off there is nothing to bootstrap', async () => {
  const server = await createTestServer({ aclEnabled: false })
  assert.deepEqual(await server.refusal('bootstrapAcl'), [400, 'ACL support disabled'])
})
