import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { MemoryDisk } from '../../../src/storage/index.ts'
import { createTestServer } from '../harness.ts'
import { aBody, aGovernanceServer, refusedBy, type GovernanceServer } from './harness.ts'

const PROJECTS = '/api/v2/organizations/acme/projects'
const DOCUMENT = JSON.stringify(aBody('projects', { name: 'one' }))

async function withAcme(): Promise<GovernanceServer> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return it
}

function post(
  it: GovernanceServer,
  headers: Record<string, string>,
  body: string | Buffer = DOCUMENT,
) {
  return it.server.send('POST', PROJECTS, {
    body,
    headers: { authorization: `Bearer ${it.root}`, ...headers },
  })
}

test('B1 ping: 204 for anybody', async () => {
  const { server } = await aGovernanceServer()
  const reply = await server.send('GET', '/api/v2/ping')
  assert.deepEqual([reply.status, reply.text], [204, ''])
})

const ORIGINS = [
  { externalUrl: '', begins: 'http://reeve.internal:4646' },
  { externalUrl: 'https://reeve.example.com', begins: 'https://reeve.example.com' },
]
for (const { externalUrl, begins } of ORIGINS)
  test(`links: of a list begin with ${begins}, whatever is forwarded`, async () => {
    const it = await aGovernanceServer({ externalUrl })
    await it.organization('acme')
    const headers = { host: 'reeve.internal:4646', 'x-forwarded-host': 'evil.example' }
    const { links } = await it.ok('listProjects', {
      params: { organization_name: 'acme' },
      query: { q: 'x', 'page[size]': 5 },
      headers,
    })
    const page = 'page%5Bnumber%5D=1&page%5Bsize%5D=5'
    assert.equal(links.self, `${begins}${PROJECTS}?q=x&${page}`)
    assert.equal(links.last, links.self)
  })

const TYPES = [
  { type: 'application/vnd.api+json', status: 201 },
  { type: 'application/json', status: 201 },
  { type: 'application/vnd.api+json; charset=utf-8', status: 201 },
  { type: 'application/vnd.api+json; ext="x"', status: 415 },
  { type: 'application/x-www-form-urlencoded', status: 415 },
  { type: 'multipart/form-data; boundary=x', status: 415 },
  { type: 'text/plain', status: 415 },
]
for (const { type, status } of TYPES)
  test(`media type: a body of ${type} answers ${status}`, async () => {
    const reply = await post(await withAcme(), { 'content-type': type })
    assert.equal(reply.status, status)
    assert.equal(reply.headers['content-type'], v2.JSON_API_TYPE)
  })

for (const accept of ['text/html', 'application/json', '*/*'])
  test(`media type: whoever accepts ${accept} is answered all the same`, async () => {
    const reply = await post(await withAcme(), {
      accept,
      'content-type': 'application/vnd.api+json',
    })
    assert.equal(reply.status, 201)
  })

test('body: what is no JSON is told with the byte at which it is wrong', async () => {
  const it = await withAcme()
  const cases = [
    ['{"data": ü}', '"ü" is not allowed at byte 9'],
    ['{"dätä":}', '"}" is not allowed at byte 10'],
    ['{"data"', 'it ends unexpectedly at byte 7'],
    ['{} x', '"x" is not allowed at byte 3'],
    ['{"data": {}'.padEnd(100_000, ' '), 'it ends unexpectedly at byte 100000'],
    [`{"data":"${'x'.repeat(100_000)}"} y`, '"y" is not allowed at byte 100012'],
  ] as const
  for (const [body, problem] of cases)
    assert.deepEqual(refusedBy(await post(it, {}, body)), [
      400,
      `bad request: The body is not JSON: ${problem}`,
    ])
})

