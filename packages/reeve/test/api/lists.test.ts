import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildPage } from '../../src/http/list-page.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anEvaluation, anId } from '../build/index.ts'
import { putNode, register } from './cluster.ts'
import {
  createTestServer,
  itemsOf,
  type CallOptions,
  type Reply,
  type TestServer,
} from './harness.ts'
import { aSecuredServer } from './secured.ts'

type Query = NonNullable<CallOptions['query']>
const EMPTY_FILTER = 'failed to create result paginator: failed to read filter expression: '

/** What a list answers, as the names of its items. */
async function names(
  server: TestServer,
  url: string,
  query: Query = {},
): Promise<readonly string[]> {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const reply = await server.send('GET', `${url}?${search.toString()}`)
  assert.equal(reply.status, 200, reply.text)
  return itemsOf(reply).map(({ Namespace, ID }) =>
    Namespace === undefined ? ID : `${Namespace}.${ID}`,
  )
}

/**
 * The four lists with five items each, in an order of creation that is not the order of ids. Jobs
 * are two in namespace `a`, two in `a-b`, one in `default`.
 */
async function aWorld(): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const Name of ['a', 'a-b']) await server.ok('writeNamespace', { body: { Name } })
  const jobs = [
    ['default', 'web'],
    ['a-b', 'web'],
    ['a', 'web'],
    ['a', 'api'],
    ['a-b', 'Web'],
  ] as const
  for (const [Namespace, ID] of jobs) await server.ok('registerJob', register({ ID, Namespace }))
  for (const i of [5, 3, 4, 1, 2]) {
    await putNode(server, { ID: anId('node', i) })
    const job = aJob({ Namespace: i > 3 ? 'a' : 'default' })
    const { durable } = server.context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        put('allocations', anAllocation({ job, ID: anId('alloc', i) })),
        put('evaluations', anEvaluation(job, { ID: anId('eval', i) })),
      ],
    })
    await durable
  }
  return server
}

// Order and pages

const JOBS = ['a.api', 'a.web', 'a-b.Web', 'a-b.web', 'default.web']

test('lists: jobs come by namespace, then by id, bytewise', async () => {
  const server = await aWorld()
  assert.deepEqual(await names(server, '/v1/jobs', { namespace: '*' }), JOBS)
  assert.deepEqual(
    await names(server, '/v1/jobs', { namespace: '*', reverse: true }),
    JOBS.toReversed(),
  )
  assert.deepEqual(await names(server, '/v1/jobs', { namespace: 'a' }), ['a.api', 'a.web'])
  assert.deepEqual(await names(server, '/v1/jobs', { namespace: 'a', reverse: true }), [
    'a.web',
    'a.api',
  ])
})

const BY_CREATION = [5, 3, 4, 1, 2]

for (const [url, kind] of [
  ['/v1/allocations', 'alloc'],
  ['/v1/evaluations', 'eval'],
] as const) {
  const made = { namespace: '*', ...(kind === 'eval' ? { job: 'web' } : {}) }
  const wanted = BY_CREATION.map((i) => `${i > 3 ? 'a' : 'default'}.${anId(kind, i)}`)

  test(`lists: ${url} come by creation, with a prefix by id`, async () => {
    const server = await aWorld()
    const listed = (await names(server, url, made)).filter((name) => wanted.includes(name))
    assert.deepEqual(listed, wanted)
    const reversed = (await names(server, url, { ...made, reverse: true })).filter((name) =>
      wanted.includes(name),
    )
    assert.deepEqual(reversed, wanted.toReversed())
    const prefix = anId(kind, 1).slice(0, 8)
    assert.deepEqual(
      await names(server, url, { ...made, prefix }),
      wanted.toSorted((a, b) => (a.slice(-1) < b.slice(-1) ? -1 : 1)),
    )
  })
}

test('lists: nodes come by id', async () => {
  const server = await aWorld()
  const ids = [1, 2, 3, 4, 5].map((i) => anId('node', i))
  assert.deepEqual(await names(server, '/v1/nodes'), ids)
  assert.deepEqual(await names(server, '/v1/nodes', { reverse: true }), ids.toReversed())
})

const PAGED = [
  { url: '/v1/jobs?namespace=*', token: /^[a-z-]+\.[A-Za-z]+$/ },
  { url: '/v1/allocations?namespace=*', token: /^\d+\.[0-9a-f-]{36}$/ },
  { url: '/v1/allocations?namespace=*&prefix=bbbb', token: /^[0-9a-f-]{36}$/ },
  { url: '/v1/evaluations?namespace=*', token: /^\d+\.[0-9a-f-]{36}$/ },
  { url: '/v1/nodes?', token: /^[0-9a-f-]{36}$/ },
]

