import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { currentConfiguration } from '../../../src/governance/configuration-versions/configuration-versions.ts'
import { put } from '../../../src/state/index.ts'
import { aTar, type TarEntry } from '../../build/archive.ts'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { giveProject } from './rows.ts'
import { newWorkspace, patchWorkspace } from './workspace-calls.ts'

const FILES = gzipSync(aTar([{ path: 'main.tf', text: 'output "a" { value = 1 }\n' }]))

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'one' })
  const { id } = await newWorkspace(it, 'web', { projectId })
  return { it, projectId, workspaceId: id, params: { workspace_id: id } }
}
type World = Awaited<ReturnType<typeof aWorld>>

async function newVersion({ it, params }: World, attributes?: object, as?: string) {
  const body = aBody('configuration-versions', { 'auto-queue-runs': false, ...attributes })
  const call = { params, body, ...(as !== undefined && { as }) }
  return (await it.created('createConfigurationVersion', call)).data
}

/** The path of an upload URL. */
function pathOf(url: string | undefined): string {
  return new URL(url ?? '').pathname
}

async function putBytes(it: GovernanceServer, url: string | undefined, bytes: Buffer) {
  const headers = { 'content-type': 'application/octet-stream' }
  return await it.server.send('PUT', pathOf(url), { body: bytes, headers })
}

async function statusOf({ it }: World, id: string) {
  const call = { params: { configuration_version_id: id } }
  return (await it.ok('readConfigurationVersion', call)).data.attributes
}

test('C20 a configuration version is pending, takes its archive without a token, and is uploaded', async () => {
  const world = await aWorld()
  const made = await newVersion(world, { 'auto-queue-runs': false, speculative: true })
  const { status, speculative, provisional, source } = made.attributes
  assert.deepEqual([status, speculative, provisional, source], ['pending', true, false, 'api'])
  const uploaded = await putBytes(world.it, made.attributes['upload-url'], FILES)
  assert.deepEqual([uploaded.status, uploaded.text], [200, ''])
  const seen = await statusOf(world, made.id)
  assert.deepEqual([seen.status, seen['upload-url']], ['uploaded', undefined])
  assert.deepEqual(Object.keys(seen['status-timestamps']), ['pending-at', 'uploaded-at'])
})

test('C21 C22 a second upload is 409, and a wrong or expired key is 404', async () => {
  const world = await aWorld()
  const { it } = world
  const made = await newVersion(world)
  const url = made.attributes['upload-url'] ?? ''
  await putBytes(it, url, FILES)
  assert.equal((await putBytes(it, url, FILES)).status, 409)
  const changed = `${url.slice(0, -1)}${url.endsWith('a') ? 'b' : 'a'}`
  assert.equal((await putBytes(it, changed, FILES)).status, 404)
  const late = await newVersion(world)
  it.server.clock.advance(v2.UPLOAD_URL_MS_MAX)
  assert.equal((await putBytes(it, late.attributes['upload-url'], FILES)).status, 404)
})

const badEntries: readonly (readonly [TarEntry, RegExp])[] = [
  [{ path: '../outside.tf', text: 'x' }, /has a .*\.\./],
  [{ path: '/etc/passwd', text: 'x' }, /is absolute/],
  [{ path: 'a/link', type: '2', target: '../../outside' }, /leads out/],
  [{ path: 'link', type: '2', target: '/etc' }, /leads out/],
  [{ path: 'link', type: '1', target: '../main.tf' }, /leads out/],
  [{ path: 'null', type: '3' }, /device/],
  [{ path: 'pipe', type: '6' }, /device/],
]
/** A link, and what is unpacked behind it. */
const behindLinks: readonly (readonly TarEntry[])[] = [
  [
    { path: 'a/b', type: '2', target: '..' },
    { path: 'a/b/evil', text: 'x' },
  ],
  [
    { path: './a', type: '2', target: 'b' },
    { path: 'a/', type: '5' },
  ],
  [
    { path: 'a', type: '2', target: '.' },
    { path: 'main.tf', text: 'x' },
    { path: 'copy', type: '1', target: 'a/main.tf' },
  ],
]
const badArchives: readonly (readonly [string, Buffer, RegExp])[] = [
  ['is no gzip file', Buffer.from('hello'), /not a complete gzip file/],
  ['is cut off', FILES.subarray(0, FILES.length - 10), /not a complete gzip file/],
  ['is empty', gzipSync(Buffer.alloc(0)), /not a tar archive/],
  ['is no tar file', gzipSync(Buffer.alloc(2048, 'x')), /not a tar archive/],
  ...behindLinks.map(
    (entries) =>
      [
        `goes through a link to ${JSON.stringify(entries.at(-1))}`,
        gzipSync(aTar(entries)),
        /goes through the link/,
      ] as const,
  ),
  ...badEntries.map(
    ([entry, text]) => [`holds ${JSON.stringify(entry)}`, gzipSync(aTar([entry])), text] as const,
  ),
]
for (const [what, archive, text] of badArchives)
  test(`C23 an archive that ${what} makes the version errored, and the upload says why`, async () => {
    const world = await aWorld()
    const made = await newVersion(world)
    const uploaded = await putBytes(world.it, made.attributes['upload-url'], archive)
    assert.equal(uploaded.status, 422)
    assert.match(uploaded.text, text)
    const seen = await statusOf(world, made.id)
    assert.equal(seen.status, 'errored')
    assert.match(seen['error-message'] ?? '', text)
  })

