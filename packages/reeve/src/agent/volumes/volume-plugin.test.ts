import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { anId } from '../../../test/build/index.ts'
import { SILENT_LOG } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { ProgramPlugins } from './volume-plugin.ts'

/** A plugin directory with one program, whose runs are counted. */
async function withProgram(t: TestContext, body: string) {
  const directory = await temporaryDirectory(t)
  const path = join(directory, 'one')
  const runs = join(directory, '.runs')
  await writeFile(runs, '')
  await writeFile(path, `#!/bin/sh\necho run >> "${runs}"\n${body}\n`)
  await chmod(path, 0o755)
  const logged: unknown[] = []
  const plugins = new ProgramPlugins({
    pluginDir: directory,
    volumesDir: join(directory, 'volumes'),
    nodeId: () => anId('node', 1),
    log: { ...SILENT_LOG, warn: (fields) => logged.push(fields) },
  })
  return {
    directory,
    logged,
    probe: async () => (await plugins.probe()).map(({ name, version }) => `${name} ${version}`),
    runs: async () => (await readFile(runs, 'utf8')).split('\n').length - 1,
  }
}

test('a program that fails is probed again, and each new failure is logged once', async (t) => {
  const body = 'cd "$DHV_PLUGIN_DIR"; [ -e .up ] || exit "$(cat .code)"; echo \'{"version": "1"}\''
  const { directory, logged, probe } = await withProgram(t, body)
  for (const code of ['3', '3', '4']) {
    await writeFile(join(directory, '.code'), code)
    assert.deepEqual(await probe(), [])
  }
  const failed = 'plugin operation "fingerprint" failed: exit code'
  assert.deepEqual(logged, [
    { plugin: 'one', error: `${failed} 3` },
    { plugin: 'one', error: `${failed} 4` },
  ])
  await writeFile(join(directory, '.up'), '')
  assert.deepEqual(await probe(), ['one 1'])
})

test('a program that is no plugin is probed and logged once', async (t) => {
  const { logged, probe, runs } = await withProgram(t, 'echo hello')
  assert.deepEqual(await probe(), [])
  assert.deepEqual(await probe(), [])
  assert.equal(await runs(), 1)
  assert.deepEqual(logged, [
    { plugin: 'one', error: 'the plugin did not print JSON on its standard output' },
  ])
})

test('a plugin is not probed again while its file is the same', async (t) => {
  const { probe, runs } = await withProgram(t, 'echo \'{"version": "1"}\'')
  assert.deepEqual(await probe(), ['one 1'])
  assert.deepEqual(await probe(), ['one 1'])
  assert.equal(await runs(), 1)
})
