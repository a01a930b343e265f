import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND, refusedBy, type GovernanceServer } from './harness.ts'

const ACME = { organization_name: 'acme' }
const HARD = { 'enforcement-level': 'hard-mandatory' }
const DENY = 'data.reeve.deny'

async function withAcme(): Promise<GovernanceServer> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return it
}

async function policy(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policies', { ...HARD, ...attributes }, relationships)
  return (await it.ok('createPolicy', { params: ACME, body })).data
}

async function show(it: GovernanceServer, id: string): Promise<v2.RunPolicy> {
  return (await it.ok('readPolicy', { params: { policy_id: id } })).data
}

function patch(it: GovernanceServer, id: string, attributes: object) {
  const body = aBody('policies', attributes)
  return it.ok('updatePolicy', { params: { policy_id: id }, body })
}

interface Upload {
  readonly as?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
}

async function upload(
  it: GovernanceServer,
  id: string,
  bytes: Buffer | string | undefined,
  { as = it.root, headers = {}, query = '' }: Upload = {},
) {
  return await it.server.send('PUT', `/api/v2/policies/${id}/upload${query}`, {
    body: bytes,
    headers: { ...(as === null ? {} : { authorization: `Bearer ${as}` }), ...headers },
  })
}

async function uploaded(it: GovernanceServer, id: string, text: string): Promise<v2.RunPolicy> {
  const reply = await upload(it, id, text, {
    headers: { 'content-type': 'application/octet-stream' },
  })
  assert.equal(reply.status, 200, reply.text)
  const { data } = JSON.parse(reply.text) as v2.RunPolicyDocument
  assert.deepEqual(data, await show(it, id))
  return data
}

