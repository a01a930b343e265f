import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, readFile, readdir, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { allocationId } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { directorySize, diskUsagePercent } from './disk-usage.ts'
import { DiskWorkspace } from './workspace.ts'

const OLD = allocationId(1)
const NEW = allocationId(2)
const NOBODY = { user: '', secretsMB: 0 }

test('the data of a terminal allocation moves to its replacement', async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  for (const id of [OLD, NEW]) await workspace.createAllocationDirs(id)
  await workspace.createTaskDirs({ allocationId: OLD, task: 'web' }, NOBODY)
  await writeFile(join(root, OLD, 'alloc/data/db'), 'shared')
  await writeFile(join(root, OLD, 'web/local/cache'), 'own')
  await writeFile(join(root, OLD, 'web/secrets/key'), 'secret')
  await workspace.adoptData(OLD, NEW, ['web', 'added'])
  await workspace.createTaskDirs({ allocationId: NEW, task: 'web' }, NOBODY)
  assert.equal(await readFile(join(root, NEW, 'alloc/data/db'), 'utf8'), 'shared')
  assert.equal(await readFile(join(root, NEW, 'web/local/cache'), 'utf8'), 'own')
  assert.deepEqual(await readdir(join(root, NEW, 'web/secrets')), [])
  await workspace.adoptData(allocationId(3), NEW, ['web'])
  assert.equal(await readFile(join(root, NEW, 'web/local/cache'), 'utf8'), 'own')
})

test('the disk is measured without following links, and never for ever', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'a/b'), { recursive: true })
  await writeFile(join(root, 'a/b/file'), 'x'.repeat(100_000))
  await symlink('/usr', join(root, 'usr'))
  const { bytes, isPartial } = await directorySize(root, 1_000)
  assert.ok(bytes >= 100_000 && bytes < 200_000, String(bytes))
  assert.equal(isPartial, false)
  assert.equal((await directorySize(root, 2)).isPartial, true)
  assert.deepEqual(await directorySize(join(root, 'nothing'), 10), { bytes: 0, isPartial: false })
})

test('how full a disk is, is a share of it', async (t) => {
  const { diskPercent, inodePercent } = await diskUsagePercent(await temporaryDirectory(t))
  assert.ok(diskPercent >= 0 && diskPercent <= 100)
  assert.ok(inodePercent >= 0 && inodePercent <= 100)
  assert.deepEqual(await diskUsagePercent('/nowhere'), { diskPercent: 0, inodePercent: 0 })
})

const trial = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'])
const canMount = process.getuid?.() === 0 && trial.status === 0
const skip = canMount ? false : 'only root with the right to mount can'

test(
  'secrets are unmounted when the allocation has ended, and its logs stay',
  { skip },
  async (t) => {
    const root = await temporaryDirectory(t)
    const workspace = new DiskWorkspace(root)
    assert.equal(await workspace.enableTmpfsSecrets(), undefined)
    await workspace.createAllocationDirs(NEW)
    t.after(() => workspace.remove(NEW))
    const tasks = ['web', 'side'].map((task) => ({ allocationId: NEW, task }))
    for (const place of tasks) {
      await workspace.createTaskDirs(place, { user: '', secretsMB: 1 })
      await writeFile(join(workspace.paths(place).secretsDir, 'key'), 'secret')
      await writeFile(workspace.paths(place).stdout, 'what it wrote')
    }
    for (let times = 0; times < 2; times++) await workspace.unmountSecrets(NEW)
    for (const place of tasks) {
      assert.deepEqual(await readdir(workspace.paths(place).secretsDir), [])
      assert.equal(await readFile(workspace.paths(place).stdout, 'utf8'), 'what it wrote')
    }
    // No mount keeps the directory from being removed.
    await rm(root, { recursive: true })
    await workspace.unmountSecrets(NEW)
  },
)

test('secrets are kept in memory, and are gone with the allocation', { skip }, async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  assert.equal(await workspace.enableTmpfsSecrets(), undefined)
  await workspace.createAllocationDirs(NEW)
  t.after(() => workspace.remove(NEW))
  const place = { allocationId: NEW, task: 'web' }
  const owner = { user: '65534:65534', secretsMB: 2 }
  await workspace.createTaskDirs(place, owner)
  await workspace.createTaskDirs(place, owner)
  const { secretsDir } = workspace.paths(place)
  const { blocks, bsize } = await statfs(secretsDir)
  assert.equal(blocks * bsize, 2 * 1024 * 1024)
  const { mode, uid } = await stat(secretsDir)
  assert.deepEqual([mode & 0o777, uid], [0o700, 65_534])
  await workspace.remove(NEW)
  assert.deepEqual(await readdir(root), [])
})
