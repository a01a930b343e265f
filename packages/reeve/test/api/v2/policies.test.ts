import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { ACME, aPolicy, HARD, showPolicy, upload, uploaded, withPolicies } from './policy-calls.ts'

const DENY = 'data.reeve.deny'

function patch(it: GovernanceServer, id: string, attributes: object) {
  const body = aBody('policies', attributes)
  return it.ok('updatePolicy', { params: { policy_id: id }, body })
}

async function list(it: GovernanceServer, query: Record<string, string> = {}) {
  const { data, meta } = await it.ok('listOrganizationPolicies', { params: ACME, query })
  return { names: data.map(({ attributes }) => attributes.name), ...meta.pagination, data }
}

// Create, show, list

/** The answer to create as show gives it: with the download's path. */
function shown({ links, ...rest }: v2.CreatedRunPolicy): object {
  return { ...rest, links: { ...links, download: `${links.self}/download` } }
}

test('L1–L4 list: all by name, one page, a search, a kind', async () => {
  const it = await withPolicies()
  const second = await aPolicy(it, { name: 'b-second' })
  const first = await aPolicy(it, { name: 'a-first', description: 'd' })
  const opa = await aPolicy(it, {
    name: 'Rego',
    kind: 'opa',
    query: DENY,
    'enforcement-level': 'mandatory',
  })
  const all = await list(it)
  assert.deepEqual(all.data, [first, second, opa].map(shown))
  assert.deepEqual([all['current-page'], all['total-count']], [1, 3])
  const beyond = await list(it, { 'page[number]': '999', 'page[size]': '100' })
  assert.deepEqual([beyond.names, beyond['current-page'], beyond['total-count']], [[], 999, 3])
  const search = await list(it, { 'search[name]': 'SEC' })
  assert.deepEqual([search.names, search['total-count']], [['b-second'], 1])
  const kind = await list(it, { 'filter[kind]': 'opa' })
  assert.deepEqual([kind.names, kind['total-count']], [['Rego'], 1])
  assert.deepEqual((await list(it, { 'filter[kind]': 'opa', 'search[name]': 'b' })).names, [])
})

test('list: sorts by name and by the last change, one that never changed first', async () => {
  const it = await withPolicies()
  for (const name of ['a', 'b', 'c']) {
    it.server.clock.advance(1_000)
    await aPolicy(it, { name })
  }
  const { data } = await list(it)
  for (const { id } of [data[1], data[0]].flatMap((one) => one ?? [])) {
    it.server.clock.advance(1_000)
    await patch(it, id, { description: 'changed' })
  }
  assert.deepEqual((await list(it, { sort: '-name' })).names, ['c', 'b', 'a'])
  assert.deepEqual((await list(it, { sort: 'updated-at' })).names, ['c', 'b', 'a'])
  assert.deepEqual((await list(it, { sort: '-updated-at', 'search[name]': 'a' })).names, ['a'])
  assert.deepEqual((await list(it, { sort: '-updated-at' })).names, ['a', 'b', 'c'])
})

test('list: an unknown kind or sort is 400', async () => {
  const it = await withPolicies()
  for (const query of [{ 'filter[kind]': 'other' }, { sort: 'kind' }, { include: 'runs' }]) {
    const [status] = await it.refusal('listOrganizationPolicies', { params: ACME, query })
    assert.equal(status, 400, JSON.stringify(query))
  }
})

test('L5 create: without a kind it is native, from the deprecated enforce', async () => {
  const it = await withPolicies()
  const body = aBody('policies', {
    name: 'old',
    enforce: [{ path: 'old.native', mode: 'soft-mandatory' }],
  })
  const { data } = await it.ok('createPolicy', { params: ACME, body })
  assert.deepEqual(
    [data.attributes.kind, data.attributes['enforcement-level']],
    ['native', 'soft-mandatory'],
  )
  assert.deepEqual((await showPolicy(it, data.id)).attributes.kind, 'native')
})