test('C24 an archive over the limit is 413, and nothing of it is saved', async () => {
  const world = await aWorld()
  const made = await newVersion(world)
  const bytes = Buffer.alloc(v2.CONFIGURATION_BYTES_MAX + 1)
  const uploaded = await putBytes(world.it, made.attributes['upload-url'], bytes)
  assert.equal(uploaded.status, 413)
  assert.match(uploaded.text, new RegExp(String(v2.CONFIGURATION_BYTES_MAX)))
  assert.equal((await statusOf(world, made.id)).status, 'pending')
})

test('links that stay inside, directories and extended headers are accepted', async () => {
  const world = await aWorld()
  const made = await newVersion(world)
  const record = '23 path=very/long/name\n'
  const archive = gzipSync(
    aTar([
      { path: 'modules/', type: '5' },
      { path: 'modules/a/link.tf', type: '2', target: '../../main.tf' },
      { path: 'pax', type: 'x', text: record },
      { path: 'short', text: 'x'.repeat(100_000) },
    ]),
  )
  assert.equal((await putBytes(world.it, made.attributes['upload-url'], archive)).status, 200)
})

test('C28 the download equals the upload, also of an archive in several parts', async () => {
  const world = await aWorld()
  const { it } = world
  const noise = Array.from({ length: 90_000 }, (_, i) => Math.sin(i).toString(36)).join('\n')
  const archive = gzipSync(aTar([{ path: 'noise', text: noise.repeat(3) }]), { level: 0 })
  assert.ok(archive.length > 2 * 1024 * 1024)
  const made = await newVersion(world)
  assert.equal((await putBytes(it, made.attributes['upload-url'], archive)).status, 200)
  const url = `/api/v2/configuration-versions/${made.id}/download`
  const headers = { authorization: `Bearer ${it.root}` }
  const { bytes, ...reply } = await it.server.send('GET', url, { headers })
  assert.equal(reply.headers['content-type'], 'application/octet-stream')
  assert.equal(gunzipSync(bytes).equals(gunzipSync(archive)), true)
  // Nothing of it is readable in the storage.
  const { store } = it.server.context
  for (const key of store.tables.blob_parts.keysByIndex('owner', made.id)) {
    const stored = await store.readBlob(`blob-part/${key}`)
    assert.equal(Buffer.from(stored ?? []).includes('noise'), false)
  }
})

test('only who may plan creates, downloads and archives; who may read sees the record', async () => {
  const world = await aWorld()
  const { it, projectId } = world
  const made = await newVersion(world)
  await putBytes(it, made.attributes['upload-url'], FILES)
  const reader = await it.team('acme', 'readers')
  await giveProject(it, { teamId: reader.id, projectId }, 'read')
  const writer = await it.team('acme', 'writers')
  await giveProject(it, { teamId: writer.id, projectId }, 'write')
  const stranger = await it.user('stranger')
  const params = { configuration_version_id: made.id }
  const body = aBody('configuration-versions')
  await newVersion(world, {}, writer.token)
  for (const as of [reader.token, stranger.token]) {
    const create = { params: world.params, body, as }
    assert.deepEqual(await it.refusal('createConfigurationVersion', create), NOT_FOUND)
    const download = { params, as }
    assert.deepEqual(await it.refusal('downloadConfigurationVersion', download), NOT_FOUND)
    assert.deepEqual(await it.refusal('archiveConfigurationVersion', download), NOT_FOUND)
  }
  assert.equal(
    (await it.ok('readConfigurationVersion', { params, as: reader.token })).data.id,
    made.id,
  )
  const list = { params: world.params, as: reader.token }
  assert.equal((await it.ok('listConfigurationVersions', list)).data.length, 2)
  const hidden = { params, as: stranger.token }
  assert.deepEqual(await it.refusal('readConfigurationVersion', hidden), NOT_FOUND)
})

test('a token of the organization creates no configuration version', async () => {
  const { it, params } = await aWorld()
  const token = await it.created('createOrganizationToken', {
    params: { organization_name: 'acme' },
  })
  const call = {
    params,
    body: aBody('configuration-versions'),
    as: token.data.attributes.token ?? '',
  }
  assert.deepEqual(await it.refusal('createConfigurationVersion', call), NOT_FOUND)
})

