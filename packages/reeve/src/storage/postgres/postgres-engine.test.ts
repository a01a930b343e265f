import { after, test, type TestContext } from 'node:test'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../../../test/build/postgres.ts'
import { storageEngineSuite, type EngineHome } from '../../../test/suites/storage-engine.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('the PostgreSQL storage engine', { skip: missing }, () => undefined)
else await runSuite(await startPostgres())

async function runSuite(postgres: TestPostgres): Promise<void> {
  after(() => postgres.stop())
  storageEngineSuite('PostgreSQL', (t) => postgresHome(t, postgres))
}

async function postgresHome(t: TestContext, postgres: TestPostgres): Promise<EngineHome> {
  const url = await postgres.newDatabase()
  return {
    open: async () => {
      const database = await openPostgresDatabase(url)
      const engine = await database.openEngine()
      t.after(async () => {
        await engine.close()
        await database.close()
      })
      // A lease that is over at once: the next opening need not wait, and is fenced by the term.
      const held = await database.lease.acquire({ holder: 'suite', address: '', ttlMs: 0 })
      await engine.beginTerm(held?.term ?? 0)
      return engine
    },
  }
}
