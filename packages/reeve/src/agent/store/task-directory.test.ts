import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTaskVisiblePath, type TaskPaths } from './workspace.ts'

// All that is read of them.
const paths = { allocDir: '/data/a1/alloc', taskDir: '/data/a1/web' } as TaskPaths

const cases = [
  { path: '/local/later', isolation: 'chroot', isSeen: true },
  { path: '/secrets/later', isolation: 'chroot', isSeen: true },
  { path: '/alloc/later', isolation: 'chroot', isSeen: true },
  { path: '/etc/passwd', isolation: 'chroot', isSeen: false },
  { path: '/localhost/x', isolation: 'chroot', isSeen: false },
  { path: '/local/later', isolation: 'none', isSeen: false },
  { path: '/data/a1/web/local/later', isolation: 'none', isSeen: true },
  { path: '/data/a1/alloc/later', isolation: 'none', isSeen: true },
  { path: '/data/a1/other/x', isolation: 'none', isSeen: false },
] as const
for (const { path, isolation, isSeen } of cases)
  test(`${path}: a task with isolation ${isolation} ${isSeen ? 'sees' : 'does not see'} it`, () => {
    assert.equal(isTaskVisiblePath(path, { paths, isolation }), isSeen)
  })
