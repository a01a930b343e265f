import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { StorageEngine } from '../../state/index.ts'
import { storageEngineSuite, type EngineHome } from '../../../test/suites/storage-engine.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

storageEngineSuite('embedded', (t) => embeddedHome(t))
// So small a buffer that log files and tables change all the time; a thread reads the rows.
const SMALL = { writeBufferBytes: 64 * 1024, fileBytesMax: 2 * 1024, rowThreadBytes: 0 }
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