test('body: more than one mebibyte is too large, compressed or not', async () => {
  const it = await withAcme()
  const large = `{"data":"${'x'.repeat(v2.JSON_BODY_BYTES_MAX)}"}`
  const says = [
    413,
    `payload too large: the request body is larger than ${v2.JSON_BODY_BYTES_MAX} bytes`,
  ]
  assert.deepEqual(refusedBy(await post(it, {}, large)), says)
  const zipped = await post(it, { 'content-encoding': 'gzip' }, gzipSync(large))
  assert.deepEqual(refusedBy(zipped), says)
  const small = await post(it, { 'content-encoding': 'gzip' }, gzipSync(DOCUMENT))
  assert.equal(small.status, 201)
})

test('body: hostile documents are refused, and hurt nobody', async () => {
  const it = await withAcme()
  const bodies = [
    'null',
    '"text"',
    '7',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    `{"data":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`,
    '{"data":{"type":"projects","attributes":{"__proto__":{"name":"one"}}}}',
    `{"data":{"type":"projects","attributes":{"name":"${'é'.repeat(300_000)}"}}}`,
  ]
  for (const body of bodies) assert.equal((await post(it, {}, body)).status, 422, body.slice(0, 40))
})

test('errors: never more than twenty, each with where it is', async () => {
  const it = await withAcme()
  const data = Array.from({ length: 30 }, () => ({ type: 'x' }))
  const body = { data: { type: 'projects', relationships: { 'tag-bindings': { data } } } }
  const reply = await post(it, {}, JSON.stringify(body))
  // The tests of the contract hold it against its schema.
  const { errors } = JSON.parse(reply.text) as v2.ErrorDocument
  assert.ok(errors.length <= 20)
  assert.ok(errors.every(({ status, source }) => status === '422' && source?.pointer !== undefined))
})

const TOKENS = [
  { name: 'no header', authorization: undefined },
  { name: 'another scheme', authorization: 'Basic abc' },
  { name: 'no secret', authorization: 'Bearer' },
  { name: 'an unknown secret', authorization: 'Bearer abc' },
  { name: 'two secrets', authorization: 'Bearer a b' },
]
for (const { name, authorization } of TOKENS)
  test(`token: ${name} is 401, whatever is asked`, async () => {
    const { server } = await withAcme()
    const headers = authorization === undefined ? {} : { authorization }
    for (const url of [PROJECTS, '/api/v2/organizations/gone', '/api/v2/account/details']) {
      const reply = await server.send('GET', url, { headers })
      assert.deepEqual([reply.status, refusedBy(reply)[1]?.split(':')[0]], [401, 'unauthorized'])
    }
  })

test('token: the scheme is read in any case; a client token of /v1 is nobody here', async () => {
  const it = await withAcme()
  const headers = { authorization: `bEARER ${it.root}` }
  assert.equal((await it.server.send('GET', PROJECTS, { headers })).status, 200)
  const client = await it.server.ok('createAclToken', {
    token: it.root,
    body: { Type: 'client', Policies: ['x'] },
  })
  const [status] = await it.refusal('readAccount', { as: client.SecretID })
  assert.equal(status, 401)
})

test('paths: HEAD answers like GET, a slash at the end is tolerated, other methods are 405', async () => {
  const it = await withAcme()
  const headers = { authorization: `Bearer ${it.root}` }
  const head = await it.server.send('HEAD', PROJECTS, { headers })
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.equal((await it.server.send('GET', `${PROJECTS}/`, { headers })).status, 200)
  const put = await it.server.send('PUT', PROJECTS, { headers })
  assert.deepEqual([put.status, put.headers['allow']], [405, 'POST, GET, HEAD'])
})

test('paths: raw and encoded brackets name the same parameter', async () => {
  const it = await withAcme()
  const headers = { authorization: `Bearer ${it.root}` }
  for (const query of ['page[size]=7', 'page%5Bsize%5D=7']) {
    const reply = await it.server.send('GET', `${PROJECTS}?${query}`, { headers })
    // As above.
    const { meta } = JSON.parse(reply.text) as v2.ProjectPage
    assert.equal(meta.pagination['page-size'], 7)
  }
})

