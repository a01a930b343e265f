import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace } from './workspace-calls.ts'

const LINEAGE = 'a86ac4be-bb9f-1bea-0fd2-818e442ae91b'

interface StateWish {
  readonly serial: number
  readonly lineage?: string
  readonly outputs?: object
  readonly resources?: readonly object[]
}

/** A state file; the name of the tool's version is the file format's own. */
function aState({ serial, lineage = LINEAGE, outputs = {}, resources = [] }: StateWish): Buffer {
  const text = JSON.stringify({ version: 4, serial, lineage, outputs, resources }, null, 2)
  // JSON.stringify has no such number.
  return Buffer.from(text.replaceAll('"BIG"', '12345678901234567890'))
}

function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex')
}

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id } = await newWorkspace(it, 'web', { projectId })
  const params = { workspace_id: id }
  const world = {
    it,
    projectId,
    params,
    lock: (as?: string) => it.ok('lockWorkspace', { params, ...(as !== undefined && { as }) }),
    body: (bytes: Buffer, wish: { serial: number; more?: object }) =>
      aBody('state-versions', {
        serial: wish.serial,
        md5: md5Of(bytes),
        lineage: LINEAGE,
        ...wish.more,
      }),
    announce: async (bytes: Buffer, wish: { serial: number; more?: object }, as?: string) => {
      const call = { params, body: world.body(bytes, wish), ...(as !== undefined && { as }) }
      return (await it.created('createStateVersion', call)).data
    },
    write: async (bytes: Buffer, wish: { serial: number; more?: object }) => {
      const made = await world.announce(bytes, wish)
      const put = await upload(it, made.attributes['hosted-state-upload-url'], bytes)
      assert.equal(put.status, 200, put.text)
      return made
    },
    current: async () => (await it.ok('readCurrentStateVersion', { params })).data,
  }
  return world
}

async function upload(it: GovernanceServer, url: string | null | undefined, bytes: Buffer) {
  const headers = { 'content-type': 'application/octet-stream' }
  return await it.server.send('PUT', new URL(url ?? '').pathname, { body: bytes, headers })
}

async function download(it: GovernanceServer, url: string | null | undefined) {
  const headers = { authorization: `Bearer ${it.root}`, 'accept-encoding': 'identity' }
  return await it.server.send('GET', new URL(url ?? '').pathname, { headers })
}

const RESOURCES = [
  { mode: 'managed', type: 'box', name: 'a', provider: 'p', instances: [{}, {}] },
  { mode: 'managed', type: 'box', name: 'b', module: 'module.m', provider: 'p', instances: [{}] },
  { mode: 'data', type: 'box', name: 'c', provider: 'p', instances: [{}] },
]

test('C68 a state is announced, uploaded without a token, and is the current one', async () => {
  const world = await aWorld()
  const { it } = world
  await world.lock()
  const bytes = aState({ serial: 1, resources: RESOURCES })
  const made = await world.announce(bytes, { serial: 1 })
  const { status, serial, size } = made.attributes
  assert.deepEqual([status, serial, size], ['pending', 1, 0])
  assert.deepEqual(await it.refusal('readCurrentStateVersion', world), NOT_FOUND)
  const json = Buffer.from('{"format_version":"1.0"}')
  // The two uploads come in any order.
  const urls = made.attributes
  assert.equal((await upload(it, urls['hosted-json-state-upload-url'], json)).status, 200)
  assert.equal((await upload(it, urls['hosted-state-upload-url'], bytes)).status, 200)
  const { attributes } = await world.current()
  assert.deepEqual(
    [attributes.status, attributes.size, attributes['resource-count'], attributes.lineage],
    ['finalized', bytes.length, 3, LINEAGE],
  )
  assert.deepEqual(
    attributes.resources?.map(({ name, module, count }) => [name, module, count]),
    [
      ['a', 'root', 2],
      ['b', 'm', 1],
    ],
  )
  assert.deepEqual(attributes.modules, { root: { box: 2 }, m: { box: 1 } })
  const got = await download(it, attributes['hosted-state-download-url'])
  assert.equal(got.bytes.equals(bytes), true)
  const gotJson = await download(it, attributes['hosted-json-state-download-url'])
  assert.equal(gotJson.bytes.equals(json), true)
  const shown = await it.ok('readWorkspace', world)
  assert.equal(shown.data.attributes['resource-count'], 3)
})

