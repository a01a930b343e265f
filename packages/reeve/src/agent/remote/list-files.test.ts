import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { listFiles, modeText } from './list-files.ts'

test('modes: are told as the peers write them', async (t) => {
  const root = await temporaryDirectory(t)
  const at = (name: string) => join(root, name)
  await mkdir(at('directory'))
  await chmod(at('directory'), 0o1777)
  await writeFile(at('file'), '')
  await chmod(at('file'), 0o4750)
  await symlink('file', at('link'))
  execFileSync('mkfifo', ['-m', '600', at('pipe')])
  const modes = await Promise.all(
    ['directory', 'file', 'link', 'pipe'].map(async (name) => modeText(await lstat(at(name)))),
  )
  assert.deepEqual(modes, ['dtrwxrwxrwx', 'urwxr-x---', 'Lrwxrwxrwx', 'prw-------'])
})

test('list: a directory of very many files is cut', async (t) => {
  const root = await temporaryDirectory(t)
  const script = 'i=0; while [ $i -lt 10050 ]; do : > $i; i=$((i+1)); done'
  execFileSync('/bin/sh', ['-c', script], { cwd: root })
  const files = await listFiles(root, '/')
  assert.equal(files.length, 10_000)
  assert.deepEqual(
    files.map(({ Name }) => Name),
    files.map(({ Name }) => Name).toSorted(),
  )
})

test('list: names that are long when told do not make an answer that no message holds', async (t) => {
  const root = await temporaryDirectory(t)
  // A control character is six bytes in JSON.
  const name = (n: number) => `${n}${'\u0001'.repeat(240)}`
  for (let n = 0; n < 1_500; n++) await writeFile(join(root, name(n)), '')
  const files = await listFiles(root, '/')
  assert.ok(files.length > 500 && files.length < 1_000, `${files.length} files`)
})