for (const { url, token } of PAGED)
  for (const reverse of [false, true])
    test(`pages: those of ${url} make up the list, reverse ${reverse}`, async () => {
      const server = await aWorld()
      const all = await server.send('GET', `${url}&reverse=${reverse}`)
      const whole = itemsOf(all)
      assert.equal(all.nextToken, undefined)
      for (const size of [1, 2, whole.length - 1]) {
        const found: object[] = []
        let next: string | undefined = ''
        for (let pages = 0; next !== undefined; pages++) {
          assert.ok(pages <= whole.length)
          const page = await server.send(
            'GET',
            `${url}&reverse=${reverse}&per_page=${size}&next_token=${next}`,
          )
          const items = itemsOf(page)
          assert.ok(items.length <= size)
          if (page.nextToken !== undefined) {
            assert.equal(items.length, size)
            assert.match(page.nextToken, token)
          }
          found.push(...items)
          next = page.nextToken
        }
        assert.deepEqual(found, whole)
      }
      const exact = await server.send('GET', `${url}&per_page=${whole.length}`)
      assert.equal(exact.nextToken, undefined, 'there is no page after the last item')
    })

test('pages: the token is that of the first item of the next page', async () => {
  const server = await aWorld()
  const page = await server.send('GET', '/v1/jobs?namespace=*&per_page=2')
  assert.equal(page.nextToken, 'a-b.Web')
})

const ODD_IDS = ['z!', 'z%41', 'z%', 'zA', 'zÅ', 'zé', 'z\u2028', 'ü€', '😀', 'x/y']

