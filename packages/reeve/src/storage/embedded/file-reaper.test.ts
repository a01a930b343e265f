import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { FileReaper } from './file-reaper.ts'

/** More than one step. */
const LARGE = Buffer.alloc(5 * 1024 * 1024, 'r')

test('file reaper: a retired file leaves its directory at once and the disk soon', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  await files.retire(inDatabase('1.log'))
  await assert.rejects(fs.stat(inDatabase('1.log')), { code: 'ENOENT' })
  await files.whenIdle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
})

test('file reaper: a retired file is truncated before it is unlinked', async (t) => {
  const { files, inDatabase } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  const handle = await fs.open(inDatabase('1.log'))
  t.after(() => handle.close())
  await files.retire(inDatabase('1.log'))
  await files.whenIdle()
  assert.equal((await handle.stat()).size, LARGE.length % (2 * 1024 * 1024))
})

test('file reaper: files removed by the database are reaped, others are untouched', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  for (const name of ['000004.ldb', '000005.ldb', '000006.log', 'CURRENT', 'MANIFEST-000002'])
    await fs.writeFile(inDatabase(name), LARGE)
  files.scan()
  await files.whenIdle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['000004.ldb', '000005.ldb', '000006.log'])
  await fs.unlink(inDatabase('000004.ldb'))
  await fs.unlink(inDatabase('000006.log'))
  await fs.writeFile(inDatabase('000007.log'), LARGE)
  files.scan()
  await files.whenIdle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['000005.ldb', '000007.log'])
  for (const name of ['000005.ldb', '000007.log', 'CURRENT', 'MANIFEST-000002'])
    assert.deepEqual(await fs.readFile(inDatabase(name)), LARGE, name)
})

test('file reaper: a file with another hard link keeps its content', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  await fs.link(inDatabase('1.log'), inDatabase('snapshot'))
  await files.retire(inDatabase('1.log'))
  await files.whenIdle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
  assert.deepEqual(await fs.readFile(inDatabase('snapshot')), LARGE)
})

test('one file that cannot be removed does not keep others', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.mkdir(inDatabase('1.log'))
  await files.retire(inDatabase('1.log'))
  await fs.writeFile(inDatabase('2.log'), LARGE)
  await files.retire(inDatabase('2.log'))
  await files.whenIdle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['1.log'])
})

test('file reaper: close removes everything, start removes the remains of a crash', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.ldb'), LARGE)
  files.scan()
  await files.whenIdle()
  await files.start()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
  await fs.writeFile(inDatabase('2.ldb'), LARGE)
  files.scan()
  await files.close()
  await assert.rejects(fs.stat(inRemoved('.')), { code: 'ENOENT' })
  for (const name of ['1.ldb', '2.ldb'])
    assert.deepEqual(await fs.readFile(inDatabase(name)), LARGE, name)
})

async function folders(t: TestContext) {
  const home = await temporaryDirectory(t)
  const inDatabase = (name: string): string => join(home, 'level', name)
  const inRemoved = (name: string): string => join(home, 'removed', name)
  await fs.mkdir(inDatabase('.'))
  const files = new FileReaper(inRemoved('.'), inDatabase('.'))
  await files.start()
  return { files, inDatabase, inRemoved }
}
