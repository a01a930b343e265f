import assert from 'node:assert/strict'
import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { StorageEngine } from '../../state/index.ts'
import { storageEngineSuite, type EngineHome } from '../../../test/suites/storage-engine.ts'
import { everythingIn, fillDataDirectory } from '../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

storageEngineSuite('embedded', (t) => embeddedHome(t))
// So small a buffer that log files and tables change all the time; a thread reads the rows.
const SMALL = { writeBufferBytes: 64 * 1024, segmentBytesMax: 2 * 1024, rowThreadBytes: 0 }
storageEngineSuite('embedded (with many small files)', (t) => embeddedHome(t, SMALL))

test('an engine that is closed while a thread reads its rows ends the thread', async (t) => {
  const home = await embeddedHome(t, { rowThreadBytes: 0 })
  const engine = await home.open()
  // More than the thread makes ahead: it waits for room when the engine is closed.
  const rows = Array.from({ length: 20_000 }, (_, at) => ({
    table: 'jobs',
    key: `${at}`,
    text: '',
  }))
  await engine.checkpoint(rows, { upTo: 0, tableIndexes: {} })
  const pages = engine.load()[Symbol.asyncIterator]()
  assert.equal((await pages.next()).done, false)
  await engine.close()
  await assert.rejects(pages.next(), { kind: 'storage-closed' })
  const again = await home.open()
  let found = 0
  for await (const page of again.load()) found += page.length
  assert.equal(found, rows.length)
})

test('while an engine is open its large files have a second name', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const engine = await openEmbeddedEngine(directory)
  await engine.checkpoint([], { upTo: 40, tableIndexes: {} })
  const level = await readdir(join(directory, 'level'))
  const large = level.filter((name) => /\.(ldb|log)$/.test(name))
  assert.ok(large.length > 1)
  await until('second names', async () => {
    const names = await readdir(join(directory, 'removed'))
    return names.length === large.length ? names : undefined
  })
  for (const name of large)
    assert.equal(
      (await stat(join(directory, 'removed', name))).ino,
      (await stat(join(directory, 'level', name))).ino,
    )
  await engine.trim(41)
  await engine.close()
  assert.deepEqual((await readdir(directory)).toSorted(), ['FORMAT', 'REACHED', 'level', 'log'])
})

test('second names that a killed process left are no harm', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const before = await everythingIn(directory)
  await mkdir(join(directory, 'removed'))
  for (const name of await readdir(join(directory, 'level')))
    await link(join(directory, 'level', name), join(directory, 'removed', name))
  assert.deepEqual(await everythingIn(directory), before)
  assert.deepEqual((await readdir(directory)).toSorted(), ['FORMAT', 'REACHED', 'level', 'log'])
})

async function embeddedHome(t: TestContext, options = {}): Promise<EngineHome> {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-storage-'))
  const opened: StorageEngine[] = []
  t.after(async () => {
    for (const engine of opened) await engine.close()
    await rm(directory, { recursive: true })
  })
  return {
    open: async () => {
      const engine = await openEmbeddedEngine(directory, options)
      opened.push(engine)
      return engine
    },
  }
}
