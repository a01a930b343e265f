import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AclToken } from '@reeve/contract'
import { untilParked } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** The end of ids that a test chooses. */
const REST = '-2222-4333-8444-555555555555'

/** Three tokens beside the bootstrap token; ids are not in order of creation. */
async function aList() {
  const secured = await aSecuredServer()
  const tokens = [
    await secured.token({ Name: 'one' }),
    await secured.token({ Name: 'two', Global: true }),
    await secured.token({ Name: 'three' }),
  ]
  const list = async (query: Readonly<Record<string, string | number | boolean>> = {}) =>
    secured.server.call('listAclTokens', secured.as(secured.root, { query }))
  const names = async (query = {}) => namesOf((await list(query)).text)
  return { ...secured, tokens: [secured.root, ...tokens], list, names }
}

function namesOf(text: string): readonly string[] {
  // The harness held it against the schema of a list of tokens.
  return (JSON.parse(text) as readonly { readonly Name: string }[]).map((token) => token.Name)
}

function byAccessor(tokens: readonly AclToken[]): readonly string[] {
  return tokens.toSorted((a, b) => (a.AccessorID < b.AccessorID ? -1 : 1)).map((one) => one.Name)
}

test('list tokens: oldest first, without their secrets', async () => {
  const { list, names, tokens } = await aList()
  assert.deepEqual(await names(), ['Bootstrap Token', 'one', 'two', 'three'])
  const { text } = await list()
  for (const token of tokens) assert.equal(text.includes(token.SecretID), false)
  assert.equal(text.includes('SecretID'), false)
})

test('list tokens: a stub has the fields of its token', async () => {
  const { list, tokens } = await aList()
  const stubs: unknown = (await list()).body
  const wanted = tokens.map(({ SecretID: _secret, ExpirationTTL: _ttl, ...stub }) => stub)
  assert.deepEqual(stubs, wanted)
})

test('list tokens: reverse walks from the newest', async () => {
  const { names } = await aList()
  assert.deepEqual(await names({ reverse: true }), ['three', 'two', 'one', 'Bootstrap Token'])
  assert.deepEqual(await names({ reverse: 'yes' }), ['Bootstrap Token', 'one', 'two', 'three'])
})

test('list tokens: a page starts with its token and names the next', async () => {
  const { list } = await aList()
  const first = await list({ per_page: 3 })
  assert.deepEqual(namesOf(first.text), ['Bootstrap Token', 'one', 'two'])
  assert.match(first.nextToken ?? '', /^5\.[0-9a-f-]{36}$/)
  const last = await list({ per_page: 3, next_token: first.nextToken ?? '' })
  assert.deepEqual(namesOf(last.text), ['three'])
  assert.equal(last.nextToken, undefined)
})

test('list tokens: pages in reverse', async () => {
  const { list } = await aList()
  const first = await list({ per_page: 2, reverse: true })
  assert.deepEqual(namesOf(first.text), ['three', 'two'])
  const last = await list({ per_page: 2, reverse: true, next_token: first.nextToken ?? '' })
  assert.deepEqual(namesOf(last.text), ['one', 'Bootstrap Token'])
})

test('list tokens: a page begins after a token that is gone', async () => {
  const { server, root, as, list, tokens } = await aList()
  const { nextToken } = await list({ per_page: 1 })
  const [, one] = tokens
  assert.ok(one !== undefined)
  await server.ok('deleteAclToken', as(root, { params: { accessor_id: one.AccessorID } }))
  assert.deepEqual(namesOf((await list({ next_token: nextToken ?? '' })).text), ['two', 'three'])
})

test('list tokens: 0 on a page means all of them, a wrong number is refused', async () => {
  const { list, names } = await aList()
  assert.equal((await names({ per_page: 0 })).length, 4)
  for (const per_page of ['-1', 'x']) {
    const reply = await list({ per_page })
    assert.equal(reply.status, 400)
  }
})

