import assert from 'node:assert/strict'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { prepareDataDirectory } from './data-directory.ts'

test('data directory: a new one is made, with its parents', async (t) => {
  const root = await temporaryDirectory(t)
  const path = join(root, 'a', 'b')
  await prepareDataDirectory(path)
  assert.deepEqual(await readdir(path), [])
  // Tasks of other users reach what is theirs, and nobody sees what else there is.
  for (const made of [join(root, 'a'), path]) assert.equal((await stat(made)).mode & 0o777, 0o711)
})

test('data directory: one of ours is taken, whatever else lies there', async (t) => {
  const path = await temporaryDirectory(t)
  await mkdir(join(path, 'server'))
  await writeFile(join(path, 'notes.txt'), '')
  await prepareDataDirectory(path)
})

test('data directory: one with other files is refused and left alone', async (t) => {
  const path = await temporaryDirectory(t)
  await writeFile(join(path, 'passwd'), '')
  await assert.rejects(prepareDataDirectory(path), /holds other files \(such as passwd\)/)
  assert.deepEqual(await readdir(path), ['passwd'])
})

test('data directory: a path below a file or below /proc is refused with a sentence', async (t) => {
  const file = join(await temporaryDirectory(t), 'file')
  await writeFile(file, '')
  await assert.rejects(prepareDataDirectory(join(file, 'data')), /cannot be made/)
  await assert.rejects(prepareDataDirectory('/proc/reeve/data'), /cannot be made/)
})

test('data directory: the lost+found of a fresh volume is not a file of others', async (t) => {
  const directory = await temporaryDirectory(t)
  await mkdir(join(directory, 'lost+found'))
  await prepareDataDirectory(directory)
})