async function download(it: GovernanceServer, id: string, headers: object = {}, query = '') {
  return await it.server.send('GET', `/api/v2/policies/${id}/download${query}`, {
    headers: { authorization: `Bearer ${it.root}`, ...headers },
  })
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
  const it = await withAcme()
  const second = await policy(it, { name: 'b-second' })
  const first = await policy(it, { name: 'a-first', description: 'd' })
  const opa = await policy(it, {
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
  const it = await withAcme()
  for (const name of ['a', 'b', 'c']) {
    it.server.clock.advance(1_000)
    await policy(it, { name })
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
  const it = await withAcme()
  for (const query of [{ 'filter[kind]': 'other' }, { sort: 'kind' }, { include: 'runs' }]) {
    const [status] = await it.refusal('listOrganizationPolicies', { params: ACME, query })
    assert.equal(status, 400, JSON.stringify(query))
  }
})

test('L5 create: without a kind it is native, from the deprecated enforce', async () => {
  const it = await withAcme()
  const body = aBody('policies', {
    name: 'old',
    enforce: [{ path: 'old.native', mode: 'soft-mandatory' }],
  })
  const { data } = await it.ok('createPolicy', { params: ACME, body })
  assert.deepEqual(
    [data.attributes.kind, data.attributes['enforcement-level']],
    ['native', 'soft-mandatory'],
  )
  assert.deepEqual((await show(it, data.id)).attributes.kind, 'native')
})

test('L6, L8 create: a native policy, whose query is ignored', async () => {
  const it = await withAcme()
  const { attributes, links, relationships, id } = await policy(it, {
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
  const it = await withAcme()
  const attributes = { name: 'o', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const made = await policy(it, attributes)
  assert.equal(made.attributes.query, DENY)
  assert.deepEqual(made.attributes.enforce, [{ path: 'o.rego', mode: 'advisory' }])
})

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
    const it = await withAcme()
    await policy(it, { name: 'taken' })
    const body = aBody('policies', attributes)
    assert.deepEqual(await it.refusal('createPolicy', { params: ACME, body }), [422, ...says])
    assert.deepEqual((await list(it)).names, ['taken'])
  })

test('create: goes into the sets that it names, or nowhere', async () => {
  const it = await withAcme()
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
  const made = await policy(it, { name: 'p' }, sets([good, good]))
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
  const it = await withAcme()
  const made = await policy(it, { name: 'p', description: 'd' })
  const { attributes, relationships } = await show(it, made.id)
  assert.deepEqual(attributes, made.attributes)
  assert.equal(relationships.organization.data.id, 'acme')
  assert.equal(attributes.enforce.length, 1)
})

test('L11 show: after an upload it says what was stored', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p', description: 'd' })
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
  const it = await withAcme()
  assert.deepEqual(
    await it.refusal('readPolicy', { params: { policy_id: 'nonexisting' } }),
    NOT_FOUND,
  )
})

// Update

test('L13 update: enforce with the path of the file changes the level', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
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
    const it = await withAcme()
    const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
    const before = await policy(it, { ...opa, description: 'd' })
    const { data } = await patch(it, before.id, attributes)
    const { 'updated-at': updated, ...after } = data.attributes
    const { 'updated-at': never, ...same } = before.attributes
    const level = attributes as { readonly 'enforcement-level'?: string }
    const mode = level['enforcement-level'] ?? 'advisory'
    assert.deepEqual(after, { ...same, ...attributes, enforce: [{ path: 'p.rego', mode }] })
    assert.deepEqual([never, typeof updated], [null, 'string'])
    assert.deepEqual(await show(it, before.id), data)
  })

test('L17 update: a query on a native policy is ignored, and nothing is written', async () => {
  const it = await withAcme()
  const before = await policy(it, { name: 'p' })
  const index = it.server.context.store.index
  const { data } = await patch(it, before.id, { query: DENY, name: 'p', kind: 'native' })
  assert.deepEqual(data.attributes, before.attributes)
  assert.equal(it.server.context.store.index, index)
})

test('update: name and kind cannot be changed, and a query cannot be cleared', async () => {
  const it = await withAcme()
  const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const { id } = await policy(it, opa)
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

test('update: another query is held against the code again', async () => {
  const it = await withAcme()
  const opa = { name: 'p', kind: 'opa', query: DENY, 'enforcement-level': 'advisory' }
  const { id } = await policy(it, opa)
  const { attributes } = await uploaded(it, id, 'package reeve\n\ndeny := []\n')
  assert.deepEqual(attributes.diagnostics, [])
  const { data } = await patch(it, id, { query: 'data..deny' })
  assert.match(data.attributes.diagnostics[0]?.message ?? '', /^query: /)
})

test('L18 delete: gone for good, also from its sets', async () => {
  const it = await withAcme()
  const set = await it.created('createPolicySet', {
    params: ACME,
    body: aBody('policy-sets', { name: 's' }),
  })
  const sets = { 'policy-sets': { data: [{ id: set.data.id, type: 'policy-sets' }] } }
  const { id } = await policy(it, { name: 'p' }, sets)
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

// Upload and download

test('L19 upload: text, nothing and no body at all are taken', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const bodies = [
    { bytes: 'main = true', headers: { 'content-type': 'application/octet-stream' }, size: 11 },
    { bytes: '', headers: { 'content-type': 'application/octet-stream' }, size: 0 },
    { bytes: undefined, headers: {}, size: 0 },
    { bytes: 'main = false', headers: {}, size: 12 },
    { bytes: 'main = 1', headers: { 'content-type': 'text/plain; charset=latin1' }, size: 8 },
    { bytes: gzipSync('main = 22'), headers: { 'content-encoding': 'gzip' }, size: 9 },
  ]
  for (const { bytes, headers, size } of bodies) {
    const reply = await upload(it, id, bytes, { headers })
    assert.equal(reply.status, 200, reply.text)
    assert.equal((await show(it, id)).attributes['code-size'], size)
  }
})

test('upload: empty code is kept with a warning', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, '')
  assert.deepEqual(attributes.diagnostics, [
    { severity: 'warning', message: 'the policy is empty', line: 1, column: 1 },
  ])
  const reply = await download(it, id)
  assert.deepEqual([reply.status, reply.text], [200, ''])
})

test('upload: code that does not parse is kept with its findings, unless it must parse', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, 'main = rule {\n  1 +\n}')
  assert.deepEqual(
    attributes.diagnostics.map(({ severity, line }) => [severity, line]),
    [['error', 3]],
  )
  await uploaded(it, id, 'main = true')
  const before = await show(it, id)
  it.server.clock.advance(1_000)
  const reply = await upload(it, id, 'main = rule {', { query: '?validate=strict' })
  const [status, text] = refusedBy(reply)
  assert.equal(status, 422)
  assert.match(text ?? '', /^unprocessable entity: line 1, column \d+: /)
  assert.deepEqual(await show(it, id), before)
  assert.equal((await upload(it, id, 'main = 2', { query: '?validate=strict' })).status, 200)
  assert.equal((await upload(it, id, 'main = 2', { query: '?validate=lax' })).status, 400)
})

test('upload: what is no text is 422, and nothing is saved', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  await uploaded(it, id, 'main = true')
  const before = await show(it, id)
  it.server.clock.advance(1_000)
  const bodies = [
    { bytes: Buffer.from([0x61, 0xff]), says: 'Policy code must be UTF-8 text' },
    { bytes: Buffer.from([0x61, 0xe2, 0x82]), says: 'Policy code must be UTF-8 text' },
    { bytes: Buffer.from('a\0b'), says: 'Policy code must not hold NUL bytes' },
  ]
  for (const { bytes, says } of bodies)
    assert.deepEqual(refusedBy(await upload(it, id, bytes)), [422, `unprocessable entity: ${says}`])
  assert.deepEqual(await show(it, id), before)
})

const TEN_MIB = 10 * 1024 * 1024
const TOO_LARGE = [413, `payload too large: The body is larger than ${TEN_MIB} bytes.`]