test('list tokens: a prefix selects by accessor, in any case and with any hyphens', async () => {
  const { token, names } = await aList()
  for (const [name, start] of [
    ['late', 'abcdef02'],
    ['early', 'abcdef01'],
    ['other', 'ab000000'],
  ])
    await token({ Name: name, AccessorID: `${start}${REST}`, SecretID: `${start}${REST}` })
  assert.deepEqual(await names({ prefix: 'abcdef' }), ['early', 'late'])
  assert.deepEqual(await names({ prefix: 'abcdef', reverse: true }), ['late', 'early'])
  assert.deepEqual(await names({ prefix: 'ABCDEF02-22' }), ['late'])
  assert.deepEqual(await names({ prefix: 'abcdef022222' }), ['late'])
  assert.deepEqual(await names({ prefix: 'abcdef03' }), [])
})

test('list tokens: pages of a prefix are named by accessor', async () => {
  const { token, list } = await aList()
  for (const start of ['abcdef02', 'abcdef01', 'abcdef03'])
    await token({ Name: start, AccessorID: `${start}${REST}`, SecretID: `${start}${REST}` })
  const first = await list({ prefix: 'abcdef', per_page: 2 })
  assert.equal(first.nextToken, `abcdef03${REST}`)
  const last = await list({ prefix: 'abcdef', per_page: 2, next_token: first.nextToken })
  assert.deepEqual(namesOf(last.text), ['abcdef03'])
})

test('list tokens: global selects the global ones, ordered by accessor', async () => {
  const { names, list, tokens } = await aList()
  const wanted = tokens.filter((token) => token.Global)
  assert.deepEqual(await names({ global: true }), byAccessor(wanted))
  assert.deepEqual(await names({ global: true, reverse: true }), byAccessor(wanted).toReversed())
  const first = await list({ global: true, per_page: 1 })
  const ids = wanted.map((token) => token.AccessorID).toSorted((a, b) => (a < b ? -1 : 1))
  assert.equal(first.nextToken, ids[1])
})

const WRONG_PREFIXES = [
  { prefix: 'abc', text: 'acl token lookup failed: Input (without hyphens) must be even length' },
  {
    prefix: 'xy',
    text: "acl token lookup failed: Invalid UUID: encoding/hex: invalid byte: U+0078 'x'",
  },
  {
    prefix: 'a'.repeat(38),
    text: 'acl token lookup failed: Invalid UUID length. UUID have 36 characters; got 38',
  },
  { prefix: '-----', text: 'acl token lookup failed: UUID should have maximum of 4 "-"; got 5' },
]

for (const { prefix, text } of WRONG_PREFIXES)
  test(`list tokens: the prefix ${prefix} is refused`, async () => {
    const { list } = await aList()
    const reply = await list({ prefix })
    assert.deepEqual([reply.status, reply.text], [400, text])
  })

test('list tokens: a filter sees the fields of the token', async () => {
  const { names } = await aList()
  assert.deepEqual(await names({ filter: 'Name == "two"' }), ['two'])
  assert.deepEqual(await names({ filter: 'Type == management' }), ['Bootstrap Token'])
  assert.deepEqual(await names({ filter: '"nothing" in Policies and Global == false' }), [
    'one',
    'three',
  ])
})

test('list tokens: a filter cannot reach a secret', async () => {
  const { list, tokens } = await aList()
  for (const selector of ['SecretID', 'SecretHash', 'SealedSecret', '"/SecretID"']) {
    const reply = await list({ filter: `${selector} != "" ` })
    assert.equal(reply.status, 400, selector)
    assert.match(reply.text, /^failed to (read result page|create result paginator): /)
  }
  const [root] = tokens
  const filter = `SecretID == "${root?.SecretID ?? ''}"`
  assert.equal((await list({ filter })).status, 400)
})

test('list tokens: a filter that does not parse is refused', async () => {
  const { list } = await aList()
  const reply = await list({ filter: 'Name ==' })
  assert.equal(reply.status, 400)
  assert.match(reply.text, /^failed to create result paginator: failed to read filter expression: /)
})

test('list tokens: blocks until any token changes', async () => {
  const { server, root, as, token, list } = await aList()
  const { index } = await list()
  assert.equal(index, 5)
  const waiting = server.call('listAclTokens', as(root, { query: { index } }))
  await untilParked()
  await token({ Name: 'four' })
  const reply = await waiting
  assert.equal(reply.index, 6)
  assert.equal(namesOf(reply.text).at(-1), 'four')
})
