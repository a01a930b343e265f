import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anEvaluation, anId, aTask } from '../build/index.ts'
import { putNode } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

/** A cluster with something in every context that there is. */
async function fill(server: TestServer) {
  const jobs = [
    aJob({
      ID: 'web',
      Name: 'Web shop',
      groups: [
        aGroup({
          Name: 'front',
          Services: [{ Name: 'shop-http', PortLabel: '80' }],
          tasks: [
            aTask({ Name: 'nginx', Driver: 'docker', Config: { image: 'registry/nginx:1' } }),
            aTask({ Name: 'agent', Config: { command: '/opt/Shipper' } }),
          ],
        }),
      ],
    }),
    aJob({ ID: 'web-cache', Namespace: 'other' }),
    aJob({ ID: 'batch' }),
  ]
  const [web = assert.fail(), cache = assert.fail()] = jobs
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...jobs.map((job) => put('jobs', job)),
      put('allocations', anAllocation({ job: web })),
      put('allocations', anAllocation({ job: cache, index: 1 })),
      put('evaluations', anEvaluation(web, { ID: anId('eval', 1) })),
      put('evaluations', anEvaluation(cache, { ID: anId('eval', 2) })),
    ],
  })
  await putNode(server, { Name: 'Big-1', NodeClass: 'shop-metal' })
}

async function aServer() {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await fill(server)
  return server
}

async function found(server: TestServer, body: object, query = {}) {
  const { Matches } = await server.ok('search', { body, query })
  return Object.fromEntries(Object.entries(Matches).filter(([, ids]) => ids?.length))
}

// By prefix

test('search: everything that begins with a text, by context', async () => {
  const server = await aServer()
  assert.deepEqual(await found(server, { Prefix: 'web' }), { jobs: ['web'] })
  assert.deepEqual(await found(server, { Prefix: 'web', Context: 'all' }, { namespace: '*' }), {
    jobs: ['web', 'web-cache'],
  })
  assert.deepEqual(await found(server, { Prefix: 'aaaaaaaa', Context: 'nodes' }), {
    nodes: [anId('node', 1)],
  })
  assert.deepEqual(await found(server, { Prefix: 'def' }), {
    node_pools: ['default'],
    namespaces: ['default'],
  })
})

test('search: an answer names every context that was searched, and its index', async () => {
  const server = await aServer()
  const reply = await server.call('search', { body: { Prefix: 'web', Context: 'jobs' } })
  assert.deepEqual(reply.body, {
    Matches: { jobs: ['web'] },
    Truncations: { jobs: false },
    Index: reply.index,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  const { Matches } = await server.ok('search', { body: {} })
  assert.deepEqual(Object.keys(Matches).toSorted(), [
    'allocs',
    'deployment',
    'evals',
    'host_volumes',
    'jobs',
    'namespaces',
    'node_pools',
    'nodes',
    'plugins',
    'quotas',
    'recommendations',
    'scaling_policy',
    'vars',
    'volumes',
  ])
})

const id = anId('alloc', 1)
for (const [name, Prefix, matches] of [
  ['an odd number of digits', id.slice(0, 7), [id]],
  ['capitals', id.slice(0, 8).toUpperCase(), [id]],
  ['the whole id', id, [id]],
  ['no hyphens', id.replaceAll('-', ''), [id]],
  ['a digit too many', `${id}0`, []],
  ['letters that no id has', 'web', []],
] as const)
  test(`search: an id is found by ${name}`, async () => {
    const server = await aServer()
    const { Matches } = await server.ok('search', { body: { Prefix, Context: 'allocs' } })
    assert.deepEqual(Matches['allocs'], matches)
  })

test('search: at most twenty of a context, and it says that there are more', async () => {
  const server = await aServer()
  const store = (count: number) =>
    server.context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () =>
        Array.from({ length: count }, (_, i) => put('jobs', aJob({ ID: `many-${100 + i}` }))),
    }).durable
  const search = async () => {
    const { Matches, Truncations } = await server.ok('search', {
      body: { Prefix: 'many', Context: 'jobs' },
    })
    return [Matches['jobs']?.length, Matches['jobs']?.[0], Truncations['jobs']]
  }
  await store(20)
  assert.deepEqual(await search(), [20, 'many-100', false])
  await store(21)
  assert.deepEqual(await search(), [20, 'many-100', true])
})

