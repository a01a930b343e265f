import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { HostVolumeInput } from '@reeve/contract'
import { newHostVolume } from '../../src/model/index.ts'
import { put, remove } from '../../src/state/index.ts'
import { aGroup, anId } from '../build/index.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { ofJob, putNode, register, withScheduler } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aNodeWorld, type NodeWorld } from './node-world.ts'
import { aSecuredServer } from './secured.ts'

const ATTRIBUTES = { 'plugins.host_volume.mkdir.version': '1.0.0' }

async function create(server: TestServer, Volume: HostVolumeInput) {
  const { Volume: made } = await server.ok('createHostVolume', { body: { Volume } })
  return made
}

async function read(server: TestServer, id: string) {
  return await server.ok('readHostVolume', { params: { volume_id: id } })
}

/** Waits until the node has said that it has the volume. */
async function ready({ server }: NodeWorld, id: string) {
  return await until('the volume to be ready', async () => {
    const volume = await read(server, id)
    return volume.State === 'ready' ? volume : undefined
  })
}

/** A node that has the plugin mkdir, and a group that mounts `data` from it. */
const mounting = (fields: object = {}) =>
  aGroup({ Volumes: { data: { Type: 'host', Source: 'data', ...fields } } })

test('a volume is made on a node, shown in lists, and removed with its directory', async (t) => {
  const world = await aNodeWorld(t, { hasVolumes: true })
  const { server, dataDir, agent } = world
  const made = await create(server, { Name: 'data', Parameters: { mode: '0750' } })
  assert.equal(made.NodeID, agent.nodeId)
  assert.equal(made.HostPath, join(dataDir, 'volumes', made.ID))
  const { mode } = await stat(made.HostPath)
  assert.equal(mode & 0o777, 0o750)
  const volume = await ready(world, made.ID)
  assert.deepEqual(volume.RequestedCapabilities, [
    { AttachmentMode: 'file-system', AccessMode: 'single-node-writer' },
  ])
  assert.equal(volume.PluginID, 'mkdir')
  const listed = await server.ok('listVolumes', { query: { type: 'host' } })
  assert.deepEqual(
    listed.map(({ ID, State }) => [ID, State]),
    [[made.ID, 'ready']],
  )
  assert.deepEqual(await server.ok('listVolumes', { query: { type: 'csi' } }), [])
  const other = await server.ok('listVolumes', { query: { node_id: anId('node', 9) } })
  assert.deepEqual(other, [])
  assert.equal((await server.call('listVolumes', { query: { type: 'nfs' } })).status, 400)
  assert.deepEqual(await server.ok('listVolumePlugins'), [
    { ID: 'mkdir', Type: 'host', Versions: ['1.0.0'], NodesExpected: 1, NodesHealthy: 1 },
  ])
  await server.ok('deleteHostVolume', { params: { volume_id: made.ID } })
  assert.deepEqual(await readdir(join(dataDir, 'volumes')), [])
  const gone = await server.call('readHostVolume', { params: { volume_id: made.ID } })
  assert.equal(gone.status, 404)
})

test('a volume that a job mounts is shown with what mounts it and cannot be deleted', async (t) => {
  const world = await aNodeWorld(t, { hasVolumes: true })
  const { server } = world
  const made = await create(server, { Name: 'data' })
  await ready(world, made.ID)
  const group = {
    ...mounting(),
    Tasks: [{ Name: 'web', Driver: 'mock', Config: { run_for: '1h' } }],
  }
  const { id } = await world.run([], { job: { ID: 'web', TaskGroups: [group] } })
  const { Allocations: mounters } = await read(server, made.ID)
  assert.deepEqual(
    mounters.map(({ ID }) => ID),
    [id],
  )
  const refused = await server.call('deleteHostVolume', { params: { volume_id: made.ID } })
  assert.equal(refused.status, 409)
  assert.match(refused.text, new RegExp(id))
  // The node refuses as well, for an allocation that the server does not know of.
  const { store } = server.context
  const [version] = store.tables.job_versions.keys()
  assert.ok(version !== undefined)
  store.commit({
    by: 'system',
    cause: 'JobDeregistered',
    changes: () => [remove('job_versions', version)],
  })
  const kept = await server.call('deleteHostVolume', { params: { volume_id: made.ID } })
  assert.equal(kept.status, 400)
  assert.match(kept.text, new RegExp(`mounted by allocation ${id}`))
})

