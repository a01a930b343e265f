import assert from 'node:assert/strict'
import { readdir, readFile, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { test } from 'node:test'
import { allocationId } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { DiskWorkspace } from './workspace.ts'

const ID = allocationId(1)
const place = { allocationId: ID, task: 'web' }

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777
}

test('an allocation has a shared directory and one for each task', async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  await workspace.createAllocationDirs(ID)
  await workspace.createTaskDirs(place, { user: '', secretsMB: 0 })
  assert.deepEqual((await readdir(join(root, ID))).toSorted(), ['alloc', 'web'])
  assert.deepEqual((await readdir(join(root, ID, 'alloc'))).toSorted(), ['data', 'logs', 'tmp'])
  assert.deepEqual((await readdir(join(root, ID, 'web'))).toSorted(), [
    'local',
    'private',
    'secrets',
    'tmp',
  ])
  assert.equal(await modeOf(join(root, ID, 'web', 'secrets')), 0o700)
  assert.equal(await modeOf(join(root, ID, 'alloc', 'data')), 0o1777)
  assert.equal(await modeOf(join(root, ID, 'alloc', 'logs')), 0o755)
  assert.equal(workspace.paths(place).stdout, join(root, ID, 'alloc', 'logs', 'web.stdout.0'))
})

test('other users of the machine pass through an allocation only where that is needed', async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  await workspace.createAllocationDirs(ID)
  assert.equal(await modeOf(join(root, ID)), 0o700)
  await workspace.setTraversable(ID, true)
  assert.equal(await modeOf(join(root, ID)), 0o711)
  await workspace.setTraversable(ID, false)
  assert.equal(await modeOf(join(root, ID)), 0o700)
  await workspace.setTraversable(allocationId(2), true)
  assert.deepEqual(await readdir(root), [ID])
})

test('building again changes nothing, removing leaves nothing', async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  for (let n = 0; n < 2; n += 1) {
    await workspace.createAllocationDirs(ID)
    await workspace.createTaskDirs(place, { user: '', secretsMB: 0 })
  }
  await workspace.remove(ID)
  assert.deepEqual(await readdir(root), [])
  await workspace.remove(ID)
})

test('removing does not follow a link out of the allocation', async (t) => {
  const root = await temporaryDirectory(t)
  const outside = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  await workspace.createAllocationDirs(ID)
  await workspace.createAllocationDirs(allocationId(2))
  await symlink(outside, join(root, ID, 'alloc', 'data', 'way-out'))
  await workspace.remove(ID)
  assert.equal((await stat(outside)).isDirectory(), true)
  assert.deepEqual(await readdir(root), [allocationId(2)])
})

test('a payload is written below local and nowhere else', async (t) => {
  const root = await temporaryDirectory(t)
  const workspace = new DiskWorkspace(root)
  await workspace.createAllocationDirs(ID)
  await workspace.createTaskDirs(place, { user: '', secretsMB: 0 })
  const bytes = Buffer.from('payload')
  await workspace.writeLocal(place, { path: 'in/config.json', bytes })
  const { localDir } = workspace.paths(place)
  assert.equal(await readFile(join(localDir, 'in', 'config.json'), 'utf8'), 'payload')
  for (const path of ['', '.', '..', '../secrets/x', '/etc/x', 'a/../../x']) {
    await assert.rejects(workspace.writeLocal(place, { path, bytes }), { kind: 'task-invalid' })
  }
})

const isRoot = getuid?.() === 0
test(
  "a task's directories belong to its user",
  { skip: isRoot ? false : 'only root may give directories away' },
  async (t) => {
    const root = await temporaryDirectory(t)
    const workspace = new DiskWorkspace(root)
    await workspace.createAllocationDirs(ID)
    await workspace.createTaskDirs(place, { user: '65534:65534', secretsMB: 0 })
    const { uid, gid } = await stat(workspace.paths(place).secretsDir)
    assert.deepEqual([uid, gid], [65_534, 65_534])
  },
)