test('search: rows that are hidden are passed over up to a bound', async () => {
  const server = await aServer()
  const hidden = aJob({ ID: 'hidden', Namespace: 'other' })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () =>
      Array.from({ length: LIMITS.searchRowsMax }, (_, i) =>
        put('evaluations', anEvaluation(hidden, { ID: anId('eval', 10 + i) })),
      ),
  })
  const { Matches, Truncations } = await server.ok('search', { body: { Context: 'evals' } })
  assert.deepEqual([Matches['evals'], Truncations['evals']], [[anId('eval', 1)], true])
})

test('search: an unknown context is refused, and so is a missing body', async () => {
  const server = await aServer()
  const [status, text] = await server.refusal('search', { body: { Context: 'groups' } })
  assert.equal(status, 400)
  assert.match(text, /^context must be one of jobs, .* or all; got "groups"$/)
  assert.deepEqual(await server.refusal('search'), [400, 'Request body is empty'])
})

// Fuzzy

async function fuzzy(server: TestServer, body: object, query = {}) {
  const { Matches } = await server.ok('fuzzySearch', { body, query })
  return Object.fromEntries(Object.entries(Matches).filter(([, list]) => list?.length))
}

test('fuzzy search: names that hold a text in any case, and where they are', async () => {
  const server = await aServer()
  assert.deepEqual(await fuzzy(server, { Text: 'SHOP' }), {
    jobs: [{ ID: 'Web shop', Scope: ['default', 'web'] }],
    services: [{ ID: 'shop-http', Scope: ['default', 'web', 'front'] }],
    classes: [{ ID: 'shop-metal', Scope: [anId('node', 1)] }],
  })
  assert.deepEqual(await fuzzy(server, { Text: 'ginx' }), {
    tasks: [{ ID: 'nginx', Scope: ['default', 'web', 'front'] }],
    images: [{ ID: 'registry/nginx:1', Scope: ['default', 'web', 'front', 'nginx'] }],
  })
  assert.deepEqual(await fuzzy(server, { Text: 'ship', Context: 'commands' }), {
    commands: [{ ID: '/opt/Shipper', Scope: ['default', 'web', 'front', 'agent'] }],
  })
})

test('fuzzy search: allocations by name, nodes by name or id, in the namespaces asked for', async () => {
  const server = await aServer()
  assert.deepEqual(await fuzzy(server, { Text: '.front[', Context: 'allocs' }), {
    allocs: [{ ID: 'web.front[0]', Scope: ['default', anId('alloc', 1)] }],
  })
  const everywhere = await fuzzy(server, { Text: 'web', Context: 'allocs' }, { namespace: '*' })
  assert.equal(everywhere['allocs']?.length, 2)
  for (const Text of ['BIG', 'aaaa'])
    assert.deepEqual(await fuzzy(server, { Text, Context: 'nodes' }), {
      nodes: [{ ID: 'Big-1', Scope: [anId('node', 1)] }],
    })
  assert.deepEqual(await fuzzy(server, { Text: 'cccccccc', Context: 'evals' }), {
    evals: [{ ID: anId('eval', 1), Scope: null }],
  })
})

test('fuzzy search: the earlier in the name the better, then the shorter', async () => {
  const server = await aServer()
  const names = ['xx-api', 'api-gateway', 'api', 'my-api']
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => names.map((ID) => put('jobs', aJob({ ID }))),
  })
  const { Matches } = await server.ok('fuzzySearch', { body: { Text: 'api', Context: 'jobs' } })
  assert.deepEqual(
    Matches['jobs']?.map((match) => match.ID),
    ['api', 'api-gateway', 'my-api', 'xx-api'],
  )
})

test('fuzzy search: at most twenty things, at most a hundred inside them', async () => {
  const server = await aServer()
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () =>
      Array.from({ length: 120 }, (_, i) =>
        put('jobs', aJob({ ID: `unit-${i}`, groups: [aGroup({ Name: 'unit' })] })),
      ),
  })
  const { Matches, Truncations } = await server.ok('fuzzySearch', { body: { Text: 'unit' } })
  assert.deepEqual([Matches['jobs']?.length, Truncations['jobs']], [20, true])
  assert.deepEqual([Matches['groups']?.length, Truncations['groups']], [100, true])
  assert.equal(Truncations['nodes'], false)
})