test('L6, L8 create: a native policy, whose query is ignored', async () => {
  const it = await withPolicies()
  const { attributes, links, relationships, id } = await aPolicy(it, {
    name: 'p_1-X',
    kind: 'native',
    description: 'd',
    query: DENY,
  })
  assert.match(id, /^pol-[1-9A-Za-z]{16}$/)
  assert.deepEqual(attributes, {
    name: 'p_1-X',
    description: 'd',
    kind: 'native',
    query: null,
    'enforcement-level': 'hard-mandatory',
    enforce: [{ path: 'p_1-X.native', mode: 'hard-mandatory' }],
    'policy-set-count': 0,
    'updated-at': null,
    'created-at': attributes['created-at'],
    'code-size': null,
    'code-sha256': null,
    diagnostics: [],
  })
  assert.deepEqual(relationships, {
    organization: { data: { id: 'acme', type: 'organizations' } },
    'policy-sets': { data: [] },
  })
  assert.deepEqual(links, {
    self: `/api/v2/policies/${id}`,
    upload: `/api/v2/policies/${id}/upload`,
  })
})

test('L7 create: an opa policy has its query', async () => {
  const it = await withPolicies()
  const attributes = { name: 'o', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const made = await aPolicy(it, attributes)
  assert.equal(made.attributes.query, DENY)
  assert.deepEqual(made.attributes.enforce, [{ path: 'o.rego', mode: 'advisory' }])
})

const NATIVE_LEVELS = 'hard-mandatory, soft-mandatory, advisory'
const NAME_RULE = 'invalid attribute: Name may only contain letters, numbers, - and _'
const REFUSED: readonly { readonly attributes: object; readonly says: readonly string[] }[] = [
  { attributes: { ...HARD, name: 'a/b' }, says: [NAME_RULE] },
  { attributes: { ...HARD, name: 'a b' }, says: [NAME_RULE] },
  { attributes: { ...HARD }, says: ["invalid attribute: Name can't be blank"] },
  {
    attributes: { ...HARD, name: 'n'.repeat(91) },
    says: ['invalid attribute: Name is too long (maximum is 90 characters)'],
  },
  {
    attributes: { name: 'n', kind: 'opa', 'enforcement-level': 'advisory' },
    says: ["invalid attribute: Query can't be blank"],
  },
  {
    attributes: { name: 'n', kind: 'opa', query: ' ', 'enforcement-level': 'advisory' },
    says: ["invalid attribute: Query can't be blank"],
  },
  { attributes: { name: 'n' }, says: ["invalid attribute: Enforcement level can't be blank"] },
  {
    attributes: { name: 'n', enforce: [] },
    says: ["invalid attribute: Enforcement level can't be blank"],
  },
  {
    attributes: { name: 'n', enforce: [{ path: 'n.native' }] },
    says: ["invalid attribute: Mode can't be blank"],
  },
  {
    attributes: { ...HARD, name: 'n', kind: 'other' },
    says: ['invalid attribute: Kind must be one of native, opa'],
  },
  {
    attributes: { ...HARD, name: 'TAKEN' },
    says: ['invalid attribute: Name has already been taken'],
  },
  {
    attributes: { name: 'n', 'enforcement-level': 'x' },
    says: [`invalid attribute: Enforcement level must be one of ${NATIVE_LEVELS}`],
  },
  {
    attributes: { name: 'n', kind: 'opa', query: DENY, 'enforcement-level': 'soft-mandatory' },
    says: ['invalid attribute: Enforcement level must be one of mandatory, advisory'],
  },
  {
    attributes: { name: 'n', 'enforcement-level': null },
    says: ["invalid attribute: Enforcement level can't be blank"],
  },
  {
    attributes: { name: 'n', enforce: [{ path: 'n.native', mode: 'x' }] },
    says: [`invalid attribute: Mode must be one of ${NATIVE_LEVELS}`],
  },
  {
    attributes: {},
    says: [
      "invalid attribute: Name can't be blank",
      "invalid attribute: Enforcement level can't be blank",
    ],
  },
  {
    attributes: { name: 'a b', kind: 'opa' },
    says: [
      NAME_RULE,
      "invalid attribute: Query can't be blank",
      "invalid attribute: Enforcement level can't be blank",
    ],
  },
  {
    attributes: { name: 'a b', enforce: [{ path: 'a b.native', mode: 'x' }] },
    says: [NAME_RULE],
  },
  {
    attributes: { name: 'a b', kind: 7, query: 7 },
    says: [
      NAME_RULE,
      'invalid attribute: Kind must be one of native, opa',
      'invalid attribute: Query must be text',
    ],
  },
  {
    attributes: { name: 'taken', kind: 'opa' },
    says: [
      'invalid attribute: Name has already been taken',
      "invalid attribute: Query can't be blank",
      "invalid attribute: Enforcement level can't be blank",
    ],
  },
]
for (const { attributes, says } of REFUSED)
  test(`L9 create: ${JSON.stringify(attributes).slice(0, 80)} is refused`, async () => {
    const it = await withPolicies()
    await aPolicy(it, { name: 'taken' })
    const body = aBody('policies', attributes)
    assert.deepEqual(await it.refusal('createPolicy', { params: ACME, body }), [422, ...says])
    assert.deepEqual((await list(it)).names, ['taken'])
  })

test('create: goes into the sets that it names, or nowhere', async () => {
  const it = await withPolicies()
  await it.organization('other')
  const set = async (organization: string, attributes: object) =>
    (
      await it.created('createPolicySet', {
        params: { organization_name: organization },
        body: aBody('policy-sets', attributes),
      })
    ).data.id
  const good = await set('acme', { name: 'good' })
  const opa = await set('acme', { name: 'opa', kind: 'opa' })
  const elsewhere = await set('other', { name: 'good' })
  const sets = (ids: readonly string[]) => ({
    'policy-sets': { data: ids.map((id) => ({ id, type: 'policy-sets' })) },
  })
  const body = aBody(
    'policies',
    { ...HARD, name: 'p' },
    sets([good, opa, elsewhere, 'nonexisting']),
  )
  const reply = await it.call('createPolicy', { params: ACME, body })
  // Held against the contract.
  const { errors } = reply.json as v2.ErrorDocument
  assert.deepEqual(
    errors.map(({ detail, source }) => [source?.pointer, detail]),
    [
      [
        '/data/relationships/policy-sets/data/1',
        `Policy set ${opa} holds policies of the kind opa`,
      ],
      ['/data/relationships/policy-sets/data/2', `Policy set ${elsewhere} does not exist`],
      ['/data/relationships/policy-sets/data/3', 'Policy set nonexisting does not exist'],
    ],
  )
  assert.deepEqual((await list(it)).names, [])
  const made = await aPolicy(it, { name: 'p' }, sets([good, good]))
  assert.equal(made.attributes['policy-set-count'], 1)
  assert.deepEqual(made.relationships['policy-sets'].data, [{ id: good, type: 'policy-sets' }])
  const { included } = await it.ok('readPolicy', {
    params: { policy_id: made.id },
    query: { include: 'policy-sets' },
  })
  assert.deepEqual(
    included?.map(({ id, type, attributes }) => [type, id, attributes?.['policy-count']]),
    [['policy-sets', good, 1]],
  )
  const page = await it.ok('listOrganizationPolicies', {
    params: ACME,
    query: { include: 'policy_sets' },
  })
  assert.deepEqual(page.included, included)
})

test('L10 show: before an upload there is one enforce entry all the same', async () => {
  const it = await withPolicies()
  const made = await aPolicy(it, { name: 'p', description: 'd' })
  const { attributes, relationships } = await showPolicy(it, made.id)
  assert.deepEqual(attributes, made.attributes)
  assert.equal(relationships.organization.data.id, 'acme')
  assert.equal(attributes.enforce.length, 1)
})

test('L11 show: after an upload it says what was stored', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p', description: 'd' })
  const text = 'main = rule { true }\n'
  const { attributes } = await uploaded(it, id, text)
  assert.deepEqual(attributes.enforce, [{ path: 'p.native', mode: 'hard-mandatory' }])
  assert.equal(attributes.description, 'd')
  assert.equal(attributes['code-size'], text.length)
  assert.equal(attributes['code-sha256'], createHash('sha256').update(text).digest('hex'))
  assert.notEqual(attributes['updated-at'], null)
  assert.deepEqual(attributes.diagnostics, [])
})

