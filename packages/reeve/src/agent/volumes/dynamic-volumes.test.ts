import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { VolumeOnNode } from '@reeve/contract'
import { anId } from '../../../test/build/index.ts'
import { SILENT_LOG, turn } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { DynamicVolumes, type StoredVolume } from './dynamic-volumes.ts'

/** `create` and `delete` end with the code that is written to a pipe with their name. */
const PLUGIN = `#!/bin/sh
base="$DHV_PLUGIN_DIR/.."
gated() { echo "$1 begins" >> "$base/log"; read -r code < "$base/$1"; echo "$1 ends" >> "$base/log"; }
case "$1" in
fingerprint) echo '{"version": "1.0"}' ;;
create) gated create; mkdir -p "$DHV_VOLUMES_DIR/v"; echo "{\\"path\\": \\"$DHV_VOLUMES_DIR/v\\"}"; exit "$code" ;;
delete) gated delete; exit "$code" ;;
esac
`

const VOLUME: VolumeOnNode = {
  id: anId('any', 1),
  name: 'data',
  namespace: 'default',
  plugin: 'gated',
  nodePool: 'default',
  capacityMinBytes: 0,
  capacityMaxBytes: 0,
  parameters: {},
  path: '',
}

const CONFIGURED = { Name: 'c', Path: '/srv/c', ReadOnly: false, ID: '' }

/** A node with the plugin. */
async function aNode(t: TestContext, configuredCount = 0) {
  const directory = await temporaryDirectory(t)
  const pluginDir = join(directory, 'plugins')
  await mkdir(pluginDir)
  await writeFile(join(pluginDir, 'gated'), PLUGIN)
  await chmod(join(pluginDir, 'gated'), 0o755)
  execFileSync('mkfifo', [join(directory, 'create'), join(directory, 'delete')])
  const offered: (readonly string[])[] = []
  const errors: object[] = []
  const mounters = new Map<string, string>()
  const removals: string[] = []
  let stored: readonly StoredVolume[] = []
  const volumes = new DynamicVolumes({
    settings: { volumesDir: join(directory, 'volumes'), pluginDir, dataDirectory: directory },
    configured: Object.fromEntries(
      Array.from({ length: configuredCount }, (_, index) => [`c${index}`, CONFIGURED]),
    ),
    log: { ...SILENT_LOG, error: (fields) => errors.push(fields) },
    nodeId: () => anId('node', 1),
    findVolumeUser: (name) => {
      removals.push(name)
      return mounters.get(name)
    },
    saveVolumes: async (kept) => {
      stored = kept
    },
    onChange: () => offered.push(Object.keys(volumes.hostVolumes())),
  })
  await volumes.probe()
  return {
    volumes,
    offered,
    errors,
    mounters,
    /** Removals that have begun: each first looks for mounts. */
    removals,
    path: join(directory, 'volumes', 'v'),
    stored: () => stored.map(({ name }) => name),
    /** Ends the operation that runs or is the next to begin. */
    endCreate: (code: number) => writeFile(join(directory, 'create'), `${code}\n`),
    endDelete: (code: number) => writeFile(join(directory, 'delete'), `${code}\n`),
    operations: async () => (await readFile(join(directory, 'log'), 'utf8')).trim().split('\n'),
  }
}

/** A node with one volume of the plugin. */
async function withVolume(t: TestContext) {
  const node = await aNode(t)
  await Promise.all([node.volumes.create(VOLUME), node.endCreate(0)])
  return node
}

test('a node has as many volumes as the limit, and none more', async (t) => {
  const most = await aNode(t, 255)
  await Promise.all([most.volumes.create(VOLUME), most.endCreate(0)])
  assert.deepEqual(most.stored(), ['data'])
  const past = await aNode(t, 256)
  await assert.rejects(past.volumes.create(VOLUME), /has reached its limit of 256 host volumes/)
  assert.deepEqual(past.stored(), [])
})

test('a volume is not offered while its plugin deletes it', async (t) => {
  const { volumes, offered, stored, endDelete } = await withVolume(t)
  assert.deepEqual(offered, [['data']])
  const removed = volumes.remove(VOLUME)
  // The plugin has begun when it reads from the pipe.
  await endDelete(0)
  assert.deepEqual(offered, [['data'], []])
  await removed
  assert.deepEqual(stored(), [])
})

test('a volume whose plugin fails to delete it is offered again', async (t) => {
  const { volumes, offered, stored, endDelete } = await withVolume(t)
  const removed = volumes.remove(VOLUME)
  await Promise.all([assert.rejects(removed, /delete/), endDelete(3)])
  assert.deepEqual(offered, [['data'], [], ['data']])
  assert.deepEqual(stored(), ['data'])
})

test('a volume that an allocation mounts is not removed', async (t) => {
  const { volumes, offered, stored, mounters } = await withVolume(t)
  mounters.set('data', 'a1')
  await assert.rejects(volumes.remove(VOLUME), /volume "data" is mounted by allocation a1/)
  assert.deepEqual(offered, [['data'], [], ['data']])
  assert.deepEqual(stored(), ['data'])
})

test('a volume is restored in the background, and can be waited for', async (t) => {
  const { volumes, offered, path, endCreate } = await aNode(t)
  await volumes.restore([{ ...VOLUME, path, bytes: 0 }])
  await Promise.all([volumes.waitForRestore('data'), endCreate(0)])
  assert.deepEqual(offered, [['data']])
  await volumes.waitForRestore('another')
})

test('a volume that cannot be restored is retried at each probe, and logged once', async (t) => {
  const { volumes, offered, errors, path, endCreate } = await aNode(t)
  await volumes.restore([{ ...VOLUME, path, bytes: 0 }])
  await Promise.all([volumes.waitForRestore('data'), endCreate(3)])
  await volumes.probe()
  await Promise.all([volumes.waitForRestore('data'), endCreate(3)])
  assert.deepEqual(errors, [
    { volume: VOLUME.id, name: 'data', error: 'plugin operation "create" failed: exit code 3' },
  ])
  assert.deepEqual(offered, [])
  await volumes.probe()
  await Promise.all([volumes.waitForRestore('data'), endCreate(0)])
  assert.deepEqual(offered, [['data']])
})

test('a registered directory that appears later is offered', async (t) => {
  const { volumes, offered, path } = await aNode(t)
  await volumes.restore([{ ...VOLUME, plugin: '', path, bytes: 0 }])
  assert.deepEqual(volumes.hostVolumes(), {})
  await volumes.waitForRestore('data')
  await mkdir(path, { recursive: true })
  await volumes.probe()
  await volumes.waitForRestore('data')
  assert.deepEqual(offered, [['data']])
})

test('a volume that is being restored is removed afterwards', async (t) => {
  const { volumes, stored, path, removals, endCreate, endDelete, operations } = await aNode(t)
  await volumes.restore([{ ...VOLUME, path, bytes: 0 }])
  const removed = volumes.remove(VOLUME)
  await turn()
  assert.deepEqual(removals, [])
  await endCreate(0)
  await Promise.all([removed, endDelete(0)])
  assert.deepEqual(await operations(), [
    'create begins',
    'create ends',
    'delete begins',
    'delete ends',
  ])
  assert.deepEqual(stored(), [])
  assert.deepEqual(volumes.hostVolumes(), {})
})