test('a state of too many objects is rejected, and the server goes on', async () => {
  const world = await aWorld()
  await world.lock()
  const objects = '{},'.repeat(5_000_000)
  const bytes = Buffer.from(`{"version":4,"serial":1,"lineage":"x","resources":[${objects}{}]}`)
  const made = await world.announce(bytes, { serial: 1 })
  const reply = await upload(world.it, made.attributes['hosted-state-upload-url'], bytes)
  assert.equal(reply.status, 422)
  assert.match(reply.text, /more values than can be read with 1536 MB of memory/)
  assert.deepEqual(await world.it.refusal('readCurrentStateVersion', world), NOT_FOUND)
})

test('C73 a state in the request is stored at once', async () => {
  const world = await aWorld()
  await world.lock()
  const bytes = aState({ serial: 7 })
  const more = { state: bytes.toString('base64'), 'json-state': btoa('{}') }
  const made = await world.announce(bytes, { serial: 7, more })
  assert.deepEqual(
    [made.attributes.status, made.attributes['hosted-state-upload-url']],
    ['finalized', undefined],
  )
  const current = await world.current()
  const got = await download(world.it, current.attributes['hosted-state-download-url'])
  assert.equal(got.bytes.equals(bytes), true)
  const refusal = await world.it.refusal('createStateVersion', {
    params: world.params,
    body: world.body(bytes, { serial: 8, more: { state: '!!' } }),
  })
  assert.deepEqual(refusal, [422, 'invalid attribute: State is not base64'])
})

test('C71 a state is written by the holder of the lock alone', async () => {
  const world = await aWorld()
  const { it, params, projectId } = world
  const writer = await it.team('acme', 'writers')
  await giveProject(it, { teamId: writer.id, projectId }, 'write')
  const bytes = aState({ serial: 1 })
  const body = world.body(bytes, { serial: 1 })
  const [status, text] = await it.refusal('createStateVersion', { params, body })
  assert.deepEqual([status, text?.includes('Workspace must be locked')], [409, true])
  await world.lock(writer.token)
  const foreign = await it.refusal('createStateVersion', { params, body })
  assert.deepEqual(foreign, [409, 'conflict: Workspace is locked by Team writers'])
  await world.announce(bytes, { serial: 1 }, writer.token)
})

const wrongStates: readonly (readonly [string, Buffer, RegExp])[] = [
  ['has another md5', aState({ serial: 1, outputs: { a: { value: 1, type: 'number' } } }), /md5/],
  ['is no JSON', Buffer.from('{'), /not JSON/],
  ['is a list', Buffer.from('[]'), /not a JSON object/],
  ['has another format', Buffer.from('{"version":3}'), /format 3; format 4 is expected/],
  ['has no serial', Buffer.from('{"version":4}'), /no serial/],
]
for (const [what, bytes, text] of wrongStates)
  test(`C72 a state that ${what} is refused, and its version discarded`, async () => {
    const world = await aWorld()
    await world.lock()
    const made = await world.announce(aState({ serial: 1 }), { serial: 1 })
    const put = await upload(world.it, made.attributes['hosted-state-upload-url'], bytes)
    assert.equal(put.status, 422)
    assert.match(put.text, text)
    const call = { params: { state_version_id: made.id } }
    const { data } = await world.it.ok('readStateVersion', call)
    assert.equal(data.attributes.status, 'discarded')
    // The workspace is not held up by it.
    await world.it.ok('unlockWorkspace', world)
  })

test('serial and lineage of the file are those that were announced', async () => {
  const world = await aWorld()
  await world.lock()
  const cases = [
    [aState({ serial: 2 }), /serial of the state is 2, and 1 was announced/],
    [aState({ serial: 1, lineage: 'other' }), /lineage of the state is other/],
  ] as const
  for (const [bytes, text] of cases) {
    const made = await world.announce(bytes, { serial: 1 })
    const put = await upload(world.it, made.attributes['hosted-state-upload-url'], bytes)
    assert.deepEqual([put.status, text.test(put.text)], [422, true], put.text)
  }
})

test('C69 C70 the rules of lineage and serial hold against the current state', async () => {
  const world = await aWorld()
  const { it, params } = world
  await world.lock()
  const first = aState({ serial: 5 })
  const { id } = await world.write(first, { serial: 5 })
  // The same once more is the same version; its upload is accepted again.
  const again = await world.announce(first, { serial: 5 })
  assert.equal(again.id, id)
  assert.equal((await upload(it, again.attributes['hosted-state-upload-url'], first)).status, 200)
  const other = aState({ serial: 5, outputs: { a: { value: 1, type: 'number' } } })
  const same = await it.refusal('createStateVersion', {
    params,
    body: world.body(other, { serial: 5 }),
  })
  assert.deepEqual(
    [same[0], same[1]?.includes('has the serial 5 and another content')],
    [409, true],
  )
  const lineage = { lineage: 'other' }
  const foreign = await it.refusal('createStateVersion', {
    params,
    body: world.body(other, { serial: 6, more: lineage }),
  })
  assert.deepEqual([foreign[0], foreign[1]?.includes('lineage other')], [409, true])
  const lower = aState({ serial: 2 })
  await world.write(lower, { serial: 2 })
  assert.equal((await world.current()).attributes.serial, 2)
  const forced = aState({ serial: 1, lineage: 'other' })
  await world.write(forced, { serial: 1, more: { lineage: 'other', force: true } })
  assert.equal((await world.current()).attributes.lineage, 'other')
})