const BAD_QUERIES: readonly {
  readonly route: v2.V2RouteId
  readonly query: Readonly<Record<string, string>>
  readonly status?: number
  readonly parameter: string
  readonly says: string
}[] = [
  {
    route: 'listProjects',
    query: { sort: 'foo' },
    parameter: 'sort',
    says: 'sort cannot be "foo": one of name, -name',
  },
  {
    route: 'listProjects',
    query: { 'page[size]': '0' },
    parameter: 'page[size]',
    says: 'page[size] cannot be "0": a whole number from 1',
  },
  {
    route: 'listOrganizationPolicies',
    query: { 'filter[kind]': 'OPA' },
    parameter: 'filter[kind]',
    says: 'filter[kind] cannot be "OPA": one of native, opa',
  },
  {
    route: 'listOrganizationPolicies',
    query: { q: 'x' },
    parameter: 'q',
    says: 'q is not known here',
  },
  ...(['listProjects', 'listWorkspaces'] as const).flatMap((route) =>
    [{}, { 'filter[tagged][3][key]': '' }].map((key) => ({
      route,
      query: { 'filter[tagged][3][value]': 'x', ...key },
      parameter: 'filter[tagged][3][key]',
      says: 'filter[tagged][3][key] must be given',
    })),
  ),
  {
    route: 'listWorkspaces',
    query: { 'filter[current-run][status]': 'applied,bogus' },
    parameter: 'filter[current-run][status]',
    says: `filter[current-run][status] cannot be "bogus": one of ${v2.RUN_STATUSES.join(', ')}`,
  },
  {
    route: 'listTeamProjectAccesses',
    query: {},
    status: 422,
    parameter: 'filter[project][id]',
    says: 'filter[project][id] must be given',
  },
]
for (const { route, query, status = 400, parameter, says } of BAD_QUERIES)
  test(`query: ${route} ${JSON.stringify(query)} is refused, and what can be asked is told`, async () => {
    const it = await withAcme()
    const reply = await it.call(route, { params: { organization_name: 'acme' }, query })
    // The answer was held against the contract.
    const { errors } = reply.json as v2.ErrorDocument
    assert.deepEqual(
      [reply.status, errors.map(({ detail, source }) => [detail, source])],
      [status, [[says, { parameter }]]],
    )
  })

test('body: one that is not what its encoding says is refused, whatever is sent', async () => {
  const it = await withAcme()
  const headers = { 'content-encoding': 'gzip', 'content-type': v2.JSON_API_TYPE }
  const refused = [400, 'bad request: the body is not what its content-encoding says']
  assert.deepEqual(refusedBy(await post(it, headers)), refused)
  const attributes = { name: 'p', 'enforcement-level': 'advisory' }
  const { data } = await it.ok('createPolicy', {
    params: { organization_name: 'acme' },
    body: aBody('policies', attributes),
  })
  const raw = await it.server.send('PUT', data.links.upload, {
    body: 'main = true',
    headers: { authorization: `Bearer ${it.root}`, 'content-encoding': 'gzip' },
  })
  assert.deepEqual(refusedBy(raw), refused)
})

test('restart: what was answered is still there, searched and sorted', async () => {
  const disk = new MemoryDisk()
  const before = await aGovernanceServer({ disk })
  await before.organization('acme')
  const { id } = await before.project('acme', { name: 'one' }, { a: 'b' })
  const team = await before.team('acme', 'devs', { 'manage-projects': true })
  const params = { organization_name: 'acme' }
  const page = await before.ok('listProjects', { params, query: { q: 'on' } })
  await before.server.close()
  const after = await createTestServer({ disk })
  const headers = { authorization: `Bearer ${team.token}` }
  const reply = await after.send('GET', `${PROJECTS}?q=on`, { headers })
  // As above.
  assert.deepEqual((JSON.parse(reply.text) as v2.ProjectPage).data, page.data)
  const tags = await after.send('GET', `/api/v2/projects/${id}/tag-bindings`, { headers })
  // As above.
  assert.equal((JSON.parse(tags.text) as v2.TagBindingList).data.length, 1)
  await after.close()
})
