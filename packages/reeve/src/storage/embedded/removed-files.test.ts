import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { RemovedFiles } from './removed-files.ts'

/** More than one step. */
const LARGE = Buffer.alloc(5 * 1024 * 1024, 'r')

test('a file that is taken is gone from its folder at once, and from the disk soon', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  await files.take(inDatabase('1.log'))
  await assert.rejects(fs.stat(inDatabase('1.log')), { code: 'ENOENT' })
  await files.idle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
})

test('a file that is removed becomes shorter before it goes', async (t) => {
  const { files, inDatabase } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  const handle = await fs.open(inDatabase('1.log'))
  t.after(() => handle.close())
  await files.take(inDatabase('1.log'))
  await files.idle()
  assert.equal((await handle.stat()).size, LARGE.length % (2 * 1024 * 1024))
})

test('what the database removes is left to us, and what it keeps is not touched', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  for (const name of ['000004.ldb', '000005.ldb', '000006.log', 'CURRENT', 'MANIFEST-000002'])
    await fs.writeFile(inDatabase(name), LARGE)
  files.follow()
  await files.idle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['000004.ldb', '000005.ldb', '000006.log'])
  await fs.unlink(inDatabase('000004.ldb'))
  await fs.unlink(inDatabase('000006.log'))
  await fs.writeFile(inDatabase('000007.log'), LARGE)
  files.follow()
  await files.idle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['000005.ldb', '000007.log'])
  for (const name of ['000005.ldb', '000007.log', 'CURRENT', 'MANIFEST-000002'])
    assert.deepEqual(await fs.readFile(inDatabase(name)), LARGE, name)
})

test('a file that somebody else has a name of keeps its content', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.log'), LARGE)
  await fs.link(inDatabase('1.log'), inDatabase('snapshot'))
  await files.take(inDatabase('1.log'))
  await files.idle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
  assert.deepEqual(await fs.readFile(inDatabase('snapshot')), LARGE)
})

test('one file that cannot be removed does not keep others', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.mkdir(inDatabase('1.log'))
  await files.take(inDatabase('1.log'))
  await fs.writeFile(inDatabase('2.log'), LARGE)
  await files.take(inDatabase('2.log'))
  await files.idle()
  assert.deepEqual(await fs.readdir(inRemoved('.')), ['1.log'])
})

test('closing leaves nothing behind, and beginning removes what a crash left', async (t) => {
  const { files, inDatabase, inRemoved } = await folders(t)
  await fs.writeFile(inDatabase('1.ldb'), LARGE)
  files.follow()
  await files.idle()
  await files.begin()
  assert.deepEqual(await fs.readdir(inRemoved('.')), [])
  await fs.writeFile(inDatabase('2.ldb'), LARGE)
  files.follow()
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
  const files = new RemovedFiles(inRemoved('.'), inDatabase('.'))
  await files.begin()
  return { files, inDatabase, inRemoved }
}