test('C75 a pending upload keeps the lock for an hour; force-unlock does not wait', async () => {
  const world = await aWorld()
  const { it, params } = world
  await world.lock()
  const bytes = aState({ serial: 1 })
  await world.announce(bytes, { serial: 1 })
  const [status, text] = await it.refusal('unlockWorkspace', { params })
  assert.deepEqual([status, text?.includes('latest state version is still pending')], [409, true])
  await it.ok('forceUnlockWorkspace', { params })
  await world.lock()
  await it.ok('unlockWorkspace', { params })
  await world.lock()
  await world.announce(bytes, { serial: 1 })
  it.server.clock.advance(v2.UPLOAD_URL_MS_MAX)
  await it.ok('unlockWorkspace', { params })
})

test('a key of an upload that is wrong, expired or of the other form is 404', async () => {
  const world = await aWorld()
  const { it } = world
  await world.lock()
  const bytes = aState({ serial: 1 })
  const { attributes } = await world.announce(bytes, { serial: 1 })
  const url = attributes['hosted-state-upload-url'] ?? ''
  assert.equal((await upload(it, `${url}x`, bytes)).status, 404)
  assert.equal((await upload(it, url.replace('/state/', '/json-state/'), bytes)).status, 404)
  it.server.clock.advance(v2.UPLOAD_URL_MS_MAX)
  assert.equal((await upload(it, url, bytes)).status, 404)
})

test('C77 outputs of all types; sensitive values only one by one; numbers as they are', async () => {
  const world = await aWorld()
  const { it, params } = world
  await world.lock()
  const outputs = {
    flag: { value: true, type: 'bool' },
    list: { value: ['a', 'b'], type: ['list', 'string'] },
    many: { value: 'BIG', type: 'number' },
    map: { value: { a: 1 }, type: ['object', { a: 'number' }] },
    secret: { value: 's3cret', type: 'string', sensitive: true },
  }
  const { id } = await world.write(aState({ serial: 1, outputs }), { serial: 1 })
  const reply = await it.call('listCurrentOutputs', { params })
  assert.match(reply.text, /"value":12345678901234567890/)
  const { data } = await it.ok('listStateVersionOutputs', { params: { state_version_id: id } })
  assert.deepEqual(
    data.map(({ attributes: { name, type, sensitive } }) => [name, type, sensitive]),
    [
      ['flag', 'bool', false],
      ['list', 'array', false],
      ['many', 'number', false],
      ['map', 'map', false],
      ['secret', 'string', true],
    ],
  )
  const secret = data.find(({ attributes }) => attributes.name === 'secret')
  assert.equal(secret?.attributes.value, null)
  const one = { params: { state_version_output_id: secret?.id ?? '' } }
  assert.equal((await it.ok('readStateVersionOutput', one)).data.attributes.value, 's3cret')
  const absent = { params: { state_version_output_id: `${secret?.id}9` } }
  assert.deepEqual(await it.refusal('readStateVersionOutput', absent), NOT_FOUND)
  const call = { params: { state_version_id: id }, query: { include: 'outputs,created_by' } }
  const { included } = await it.ok('readStateVersion', call)
  assert.equal(included?.filter(({ type }) => type === 'state-version-outputs').length, 5)
})

test('nothing of a state can be read in the storage', async () => {
  const world = await aWorld()
  await world.lock()
  const outputs = { secret: { value: 's3cret-value', type: 'string', sensitive: true } }
  await world.write(aState({ serial: 1, outputs }), { serial: 1 })
  const { store } = world.it.server.context
  const rows = [...store.tables.state_versions.rows(), ...store.tables.audit_records.rows()]
  assert.equal(JSON.stringify(rows).includes('s3cret-value'), false)
  assert.ok(store.tables.blob_parts.size > 0)
  for (const { id } of store.tables.blob_parts.rows()) {
    const stored = Buffer.from((await store.readBlob(`blob-part/${id}`)) ?? [])
    assert.equal(stored.includes('s3cret-value'), false)
  }
})