test('L12 show: what is not there is 404', async () => {
  const it = await withPolicies()
  assert.deepEqual(
    await it.refusal('readPolicy', { params: { policy_id: 'nonexisting' } }),
    NOT_FOUND,
  )
})

// Update

test('L13 update: enforce with the path of the file changes the level', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const { data } = await patch(it, id, { enforce: [{ path: 'p.native', mode: 'advisory' }] })
  assert.deepEqual(data.attributes.enforce, [{ path: 'p.native', mode: 'advisory' }])
  assert.equal(data.attributes['enforcement-level'], 'advisory')
})

const ONE_CHANGE = [
  { row: 'L14', attributes: { description: 'new' } },
  { row: 'L15', attributes: { query: 'data.other.deny' } },
  { row: 'L16', attributes: { 'enforcement-level': 'mandatory' } },
] as const
for (const { row, attributes } of ONE_CHANGE)
  test(`${row} update: only ${Object.keys(attributes).join()} changes`, async () => {
    const it = await withPolicies()
    const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
    const before = await aPolicy(it, { ...opa, description: 'd' })
    const { data } = await patch(it, before.id, attributes)
    const { 'updated-at': updated, ...after } = data.attributes
    const { 'updated-at': never, ...same } = before.attributes
    const mode = 'enforcement-level' in attributes ? attributes['enforcement-level'] : 'advisory'
    assert.deepEqual(after, { ...same, ...attributes, enforce: [{ path: 'p.rego', mode }] })
    assert.deepEqual([never, typeof updated], [null, 'string'])
    assert.deepEqual(await showPolicy(it, before.id), data)
  })

