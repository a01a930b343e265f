import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { propagationOf } from './mounts.ts'

const skip = process.getuid?.() === 0 ? false : 'mounting needs root'

function run(...[command = '', ...args]: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  assert.equal(status, 0, `${command}: ${stderr}`)
}

test('the propagation of the mount of a directory is set as requested', { skip }, async (t) => {
  const path = join(await temporaryDirectory(t), 'mounted')
  await mkdir(path)
  run('mount', '-t', 'tmpfs', 'tmpfs', path)
  try {
    await mkdir(join(path, 'below'))
    for (const kind of ['private', 'shared', 'slave'] as const) {
      run('mount', `--make-${kind}`, path)
      // A slave without a master is private: there is nobody to learn from.
      const want = kind === 'slave' ? 'private' : kind
      assert.equal(await propagationOf(join(path, 'below')), want)
    }
  } finally {
    run('umount', path)
  }
})