test('upload: ten MiB are taken, one byte more is 413 and leaves what there was', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const most = Buffer.alloc(TEN_MIB, '# a comment\n')
  assert.equal((await upload(it, id, most)).status, 200)
  const before = await show(it, id)
  assert.equal(before.attributes['code-size'], TEN_MIB)
  it.server.clock.advance(1_000)
  const more = Buffer.alloc(TEN_MIB + 1, 'a')
  assert.deepEqual(refusedBy(await upload(it, id, more)), TOO_LARGE)
  // Nobody says how long it is once it is unpacked.
  const bomb = await upload(it, id, gzipSync(more), { headers: { 'content-encoding': 'gzip' } })
  assert.deepEqual(refusedBy(bomb), TOO_LARGE)
  assert.deepEqual(await show(it, id), before)
  assert.equal((await download(it, id)).text.length, TEN_MIB)
})

test('upload: who may not is told before anything is read, and so is a form', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const reader = await it.team('acme', 'readers', { 'read-policies': true })
  const more = Buffer.alloc(TEN_MIB + 1, 'a')
  assert.equal((await upload(it, id, more, { as: null })).status, 401)
  assert.deepEqual(refusedBy(await upload(it, id, more, { as: reader.token })), NOT_FOUND)
  const form = await upload(it, id, more, { headers: { 'content-type': 'multipart/form-data' } })
  assert.equal(form.status, 415)
  assert.equal(form.headers['connection'], 'close')
})

test('L20 download: 404 before an upload, then the very bytes', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  assert.deepEqual(refusedBy(await download(it, id)), NOT_FOUND)
  const text = '\uFEFFmain = rule { true }\r\n# ünïcode \u{1F600}\n\n'
  await uploaded(it, id, text)
  const reply = await download(it, id)
  assert.deepEqual([reply.status, reply.text], [200, text])
  const { headers } = reply
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['content-disposition'], 'attachment; filename="p.native"')
  assert.equal(headers['etag'], `"${createHash('sha256').update(text).digest('hex')}"`)
  for (const [named, status] of [
    [headers['etag'], 304],
    [`W/${headers['etag']}, "x"`, 304],
    ['*', 304],
    ['"x"', 200],
  ] as const) {
    const again = await download(it, id, { 'if-none-match': named })
    assert.equal(again.status, status)
    assert.equal(again.text, status === 304 ? '' : text)
  }
})

test('versions: the last twenty uploads are kept, and each can be downloaded', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  for (let i = 0; i < 22; i++) await uploaded(it, id, `main = ${i}`)
  // The same again is no version of its own.
  await uploaded(it, id, 'main = 21')
  const { data } = await it.ok('listPolicyVersions', { params: { policy_id: id } })
  assert.equal(data.length, 20)
  const [newest] = data
  const oldest = data.at(-1)
  assert.ok(newest !== undefined && oldest !== undefined)
  assert.equal((await download(it, id, {}, `?version=${oldest.id}`)).text, 'main = 2')
  assert.equal((await download(it, id)).text, 'main = 21')
  assert.equal(newest.attributes['code-sha256'], (await show(it, id)).attributes['code-sha256'])
  assert.equal(it.server.engine.disk.blobs.size, 20)
  const other = await policy(it, { name: 'other' })
  await uploaded(it, other.id, 'main = 21')
  assert.equal(it.server.engine.disk.blobs.size, 20, 'equal texts are one')
  const reply = await download(it, other.id, {}, `?version=${oldest.id}`)
  assert.deepEqual(refusedBy(reply), NOT_FOUND)
  await it.done('deletePolicy', { params: { policy_id: id } })
  assert.equal((await download(it, other.id)).text, 'main = 21')
})

test('L21 times have milliseconds and a Z', async () => {
  const it = await withAcme()
  const { id } = await policy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, 'main = true')
  for (const time of [attributes['created-at'], attributes['updated-at']])
    assert.match(time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
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
    const it = await withAcme()
    const { id } = await policy(it, { name: 'p' })
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
    assert.equal((await upload(it, id, 'main = 1', { as })).status, writes ? 200 : 404)
    assert.equal(await refused('deletePolicy', { params }), !writes)
  })

test('a policy of another organization is not there', async () => {
  const it = await withAcme()
  await it.organization('other')
  const { id } = await policy(it, { name: 'p' })
  const { token: as } = await it.team('other', 'team', { 'manage-policies': true })
  assert.deepEqual(await it.refusal('readPolicy', { params: { policy_id: id }, as }), NOT_FOUND)
  const params = { organization_name: 'other' }
  const { data } = await it.ok('listOrganizationPolicies', { params, as })
  assert.deepEqual(data, [])
  const body = aBody('policies', { ...HARD, name: 'p' })
  await it.ok('createPolicy', { params, as, body })
})