test('volume plugins are counted again after a node has changed', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const first = { ID: anId('node', 1), Attributes: ATTRIBUTES }
  await putNode(server, first)
  await putNode(server, { ID: anId('node', 2), Name: 'node-2', Attributes: ATTRIBUTES })
  const mkdirs = { ID: 'mkdir', Type: 'host', Versions: ['1.0.0'], NodesExpected: 2 }
  const list = async () => await server.ok('listVolumePlugins')
  assert.deepEqual(await list(), [{ ...mkdirs, NodesHealthy: 2 }])
  assert.deepEqual(await list(), [{ ...mkdirs, NodesHealthy: 2 }])
  assert.deepEqual(await server.ok('listVolumePlugins', { query: { prefix: 'x' } }), [])
  assert.deepEqual(await server.ok('listVolumePlugins', { query: { type: 'csi' } }), [])
  await putNode(server, { ...first, Status: 'down' })
  assert.deepEqual(await list(), [{ ...mkdirs, NodesHealthy: 1 }])
})

test('what a plugin refuses leaves no volume behind', async (t) => {
  const { server } = await aNodeWorld(t, { hasVolumes: true })
  const body = { Volume: { Name: 'data', Parameters: { mode: 'rwx' } } }
  const refused = await server.call('createHostVolume', { body })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /octal/)
  assert.deepEqual(await server.ok('listVolumes'), [])
})

const PLUGIN = `#!/bin/sh
case "$1" in
fingerprint) echo '{"version": "2.1"}' ;;
create) mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_NAME" &&
  echo "{\\"path\\": \\"$DHV_VOLUMES_DIR/$DHV_VOLUME_NAME\\", \\"bytes\\": $DHV_CAPACITY_MIN_BYTES}" ;;
delete) rmdir "$DHV_CREATED_PATH" ;;
esac
`

/** A plugin that works, one that everybody may write, and a file that is none. */
async function preparePlugins(dataDir: string): Promise<void> {
  await mkdir(join(dataDir, 'plugins'))
  for (const [name, text, mode] of [
    ['named', PLUGIN, 0o755],
    ['open', PLUGIN, 0o777],
    ['broken', '#!/bin/sh\nexit 3\n', 0o755],
    ['readme', 'no program', 0o644],
  ] as const) {
    const path = join(dataDir, 'plugins', name)
    await writeFile(path, text)
    await chmod(path, mode)
  }
}

test('a program of the plugin directory makes volumes', async (t) => {
  const world = await aNodeWorld(t, { hasVolumes: true, prepare: preparePlugins })
  const { server, dataDir } = world
  const plugins = await server.ok('listVolumePlugins')
  assert.deepEqual(
    plugins.map(({ ID, Versions }) => [ID, ...Versions]),
    [
      ['mkdir', '1.0.0'],
      ['named', '2.1'],
    ],
  )
  const made = await create(server, {
    Name: 'data',
    PluginID: 'named',
    RequestedCapacityMinBytes: 4096,
  })
  const volume = await ready(world, made.ID)
  assert.equal(volume.HostPath, join(dataDir, 'volumes', 'data'))
  assert.equal(volume.CapacityBytes, 4096)
  await server.ok('deleteHostVolume', { params: { volume_id: made.ID } })
  assert.deepEqual(await readdir(join(dataDir, 'volumes')), [])
})

test('a directory of a node is registered, and stays when the volume is deleted', async (t) => {
  const world = await aNodeWorld(t, { hasVolumes: true })
  const { server, agent, dataDir } = world
  const path = await temporaryDirectory(t)
  const registerVolume = (fields: object) =>
    server.call('registerHostVolume', { body: { Volume: { Name: 'data', ...fields } } })
  const node = { NodeID: agent.nodeId }
  for (const [fields, text] of [
    [{ HostPath: path }, /NodeID/],
    [node, /HostPath/],
    [{ ...node, HostPath: 'tmp' }, /absolute/],
    [{ ...node, HostPath: '/does/not/exist' }, /does not exist/],
    [{ ...node, HostPath: dataDir }, /the agent's data directory/],
  ] as const) {
    const refused = await registerVolume(fields)
    assert.equal(refused.status, 400)
    assert.match(refused.text, text)
  }
  const { Volume } = await server.ok('registerHostVolume', {
    body: { Volume: { Name: 'data', ...node, HostPath: path, CapacityBytes: 7 } },
  })
  const volume = await ready(world, Volume.ID)
  assert.deepEqual([volume.PluginID, volume.CapacityBytes], ['', 7])
  await server.ok('deleteHostVolumeByAction', { params: { volume_id: Volume.ID } })
  assert.ok((await stat(path)).isDirectory())
})

/** A server whose nodes a test speaks for, with volumes as their nodes would have made them. */
async function withVolumes(count: number, ...capabilities: readonly string[]) {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), 0)
  const { server } = scheduled
  for (let i = 1; i <= count; i++) {
    const [ID, volume] = [anId('node', i), anId('any', i)]
    const HostVolumes = { data: { Name: 'data', Path: '/v', ReadOnly: false, ID: volume } }
    await putNode(server, { ID, Name: `node-${i}`, Attributes: ATTRIBUTES, HostVolumes })
    await putVolume(server, {
      ID: volume,
      NodeID: ID,
      RequestedCapabilities: (capabilities.length === 0
        ? ['single-node-writer']
        : capabilities
      ).map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' })),
    })
  }
  return scheduled
}

