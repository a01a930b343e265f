import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallOptions } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** Whatever is sent, the answer is a refusal in the API's own form, and the server goes on. */

interface Hostile {
  readonly name: string
  readonly method?: string
  readonly url: string
  readonly options?: CallOptions
  readonly status: number
  readonly text: RegExp
}

const TOKEN = '/v1/acl/token'
const TOKENS = '/v1/acl/tokens'

function many<T>(count: number, make: (i: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

const HOSTILE: readonly Hostile[] = [
  {
    name: 'a path that is not encoded',
    url: `${TOKEN}/%zz`,
    status: 400,
    text: /is not a valid url component$/,
  },
  {
    name: 'a path segment beyond the limit',
    url: `${TOKEN}/${'a'.repeat(5_000)}`,
    status: 414,
    text: /is exceeding the max param length$/,
  },
  {
    name: 'a path with a null character',
    url: `${TOKEN}/a%00b`,
    status: 400,
    text: /^acl token lookup failed: /,
  },
  {
    name: 'a path that climbs',
    url: '/v1/acl/policy/..%2F..%2Fetc',
    status: 404,
    text: /^ACL policy not found$/,
  },
  { name: 'an unknown path', url: '/v1/acl/unknown', status: 404, text: /^$/ },
  {
    name: 'a wait time that is none',
    url: `${TOKENS}?index=1&wait=soon`,
    status: 400,
    text: /^Invalid wait time$/,
  },
  { name: 'a negative index', url: `${TOKENS}?index=-1`, status: 400, text: /^Invalid index$/ },
  {
    name: 'an index beyond numbers',
    url: `${TOKENS}?index=99999999999999999999`,
    status: 400,
    text: /^Invalid index$/,
  },
  {
    name: 'a page beyond the limit',
    url: `${TOKENS}?per_page=100001`,
    status: 400,
    text: /^per_page must be between 0 and 100000$/,
  },
  {
    name: 'a flag that is none',
    url: `${TOKENS}?global=maybe`,
    status: 400,
    text: /^Failed to parse value of "global" \(maybe\) as a bool: /,
  },
  {
    name: 'a filter that nests without end',
    url: `${TOKENS}?filter=${'('.repeat(5_000)}`,
    status: 400,
    text: /^failed to create result paginator: /,
  },
  {
    name: 'another region',
    url: `${TOKENS}?region=mars`,
    status: 404,
    text: /^No path to region$/,
  },
  {
    name: 'a body beyond the limit',
    method: 'POST',
    url: TOKEN,
    options: { body: 'x'.repeat(5 * 1024 * 1024) },
    status: 413,
    text: /larger than/,
  },
  {
    name: 'a body that nests without end',
    method: 'POST',
    url: TOKEN,
    options: { body: '['.repeat(500_000) },
    status: 400,
    text: /./,
  },
  {
    name: 'a body that reaches for the prototype',
    method: 'POST',
    url: TOKEN,
    options: { body: '{"__proto__":{"Type":"management"},"constructor":{"Type":"management"}}' },
    status: 400,
    text: /token type must be client or management/,
  },
  {
    name: 'nulls in a list',
    method: 'POST',
    url: TOKEN,
    options: { body: { Type: 'client', Policies: [null] } },
    status: 400,
    text: /^json: cannot unmarshal null into field Policies\[0\]/,
  },
  {
    name: 'more policies than a token may have',
    method: 'POST',
    url: TOKEN,
    options: { body: { Type: 'client', Policies: many(50_000, (i) => `p${i}`) } },
    status: 400,
    text: /token has more than 1000 policies/,
  },
  {
    name: 'more policies than a role may have',
    method: 'POST',
    url: '/v1/acl/role',
    options: { body: { Name: 'r', Policies: many(50_000, (i) => ({ Name: `p${i}` })) } },
    status: 400,
    text: /role has more than 1000 policies/,
  },
  {
    name: 'more rules than a policy may have',
    method: 'POST',
    url: '/v1/acl/policy/p',
    options: { body: { Name: 'p', Rules: 'namespace "a" {}\n'.repeat(10_000) } },
    status: 400,
    text: /a policy may have at most 4096 rules and paths/,
  },
  {
    name: 'rules beyond the limit',
    method: 'POST',
    url: '/v1/acl/policy/p',
    options: { body: { Name: 'p', Rules: '#'.repeat(1024 * 1024) } },
    status: 400,
    text: /the text is longer than 524288 characters/,
  },
  {
    name: 'a lifetime of a life',
    method: 'POST',
    url: TOKEN,
    options: { body: { Type: 'management', ExpirationTTL: 3e18 } },
    status: 400,
    text: /expiration time cannot be more than 24h0m0s in the future/,
  },
  {
    name: 'a lifetime beyond time',
    method: 'POST',
    url: TOKEN,
    options: { body: { Type: 'management', ExpirationTTL: 1e300 } },
    status: 400,
    text: /number into field ExpirationTTL of type integer: it is too large/,
  },
  {
    name: 'an expiry beyond time',
    method: 'POST',
    url: TOKEN,
    options: { body: { Type: 'management', ExpirationTime: '9999-12-31T23:59:59Z' } },
    status: 400,
    text: /expiration time cannot be more than 24h0m0s in the future/,
  },
]

for (const { name, method = 'GET', url, options, status, text } of HOSTILE)
  test(`hostile input: ${name} is refused`, async () => {
    const { server, root, as } = await aSecuredServer()
    const reply = await server.send(method, url, as(root, options))
    assert.equal(reply.status, status, reply.text)
    assert.match(reply.text, text)
    if (reply.text !== '') assert.equal(reply.headers['content-type'], 'text/plain; charset=utf-8')
    await server.ok('listAclTokens', as(root))
  })

test('hostile input: a long secret is just unknown', async () => {
  const { server } = await aSecuredServer()
  assert.deepEqual(await server.refusal('listAclTokens', { token: 'x'.repeat(10_000) }), [
    403,
    'Permission denied',
  ])
})

test('hostile input: a name with characters that are none is kept as it is', async () => {
  const { server, as, token } = await aSecuredServer()
  const made = await token({ Name: 'a\u0000\ud800"<script>' })
  assert.equal((await server.ok('readOwnAclToken', as(made))).Name, 'a\u0000\ud800"<script>')
})

test('hostile input: meta named like a built-in property is data', async () => {
  const { server, root, as } = await aSecuredServer()
  const body = '{"Name":"n","Meta":{"__proto__":"x","constructor":"y"}}'
  await server.ok('writeNamespace', as(root, { body }))
  const reply = await server.send('GET', '/v1/namespace/n', as(root))
  assert.match(reply.text, /"Meta":\{"__proto__":"x","constructor":"y"\}/)
})

test('hostile input: a namespace that cannot exist is remembered nowhere and shows nothing', async () => {
  const { server, as, client } = await aSecuredServer()
  const reader = await client('namespace "*" { policy = "read" }')
  const query = { namespace: 'x'.repeat(50_000) }
  assert.deepEqual(await server.ok('listJobs', as(reader, { query })), [])
})