test('L17 update: a query on a native policy is ignored, and nothing is written', async () => {
  const it = await withPolicies()
  const before = await aPolicy(it, { name: 'p' })
  const index = it.server.context.store.index
  const { data } = await patch(it, before.id, { query: DENY, name: 'p', kind: 'native' })
  assert.deepEqual(data.attributes, before.attributes)
  assert.equal(it.server.context.store.index, index)
})

test('update: name and kind cannot be changed, and a query cannot be cleared', async () => {
  const it = await withPolicies()
  const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const { id } = await aPolicy(it, opa)
  const body = aBody('policies', { name: 'P', kind: 'native', query: null })
  assert.deepEqual(await it.refusal('updatePolicy', { params: { policy_id: id }, body }), [
    422,
    'invalid attribute: Name cannot be changed',
    'invalid attribute: Kind cannot be changed',
    "invalid attribute: Query can't be blank",
  ])
  const other = { data: { type: 'policies', id: 'pol-other' } }
  const [status] = await it.refusal('updatePolicy', { params: { policy_id: id }, body: other })
  assert.equal(status, 409)
})

test('update: a level that the kind does not have is refused with those that it has', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const refusal = (level: unknown) =>
    it.refusal('updatePolicy', {
      params: { policy_id: id },
      body: aBody('policies', { 'enforcement-level': level }),
    })
  const rule = `invalid attribute: Enforcement level must be one of ${NATIVE_LEVELS}`
  for (const level of ['x', '', 'mandatory']) assert.deepEqual(await refusal(level), [422, rule])
  const blank = "invalid attribute: Enforcement level can't be blank"
  assert.deepEqual(await refusal(null), [422, blank])
})