test('C76 rollback: an earlier state becomes the current one with the next serial', async () => {
  const world = await aWorld()
  const { it, params } = world
  await world.lock()
  const first = await world.write(aState({ serial: 1, resources: RESOURCES }), { serial: 1 })
  await world.write(aState({ serial: 2 }), { serial: 2 })
  const target = { data: { type: 'state-versions', id: first.id } }
  const body = aBody('state-versions', undefined, { 'rollback-state-version': target })
  const { data } = await it.created('rollBackState', { params, body })
  assert.deepEqual([data.attributes.serial, data.attributes['resource-count']], [3, 3])
  assert.equal(data.relationships['rollback-state-version'].data?.id, first.id)
  const got = await download(it, data.attributes['hosted-state-download-url'])
  assert.match(got.text, /"serial": 3/)
  const wrong = { data: { type: 'state-versions', id: 'sv-none' } }
  const absent = aBody('state-versions', undefined, { 'rollback-state-version': wrong })
  assert.equal((await it.refusal('rollBackState', { params, body: absent }))[0], 422)
  await it.ok('unlockWorkspace', { params })
  assert.equal((await it.refusal('rollBackState', { params, body }))[0], 409)
})

test('C80 the history is paged, newest first; the current state is never pruned', async () => {
  const world = await aWorld()
  const { it } = world
  await world.lock()
  const first = await world.write(aState({ serial: 1 }), { serial: 1 })
  for (let i = 0; i < v2.STATE_VERSIONS_KEPT_MAX; i++)
    await world.announce(aState({ serial: 2 + i }), { serial: 2 + i })
  const query = { 'filter[workspace][name]': 'web', 'filter[organization][name]': 'acme' }
  const page = await it.ok('listStateVersions', { query: { ...query, 'page[size]': 2 } })
  assert.deepEqual(
    page.data.map(({ attributes }) => attributes.status),
    ['pending', 'discarded'],
  )
  const finalized = await it.ok('listStateVersions', {
    query: { ...query, 'filter[status]': 'finalized' },
  })
  assert.deepEqual(
    finalized.data.map(({ id }) => id),
    [first.id],
  )
  assert.equal((await world.current()).id, first.id)
  const { tables } = it.server.context.store
  assert.ok(tables.state_versions.size <= v2.STATE_VERSIONS_KEPT_MAX + 1)
  assert.equal((await it.refusal('listStateVersions', { query: {} }))[0], 422)
})

test('each permission: read, read-outputs and write of states', async () => {
  const world = await aWorld()
  const { it, params, projectId } = world
  await world.lock()
  const outputs = { a: { value: 1, type: 'number' } }
  const { id } = await world.write(aState({ serial: 1, outputs }), { serial: 1 })
  const reader = await it.team('acme', 'readers')
  await giveProject(it, { teamId: reader.id, projectId }, 'read')
  const stranger = await it.user('stranger')
  const state = { state_version_id: id }
  await it.ok('readStateVersion', { params: state, as: reader.token })
  await it.ok('listCurrentOutputs', { params, as: reader.token })
  const body = world.body(aState({ serial: 2 }), { serial: 2 })
  const create = { params, body, as: reader.token }
  assert.deepEqual(await it.refusal('createStateVersion', create), NOT_FOUND)
  for (const route of ['readStateVersion', 'downloadState', 'listStateVersionOutputs'] as const)
    assert.deepEqual(await it.refusal(route, { params: state, as: stranger.token }), NOT_FOUND)
  const own = { params, as: stranger.token }
  assert.deepEqual(await it.refusal('readCurrentStateVersion', own), NOT_FOUND)
  const shown = await it.ok('readWorkspace', { params, as: reader.token })
  const { permissions } = shown.data.attributes
  assert.deepEqual(
    [permissions['can-read-state-versions'], permissions['can-create-state-versions']],
    [true, false],
  )
})

test('a large state is read on a thread', async () => {
  const world = await aWorld()
  await world.lock()
  const resources = Array.from({ length: 8_000 }, (_, i) => ({
    mode: 'managed',
    type: 'box',
    name: `box-${i}`,
    provider: 'p',
    instances: [{ attributes: { text: 'x'.repeat(300) } }],
  }))
  const bytes = aState({ serial: 1, resources })
  assert.ok(bytes.length > 3_000_000)
  await world.write(bytes, { serial: 1 })
  const { attributes } = await world.current()
  assert.deepEqual(
    [attributes['resource-count'], attributes.resources?.length],
    [8_000, v2.STATE_RESOURCES_SHOWN_MAX],
  )
  const got = await download(world.it, attributes['hosted-state-download-url'])
  assert.equal(got.bytes.equals(bytes), true)
})