for (const [Text, length] of [
  ['', 0],
  ['a', 1],
] as const)
  test(`fuzzy search: ${length} characters are too few`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal('fuzzySearch', { body: { Text } }), [
      400,
      `fuzzy search query must be at least 2 characters, got ${length}`,
    ])
  })

test('fuzzy search: hostile texts find nothing and harm nothing', async () => {
  const server = await aServer()
  for (const Text of ['"\\', '__proto__', '.*', '\u0000\u0000', 'x'.repeat(100_000)])
    assert.deepEqual(await fuzzy(server, { Text }), {}, Text.slice(0, 20))
  const [status] = await server.refusal('fuzzySearch', {
    body: { Text: 'ab', Context: 'toString' },
  })
  assert.equal(status, 400)
})

// Who may

test('search: without a usable context it is refused', async () => {
  const { server, as, client } = await aSecuredServer()
  const nobody = await client('agent { policy = "write" }')
  for (const body of [{}, { Context: 'jobs' }, { Context: 'nodes' }])
    assert.deepEqual(await server.refusal('search', as(nobody, { body })), DENIED)
  assert.deepEqual(await server.refusal('search', { body: {} }), DENIED)
  assert.deepEqual(await server.refusal('fuzzySearch', { body: { Text: 'ab' } }), DENIED)
})

const rights = [
  { rules: 'node { policy = "read" }', contexts: ['nodes'] },
  { rules: 'node_pool "d*" { policy = "read" }', contexts: ['node_pools'] },
  {
    rules: 'namespace "default" { capabilities = ["read-job"] }',
    contexts: [
      'allocs',
      'deployment',
      'evals',
      'jobs',
      'namespaces',
      'recommendations',
      'scaling_policy',
    ],
  },
  { rules: 'namespace "default" { capabilities = ["list-jobs"] }', contexts: ['namespaces'] },
  {
    rules: 'namespace "default" { variables { path "a" { capabilities = ["list"] } } }',
    contexts: ['vars'],
  },
]
for (const { rules, contexts } of rights)
  test(`search: ${rules} opens ${contexts.join(', ')}`, async () => {
    const { server, as, client } = await aSecuredServer()
    await fill(server)
    const token = await client(rules)
    const { Matches } = await server.ok('search', as(token, { body: {} }))
    assert.deepEqual(Object.keys(Matches).toSorted(), contexts)
    const shut = contexts.includes('nodes') ? 'jobs' : 'nodes'
    assert.deepEqual(await server.refusal('search', as(token, { body: { Context: shut } })), DENIED)
  })

test('search: in all namespaces, only what the token may read', async () => {
  const { server, as, client, root } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  await fill(server)
  const token = await client('namespace "other" { policy = "read" }')
  const call = { body: { Prefix: '' }, query: { namespace: '*' } }
  const { Matches } = await server.ok('search', as(token, call))
  assert.deepEqual(
    [Matches['jobs'], Matches['evals'], Matches['allocs'], Matches['namespaces']],
    [['web-cache'], [anId('eval', 2)], [anId('alloc', 2)], ['other']],
  )
  assert.deepEqual(await server.refusal('search', as(token, { body: { Context: 'jobs' } })), DENIED)
  const text = { body: { Text: 'web' }, query: { namespace: '*' } }
  const names = (await server.ok('fuzzySearch', as(token, text))).Matches
  assert.deepEqual(names['jobs'], [{ ID: 'web-cache', Scope: ['other', 'web-cache'] }])
})

test('search: namespaces lie in no namespace, and are found from any', async () => {
  const { server, as, client, root } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'other' } }))
  const token = await client('namespace "other" { policy = "write" }')
  for (const Context of ['namespaces', 'all']) {
    const { Matches } = await server.ok('search', as(token, { body: { Prefix: 'o', Context } }))
    assert.deepEqual(Matches, { namespaces: ['other'] })
  }
})