test('update: another query is held against the code again', async () => {
  const it = await withPolicies()
  const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const { id } = await aPolicy(it, opa)
  const { attributes } = await uploaded(it, id, 'package reeve\n\ndeny := []\n')
  assert.deepEqual(attributes.diagnostics, [])
  const { data } = await patch(it, id, { query: 'data..deny' })
  assert.match(data.attributes.diagnostics[0]?.message ?? '', /^query: /)
})

test('L18 delete: gone for good, also from its sets', async () => {
  const it = await withPolicies()
  const set = await it.created('createPolicySet', {
    params: ACME,
    body: aBody('policy-sets', { name: 's' }),
  })
  const sets = { 'policy-sets': { data: [{ id: set.data.id, type: 'policy-sets' }] } }
  const { id } = await aPolicy(it, { name: 'p' }, sets)
  await uploaded(it, id, 'main = true')
  await it.done('deletePolicy', { params: { policy_id: id } })
  assert.deepEqual(await it.refusal('readPolicy', { params: { policy_id: id } }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deletePolicy', { params: { policy_id: id } }), NOT_FOUND)
  const { data } = await it.ok('readPolicySet', { params: { policy_set_id: set.data.id } })
  assert.equal(data.attributes['policy-count'], 0)
  const { tables } = it.server.context.store
  assert.deepEqual([tables.policy_codes.size, tables.policy_set_members.size], [0, 0])
  assert.equal(it.server.engine.disk.blobs.size, 0)
})

// Who may

const CALLERS = [
  { access: {}, reads: false, writes: false },
  { access: { 'manage-projects': true, 'manage-workspaces': true }, reads: false, writes: false },
  { access: { 'manage-policy-overrides': true }, reads: false, writes: false },
  { access: { 'read-policies': true }, reads: true, writes: false },
  { access: { 'manage-policies': true }, reads: true, writes: true },
]
for (const { access, reads, writes } of CALLERS)
  test(`who has ${JSON.stringify(access)} ${reads ? 'reads' : 'sees no'} policies, ${writes ? 'and' : 'never'} writes`, async () => {
    const it = await withPolicies()
    const { id } = await aPolicy(it, { name: 'p' })
    await uploaded(it, id, 'main = true')
    const { token: as } = await it.team('acme', 'team', access)
    const params = { policy_id: id }
    const refused = async (route: v2.V2RouteId, call: object): Promise<boolean> =>
      (await it.call(route, { ...call, as })).status === 404
    assert.equal(await refused('readPolicy', { params }), !reads)
    assert.equal(await refused('listOrganizationPolicies', { params: ACME }), !reads)
    assert.equal(await refused('listPolicyVersions', { params }), !reads)
    // A body that is wrong tells nobody more.
    const body = writes ? aBody('policies', { description: 'x' }) : {}
    assert.equal(await refused('updatePolicy', { params, body }), !writes)
    const made = writes ? aBody('policies', { ...HARD, name: 'q' }) : {}
    assert.equal(await refused('createPolicy', { params: ACME, body: made }), !writes)
    assert.equal((await upload(it, id, { bytes: 'main = 1', as })).status, writes ? 200 : 404)
    assert.equal(await refused('deletePolicy', { params }), !writes)
  })

test('a policy of another organization is not there', async () => {
  const it = await withPolicies()
  await it.organization('other')
  const { id } = await aPolicy(it, { name: 'p' })
  const { token: as } = await it.team('other', 'team', { 'manage-policies': true })
  assert.deepEqual(await it.refusal('readPolicy', { params: { policy_id: id }, as }), NOT_FOUND)
  const params = { organization_name: 'other' }
  const { data } = await it.ok('listOrganizationPolicies', { params, as })
  assert.deepEqual(data, [])
  const body = aBody('policies', { ...HARD, name: 'p' })
  await it.ok('createPolicy', { params, as, body })
})
