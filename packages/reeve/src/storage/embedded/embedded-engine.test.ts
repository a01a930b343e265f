import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { StorageEngine } from '../../state/index.ts'
import { storageEngineSuite, type EngineHome } from '../../../test/suites/storage-engine.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

storageEngineSuite('embedded', (t) => embeddedHome(t))
// So small a buffer that log files and tables change all the time; a thread reads the rows.
const SMALL = { writeBufferBytes: 64 * 1024, fileBytesMax: 2 * 1024, rowThreadBytes: 0 }
storageEngineSuite('embedded (with many small files)', (t) => embeddedHome(t, SMALL))

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