async function putVolume({ context }: TestServer, fields: object): Promise<void> {
  const volume = newHostVolume({ Name: 'data' }, { id: anId('any', 1), origin: 'created' })
  await context.store.commit({
    by: 'system',
    cause: 'HostVolumeRegistered',
    changes: () => [put('host_volumes', { ...volume, State: 'ready', ...fields })],
  }).durable
}

for (const [what, request, capability, places] of [
  ['the capability that it has', {}, 'single-node-writer', true],
  ['another access mode', { AccessMode: 'single-node-multi-writer' }, 'single-node-writer', false],
  ['a read-only mount of a volume to write', { ReadOnly: true }, 'single-node-writer', false],
  ['a read-only mount', { ReadOnly: true }, 'single-node-reader-only', true],
] as const)
  test(`a group is ${places ? '' : 'not '}placed on a volume with ${what}`, async () => {
    const { run, allocationsOf } = await withVolumes(1, capability)
    await run({ TaskGroups: [mounting(request)] })
    assert.equal(allocationsOf('web').length, places ? 1 : 0)
  })

test('a volume with a single writer has one, and the next when that has ended', async () => {
  const mode = 'single-node-single-writer'
  const { run, allocationsOf, report, settle, server } = await withVolumes(2, mode)
  const group = { ...mounting({ AccessMode: mode }), Count: 3 }
  await run({ TaskGroups: [group] })
  const placed = allocationsOf('web')
  assert.equal(new Set(placed.map(({ NodeID }) => NodeID)).size, 2)
  await run({ ID: 'other', TaskGroups: [mounting({ AccessMode: mode })] })
  assert.equal(allocationsOf('other').length, 0)
  await server.ok('stopJob', ofJob('web'))
  await settle()
  for (const row of allocationsOf('web')) await report(row, 'complete')
  // What is blocked is looked at a moment after room has come free.
  server.clock.advance(100)
  await settle()
  assert.equal(allocationsOf('other').length, 1)
})

const SINGLE = 'single-node-single-writer'
const MULTI = 'single-node-multi-writer'
for (const [first, second, count] of [
  [SINGLE, MULTI, 0],
  [MULTI, SINGLE, 0],
  [MULTI, MULTI, 1],
] as const)
  test(`beside a writer with ${first}, ${count} with ${second} is placed`, async () => {
    const { run, allocationsOf } = await withVolumes(1, SINGLE, MULTI)
    await run({ TaskGroups: [mounting({ AccessMode: first })] })
    await run({ ID: 'other', TaskGroups: [mounting({ AccessMode: second })] })
    assert.equal(allocationsOf('web').length, 1)
    assert.equal(allocationsOf('other').length, count)
  })

test('a job of another namespace is not placed on a volume', async () => {
  const { run, allocationsOf, server, settle } = await withVolumes(1)
  await server.ok('writeNamespace', { body: { Name: 'shop' } })
  await server.ok('registerJob', {
    ...register({ Namespace: 'shop', TaskGroups: [mounting()] }),
    query: { namespace: 'shop' },
  })
  await settle()
  assert.equal(server.context.store.tables.allocations.size, 0)
  await run({ TaskGroups: [mounting()] })
  assert.equal(allocationsOf('web').length, 1)
})

test('a volume is unavailable while its node is down, and collected after its node', async () => {
  const { server } = await withVolumes(1)
  const { store } = server.context
  const id = anId('any', 1)
  await server.ok('purgeNode', { params: { node_id: anId('node', 1) } })
  assert.equal((await read(server, id)).State, 'unavailable')
  const refused = await server.call('deleteHostVolume', { params: { volume_id: id } })
  assert.match(refused.text, /force/)
  await server.ok('collectGarbage')
  await until('the volume to be collected', () => store.tables.host_volumes.size === 0 || undefined)
})

