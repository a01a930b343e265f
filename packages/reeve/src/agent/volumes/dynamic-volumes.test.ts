import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { VolumeOnNode } from '@reeve/contract'
import { anId } from '../../../test/build/index.ts'
import { SILENT_LOG } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { DynamicVolumes, type KeptVolume } from './dynamic-volumes.ts'

/** Its operation `delete` ends with the code that is written to the pipe `gate`. */
const PLUGIN = `#!/bin/sh
case "$1" in
fingerprint) echo '{"version": "1.0"}' ;;
create) mkdir -p "$DHV_VOLUMES_DIR/v" && echo "{\\"path\\": \\"$DHV_VOLUMES_DIR/v\\"}" ;;
delete) read -r code < "$DHV_PLUGIN_DIR/../gate"; exit "$code" ;;
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

/** A node with one volume of the plugin. */
async function withVolume(t: TestContext) {
  const directory = await temporaryDirectory(t)
  const pluginDir = join(directory, 'plugins')
  await mkdir(pluginDir)
  await writeFile(join(pluginDir, 'gated'), PLUGIN)
  await chmod(join(pluginDir, 'gated'), 0o755)
  const gate = join(directory, 'gate')
  execFileSync('mkfifo', [gate])
  const offered: (readonly string[])[] = []
  let stored: readonly KeptVolume[] = []
  const volumes = new DynamicVolumes({
    settings: { volumesDir: join(directory, 'volumes'), pluginDir, dataDirectory: directory },
    configured: {},
    log: SILENT_LOG,
    nodeId: () => anId('node', 1),
    keep: async (kept) => {
      stored = kept
    },
    changed: () => offered.push(Object.keys(volumes.hostVolumes())),
  })
  await volumes.probe()
  await volumes.create(VOLUME)
  return {
    volumes,
    offered,
    stored: () => stored.map(({ name }) => name),
    endPlugin: (code: number) => writeFile(gate, `${code}\n`),
  }
}

test('a volume is not offered while its plugin deletes it', async (t) => {
  const { volumes, offered, stored, endPlugin } = await withVolume(t)
  assert.deepEqual(offered, [['data']])
  const removed = volumes.remove(VOLUME)
  // The plugin has begun when it reads from the pipe.
  await endPlugin(0)
  assert.deepEqual(offered, [['data'], []])
  await removed
  assert.deepEqual(stored(), [])
})

test('a volume whose plugin fails to delete it is offered again', async (t) => {
  const { volumes, offered, stored, endPlugin } = await withVolume(t)
  const removed = volumes.remove(VOLUME)
  await Promise.all([assert.rejects(removed, /delete/), endPlugin(3)])
  assert.deepEqual(offered, [['data'], [], ['data']])
  assert.deepEqual(stored(), ['data'])
})