for (const reverse of [false, true])
  test(`pages: ids of any characters are walked, reverse ${reverse}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    for (const ID of ODD_IDS) await server.ok('registerJob', register({ ID }))
    const found: string[] = []
    let next: string | undefined = ''
    while (next !== undefined && found.length <= ODD_IDS.length) {
      assert.match(next, /^[!-~]*$/)
      const search = new URLSearchParams({ per_page: '1', next_token: next, reverse: `${reverse}` })
      const page = await server.send('GET', `/v1/jobs?${search.toString()}`)
      found.push(...itemsOf(page).map(({ ID }) => ID))
      next = page.nextToken
    }
    const ordered = ODD_IDS.toSorted()
    assert.deepEqual(found, reverse ? ordered.toReversed() : ordered)
  })

test('pages: a page begins after an item that is gone', async () => {
  const server = await aWorld()
  await server.ok('stopJob', {
    params: { job_id: 'Web' },
    query: { namespace: 'a-b', purge: true },
  })
  const query = { namespace: '*', next_token: 'a-b.Web' }
  assert.deepEqual(await names(server, '/v1/jobs', query), ['a-b.web', 'default.web'])
  assert.deepEqual(await names(server, '/v1/jobs', { ...query, reverse: true }), ['a.web', 'a.api'])
})

test('pages: a page counts what passes filter and permission', async () => {
  const server = await aWorld()
  const query = { namespace: '*', filter: 'ID == web', per_page: 2 }
  assert.deepEqual(await names(server, '/v1/jobs', query), ['a.web', 'a-b.web'])
  const reply = await server.call('listJobs', { query })
  assert.equal(reply.nextToken, 'default.web')
  assert.deepEqual(await names(server, '/v1/jobs', { ...query, next_token: 'default.web' }), [
    'default.web',
  ])
})

test('pages: a token of nothing gives what lies behind it', async () => {
  const server = await aWorld()
  for (const [url, token, wanted] of [
    ['/v1/jobs', 'zzz', 0],
    ['/v1/jobs', '!', 5],
    ['/v1/allocations', '999999.x', 0],
    ['/v1/allocations', 'nonsense', 5],
    ['/v1/nodes', 'zzzz', 0],
  ] as const)
    assert.equal(
      (await names(server, url, { namespace: '*', next_token: token })).length,
      wanted,
      `${url} ${token}`,
    )
})

test('pages: the size is a number from 0 to the limit', async () => {
  const server = await aWorld()
  for (const per_page of [0, 100_000])
    assert.equal((await names(server, '/v1/jobs', { namespace: '*', per_page })).length, 5)
  assert.deepEqual(await server.refusal('listJobs', { query: { per_page: -1 } }), [
    400,
    'per_page must be between 0 and 100000',
  ])
  for (const per_page of ['-1', 'x', '1.5', '100001', '99999999999'])
    assert.equal((await server.refusal('listJobs', { query: { per_page } }))[0], 400, per_page)
})

test('reverse: only the word true reverses', async () => {
  const server = await aWorld()
  for (const reverse of ['', '1', 'TRUE', 't', 'yes', 'false'])
    assert.deepEqual(await names(server, '/v1/jobs', { namespace: '*', reverse }), JOBS, reverse)
})

// Prefix

test('prefix: of jobs is the begin of the id, in its case', async () => {
  const server = await aWorld()
  const listed = async (prefix: string, namespace = '*') =>
    await names(server, '/v1/jobs', { prefix, namespace })
  assert.deepEqual(await listed('w'), ['a.web', 'a-b.web', 'default.web'])
  assert.deepEqual(await listed('W'), ['a-b.Web'])
  assert.deepEqual(await listed('web', 'a'), ['a.web'])
  assert.deepEqual(await listed('eb'), [])
  assert.deepEqual(await listed('', 'a'), ['a.api', 'a.web'])
})

const PREFIXES = [
  { prefix: 'bbbbbbbb', count: 5 },
  { prefix: 'BB', count: 5 },
  { prefix: 'bbbbbbbb-00', count: 5 },
  { prefix: 'bbbbbbbb0000', count: 5 },
  { prefix: anId('alloc', 3), count: 1 },
  { prefix: 'bbbbbbbbff', count: 0 },
  { prefix: '-', count: 5 },
]

for (const { prefix, count } of PREFIXES)
  test(`prefix: ${prefix} selects ${count} allocations`, async () => {
    const server = await aWorld()
    assert.equal((await names(server, '/v1/allocations', { namespace: '*', prefix })).length, count)
  })

const KINDS = [
  ['listAllocations', 'alloc'],
  ['listEvaluations', 'eval'],
  ['listNodes', 'node'],
] as const
const WRONG_PREFIXES = [
  { prefix: 'abc', text: 'Input (without hyphens) must be even length' },
  { prefix: 'ab-c', text: 'Input (without hyphens) must be even length' },
  { prefix: 'xy', text: "Invalid UUID: encoding/hex: invalid byte: U+0078 'x'" },
  { prefix: 'a'.repeat(38), text: 'Invalid UUID length. UUID have 36 characters; got 38' },
  { prefix: '-----', text: 'UUID should have maximum of 4 "-"; got 5' },
]

for (const [route, kind] of KINDS)
  for (const { prefix, text } of WRONG_PREFIXES)
    test(`prefix: ${prefix} of ${route} is refused`, async () => {
      const server = await createTestServer({ aclEnabled: false })
      assert.deepEqual(await server.refusal(route, { query: { prefix } }), [
        400,
        `${kind} lookup failed: ${text}`,
      ])
    })

// Filter

const FILTERS = [
  { url: '/v1/jobs', filter: 'ID == "web" and Namespace != a', wanted: ['a-b.web', 'default.web'] },
  { url: '/v1/jobs', filter: 'any TaskGroups as g { g.Count == 1 }', wanted: JOBS },
  {
    url: '/v1/jobs',
    filter: 'TaskGroups.0.Tasks.0.Driver == "raw_exec" and Priority == 50',
    wanted: JOBS,
  },
  { url: '/v1/jobs', filter: 'Periodic is not nil', wanted: [] },
  { url: '/v1/jobs', filter: 'Payload is not empty', wanted: [] },
  { url: '/v1/jobs', filter: 'ID matches "^[A-Z]"', wanted: ['a-b.Web'] },
  {
    url: '/v1/allocations',
    filter: `JobID == "web" and ID == "${anId('alloc', 4)}"`,
    wanted: [`a.${anId('alloc', 4)}`],
  },
  { url: '/v1/allocations', filter: 'Namespace == nope', wanted: [] },
  {
    url: '/v1/evaluations',
    filter: `ID == "${anId('eval', 1)}"`,
    wanted: [`default.${anId('eval', 1)}`],
  },
  { url: '/v1/nodes', filter: 'ID contains "000000000002"', wanted: [anId('node', 2)] },
]

for (const { url, filter, wanted } of FILTERS)
  test(`filter: ${url} where ${filter}`, async () => {
    const server = await aWorld()
    assert.deepEqual(await names(server, url, { namespace: '*', filter }), wanted)
  })

test('filter: one that cannot be read is refused, whatever there is to filter', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const filter of ['ID ==', '(', 'ID = web', 'and'])
    for (const route of ['listJobs', 'listAllocations', 'listEvaluations', 'listNodes'] as const) {
      const [status, text] = await server.refusal(route, { query: { filter } })
      assert.deepEqual([status, text.startsWith(EMPTY_FILTER)], [400, true], text)
    }
})

test('filter: one that fails on an item is refused, and only then', async () => {
  const server = await aWorld()
  const empty = await createTestServer({ aclEnabled: false })
  for (const filter of ['Nope == "x"', 'TaskGroups == "x"']) {
    const [status, text] = await server.refusal('listJobs', { query: { filter } })
    assert.deepEqual([status, text.startsWith('failed to read result page: ')], [400, true], text)
    assert.deepEqual(await empty.ok('listJobs', { query: { filter } }), [])
  }
})

// Namespaces

test('namespace: the default one unless given; one that does not exist is empty', async () => {
  const server = await aWorld()
  assert.deepEqual(await names(server, '/v1/jobs'), ['default.web'])
  assert.deepEqual(await names(server, '/v1/jobs', { namespace: '' }), ['default.web'])
  assert.deepEqual(await names(server, '/v1/jobs', { namespace: 'gone' }), [])
  assert.equal((await names(server, '/v1/allocations')).length, 3)
  assert.equal((await names(server, '/v1/allocations', { namespace: 'a' })).length, 2)
})

test('namespace: a limited token sees with * what it may list, page by page', async () => {
  const { server, root, as, client } = await aSecuredServer()
  for (const Name of ['one', 'two', 'three']) {
    await server.ok('writeNamespace', as(root, { body: { Name } }))
    for (const ID of ['x', 'y'])
      await server.ok('registerJob', as(root, register({ ID, Namespace: Name })))
  }
  const token = await client(
    'namespace "one" { policy = "read" }\nnamespace "two" { capabilities = ["list-jobs"] }',
  )
  const listed = async (query: Query) =>
    await server.call('listJobs', as(token, { query: { namespace: '*', ...query } }))
  const ids = (reply: Reply) => itemsOf(reply).map((job) => `${job.Namespace}.${job.ID}`)
  assert.deepEqual(ids(await listed({})), ['one.x', 'one.y', 'two.x', 'two.y'])
  const page = await listed({ per_page: 3 })
  assert.deepEqual([ids(page), page.nextToken], [['one.x', 'one.y', 'two.x'], 'two.y'])
  const last = await listed({ per_page: 3, next_token: page.nextToken ?? '' })
  assert.deepEqual([ids(last), last.nextToken], [['two.y'], undefined])
  assert.deepEqual(ids(await listed({ reverse: true, filter: 'ID == y' })), ['two.y', 'one.y'])
})

test('namespace: a right in no namespace that exists is an empty list', async () => {
  const { server, as, client } = await aSecuredServer()
  const token = await client('namespace "later-*" { policy = "read" }')
  const query = { namespace: '*' }
  assert.deepEqual(await server.ok('listJobs', as(token, { query })), [])
  const nobody = await client('node { policy = "write" }')
  assert.deepEqual(await server.refusal('listJobs', as(nobody, { query })), [
    403,
    'Permission denied',
  ])
})

// Long lists

/** Rows that take so long each, on a clock that only they move. */
function slowRows(count: number, rowMs: number) {
  let nowMs = 0
  let turns = 0
  const source = {
    scan: (from: string | undefined) =>
      Array.from({ length: count }, (_, i) => i).slice(Number(from ?? 0)),
    tokenOf: String,
    isVisible: (row: number) => {
      nowMs += rowMs
      return row === count - 1
    },
    filterView: (row: number) => row,
    filterOptions: {},
    render: String,
  }
  const slices = {
    monotonicMs: () => nowMs,
    sliceMs: 5,
    nextTurn: async () => void turns++,
  }
  return { source, slices, turns: () => turns }
}

for (const { name, count, rowMs, turns } of [
  { name: 'many quick rows', count: 10_000, rowMs: 1 / 128, turns: 15 },
  { name: 'few rows with a costly filter', count: 20, rowMs: 8, turns: 19 },
])
  test(`long lists: others get their turn after five milliseconds: ${name}`, async () => {
    const { source, slices, turns: taken } = slowRows(count, rowMs)
    const page = await buildPage(source, {}, slices)
    const items = [String(count - 1)]
    assert.deepEqual(page, { ok: true, value: { items, nextToken: undefined } })
    assert.equal(taken(), turns)
  })