const LARGE_PATTERN = { LTarget: '${node.pool}', Operand: 'regexp', RTarget: 'a{500}' }

test('volumes are placed by constraints, pool, plugin and room', async () => {
  const { server } = await withVolumes(1)
  await putNode(server, { ID: anId('node', 2), NodePool: 'gpu', Attributes: ATTRIBUTES })
  await server.ok('writeNodePool', { body: { Name: 'gpu' } })
  await putNode(server, { ID: anId('node', 3), Attributes: {} })
  const asks = [
    [{ Name: 'data', NodePool: 'default' }, /volume name "data" is already in use \(1\)/],
    [{ Name: 'x', NodePool: 'none' }, /node pool not found/],
    [{ Name: 'x', PluginID: 'zfs' }, /missing volume plugin "zfs" \(3\)/],
    [{ Name: 'x', RequestedCapacityMinBytes: 2 ** 52 }, /not enough disk \(2\)/],
    [{ Name: 'x', Constraints: [{ LTarget: '${node.pool}', RTarget: 'z' }] }, /\(2\)/],
    [{ Name: 'x', NodeID: anId('node', 3) }, /missing volume plugin "mkdir"/],
    [{ Name: 'x', NodeID: anId('node', 2), NodePool: 'default' }, /it is in node pool "gpu"/],
    [{ Name: 'x', NodeID: anId('node', 8) }, /node not found/],
    [{ Name: '' }, /Name must be/],
    [{ Name: 'x', RequestedCapabilities: [{ AccessMode: 'any' }] }, /AccessMode "any"/],
    [{ Name: 'x', RequestedCapacityMinBytes: 5, RequestedCapacityMaxBytes: 4 }, /is below/],
    [{ Name: 'x', Constraints: [{ Operand: 'distinct_hosts' }] }, /distinct_hosts/],
    [
      { Name: 'x', Constraints: Array.from({ length: 64 }, () => LARGE_PATTERN) },
      /instructions together/,
    ],
    [{ Name: 'x', Namespace: 'none' }, /nonexistent namespace/],
    [{ Name: 'x', ID: anId('any', 7) }, /host volume not found/],
  ] as const
  for (const [Volume, text] of asks) {
    const answer = await server.call('createHostVolume', { body: { Volume } })
    assert.match(answer.text, text, JSON.stringify(Volume))
    assert.ok([400, 404].includes(answer.status))
  }
  // A node is chosen, and nobody answers for it.
  const silent = await server.call('createHostVolume', { body: { Volume: { Name: 'x' } } })
  assert.equal(silent.status, 503)
  const left = server.context.store.tables.host_volumes.rows()
  assert.deepEqual(
    [...left].map(({ Name }) => Name),
    ['data'],
  )
})

const RIGHTS = [
  ['listVolumes', 'host-volume-read', {}],
  ['readHostVolume', 'host-volume-read', { params: { volume_id: anId('any', 1) } }],
  ['createHostVolume', 'host-volume-create', { body: { Volume: { Name: 'x' } } }],
  ['registerHostVolume', 'host-volume-register', { body: { Volume: { Name: 'x' } } }],
  ['deleteHostVolume', 'host-volume-delete', { params: { volume_id: anId('any', 1) } }],
] as const
for (const [route, capability, call] of RIGHTS)
  test(`${route} needs ${capability} in the namespace of the volume`, async () => {
    const { server, as, client } = await aSecuredServer()
    const others = capability === 'host-volume-read' ? 'read-job' : 'host-volume-read'
    const rules = (name: string, held: string): string =>
      `namespace "${name}" { capabilities = ["${held}"] }`
    const without = await client(rules('default', others) + rules('shop', capability))
    assert.equal((await server.call(route, as(without, call))).status, 403)
    const may = await client(rules('default', capability))
    assert.notEqual((await server.call(route, as(may, call))).status, 403)
  })

test('plugins need plugin:list', async () => {
  const { server, as, client } = await aSecuredServer()
  const without = await client('node { policy = "read" }')
  assert.equal((await server.call('listVolumePlugins', as(without))).status, 403)
  const may = await client('plugin { policy = "list" }')
  assert.deepEqual(await server.ok('listVolumePlugins', as(may)), [])
})