test('archive: an older version loses its archive, the latest one keeps it', async () => {
  const world = await aWorld()
  const { it } = world
  const older = await newVersion(world)
  await putBytes(it, older.attributes['upload-url'], FILES)
  const latest = await newVersion(world)
  await putBytes(it, latest.attributes['upload-url'], FILES)
  const archive = (id: string) =>
    it.call('archiveConfigurationVersion', { params: { configuration_version_id: id } })
  assert.equal((await archive(older.id)).status, 202)
  assert.equal((await archive(older.id)).status, 409)
  assert.equal((await archive(latest.id)).status, 409)
  assert.equal((await statusOf(world, older.id)).status, 'archived')
  assert.equal(it.server.context.store.tables.blob_parts.countByIndex('owner', older.id), 0)
  const params = { configuration_version_id: older.id }
  assert.equal((await it.refusal('downloadConfigurationVersion', { params }))[0], 409)
})

test('a provisional version becomes current when a run of it is applied', async () => {
  const world = await aWorld()
  const { it } = world
  const { store } = it.server.context
  const current = await newVersion(world)
  await putBytes(it, current.attributes['upload-url'], FILES)
  const made = await newVersion(world, { provisional: true, 'auto-queue-runs': true })
  await putBytes(it, made.attributes['upload-url'], FILES)
  const found = () => currentConfiguration(store.tables, world.workspaceId)?.id
  assert.equal(found(), current.id)
  const [run] = [...store.tables.runs.rows()]
  const applied = put('runs', { ...(run ?? assert.fail()), status: 'applied' })
  await store.commit({ by: 'system', cause: undefined, changes: () => [applied] }).durable
  assert.equal(found(), made.id)
})

test('the key of an upload is in no audit record, and the record names who created the version', async () => {
  const world = await aWorld()
  const made = await newVersion(world)
  const url = made.attributes['upload-url'] ?? ''
  await putBytes(world.it, url, FILES)
  await putBytes(world.it, `${url}x`, FILES)
  const key = url.split('/').at(-1) ?? ''
  const { audit_records: records } = world.it.server.context.store.tables
  const all = [...records.rows()]
  assert.equal(JSON.stringify(all).includes(key), false)
  const upload = all.find(({ Action }) => Action === 'uploadConfigurationVersion')
  assert.deepEqual([upload?.Actor.Name, upload?.Resources], ['administrator', [made.id]])
})

test('the oldest versions of a workspace make room, and all go with the workspace', async () => {
  const world = await aWorld()
  const { it, params } = world
  const first = await newVersion(world)
  await putBytes(it, first.attributes['upload-url'], FILES)
  for (let i = 0; i < v2.CONFIGURATION_VERSIONS_KEPT_MAX; i++) await newVersion(world)
  const { tables } = it.server.context.store
  assert.equal(tables.configuration_versions.size, v2.CONFIGURATION_VERSIONS_KEPT_MAX)
  assert.equal(tables.configuration_versions.has(first.id), false)
  assert.equal(tables.blob_parts.size, 0)
  await it.done('deleteWorkspace', { params })
  assert.equal(tables.configuration_versions.size, 0)
})

async function runsOf({ it, params }: World) {
  return (await it.ok('listWorkspaceRuns', { params })).data
}

test('C27 an upload queues exactly one run, of whoever created the version', async () => {
  const world = await aWorld()
  const writer = await world.it.team('acme', 'writers')
  await giveProject(world.it, { teamId: writer.id, projectId: world.projectId }, 'write')
  const queues = { 'auto-queue-runs': true }
  const made = await newVersion(world, queues, writer.token)
  await putBytes(world.it, made.attributes['upload-url'], FILES)
  await putBytes(world.it, made.attributes['upload-url'], FILES)
  const [run, ...others] = await runsOf(world)
  assert.equal(others.length, 0)
  const { attributes, relationships } = run ?? assert.fail('no run was queued')
  assert.deepEqual(
    [attributes.status, attributes['trigger-reason'], attributes['plan-only']],
    ['pending', 'configuration-upload', false],
  )
  assert.equal(relationships['configuration-version'].data?.id, made.id)
  const creator = await world.it.ok('readAccount', { as: writer.token })
  assert.equal(relationships['created-by'].data?.id, creator.data.id)
})

const quietUploads: readonly (readonly [string, object, object])[] = [
  ['that asks for none', { 'auto-queue-runs': false }, {}],
  [
    'of a workspace that executes elsewhere',
    { 'auto-queue-runs': true },
    { 'execution-mode': 'local' },
  ],
]
for (const [what, attributes, settings] of quietUploads)
  test(`an upload ${what} queues no run`, async () => {
    const world = await aWorld()
    await patchWorkspace(world.it, world.workspaceId, { attributes: settings })
    const made = await newVersion(world, attributes)
    await putBytes(world.it, made.attributes['upload-url'], FILES)
    assert.deepEqual(await runsOf(world), [])
  })

test('uploads queue runs that only plan, or that save their plan, as the version says', async () => {
  const world = await aWorld()
  for (const attributes of [{ speculative: true }, { provisional: true }]) {
    const made = await newVersion(world, { ...attributes, 'auto-queue-runs': true })
    await putBytes(world.it, made.attributes['upload-url'], FILES)
  }
  const facts = (await runsOf(world)).map(({ attributes }) => [
    attributes['plan-only'],
    attributes['save-plan'],
  ])
  assert.deepEqual(facts, [
    [false, true],
    [true, false],
  ])
})
