import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { SafeDirectory, containedPathParts } from './safe-directory.ts'
import { resolveTaskPath, taskPaths } from './workspace.ts'

const paths = [
  { path: 'a/b', parts: ['a', 'b'] },
  { path: './a//b/', parts: ['a', 'b'] },
  { path: 'a/../b', parts: ['b'] },
  { path: '/etc/x', parts: ['etc', 'x'] },
  { path: '', parts: [] },
  { path: '..', parts: undefined },
  { path: 'a/../../b', parts: undefined },
  { path: '/../b', parts: undefined },
  { path: 'a\0b', parts: undefined },
]
for (const { path, parts } of paths) {
  test(`partsBelow: ${JSON.stringify(path)}`, () =>
    assert.deepEqual(containedPathParts(path), parts))
}

test('a path of a job is found in the directory of the task or in the shared one', () => {
  const at = taskPaths('/data', { allocationId: 'id', task: 'web' })
  const found = (text: string, isolation: 'none' | 'chroot') => {
    const { root, parts } = resolveTaskPath(text, { paths: at, isolation })
    return join(root, ...parts)
  }
  assert.equal(found('local/x', 'none'), '/data/id/web/local/x')
  assert.equal(found('/data/id/alloc/data/x', 'none'), '/data/id/alloc/data/x')
  assert.equal(found('/alloc/x', 'chroot'), '/data/id/alloc/x')
  assert.equal(found('/alloc/x', 'none'), '/data/id/web/alloc/x')
  assert.equal(found('/secrets/x', 'chroot'), '/data/id/web/secrets/x')
  assert.throws(() => found('../other/secrets/x', 'none'), { kind: 'task-invalid' })
  assert.throws(() => found('/alloc/../web2/x', 'chroot'), { kind: 'task-invalid' })
})

test('no part of a path may be a link, and a file is replaced as a whole', async (t) => {
  const outside = await temporaryDirectory(t)
  const root = await temporaryDirectory(t)
  await symlink(outside, join(root, 'link'))
  const beneath = await SafeDirectory.open(root)
  t.after(() => beneath.close())
  for (const make of [undefined, { mode: 0o755 }]) {
    await assert.rejects(beneath.openSubdirectory(['link'], make), { kind: 'path-escape' })
    await assert.rejects(beneath.openSubdirectory(['link', 'x'], make), { kind: 'path-escape' })
  }
  await symlink(join(outside, 'victim'), join(root, 'file'))
  await beneath.writeFile('file', Buffer.from('text'), { mode: 0o640 })
  assert.equal(await readFile(join(root, 'file'), 'utf8'), 'text')
  assert.equal((await stat(join(root, 'file'))).mode & 0o777, 0o640)
  assert.deepEqual(await readdir(outside), [])
  await mkdir(join(root, 'dir'))
  await assert.rejects(beneath.writeFile('dir', Buffer.from(''), { mode: 0o644 }))
  assert.deepEqual((await readdir(root)).toSorted(), ['dir', 'file', 'link'])
})

test('a FIFO, a device, a link or a large file is not read', async (t) => {
  const root = await temporaryDirectory(t)
  execFileSync('mkfifo', [join(root, 'pipe')])
  await symlink('/dev/zero', join(root, 'zero'))
  await writeFile(join(root, 'large'), 'x'.repeat(100))
  const beneath = await SafeDirectory.open(root)
  t.after(() => beneath.close())
  await assert.rejects(beneath.readFile('pipe', 1_000), { kind: 'path-escape' })
  await assert.rejects(beneath.readFile('zero', 1_000), { kind: 'path-escape' })
  await assert.rejects(beneath.readFile('large', 10), { kind: 'path-escape' })
  assert.equal(await beneath.readFile('nothing', 10), undefined)
})
