import { after, test } from 'node:test'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../../../test/build/postgres.ts'
import { serverRegistrySuite } from '../../../test/suites/server-registry.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('server registry in PostgreSQL', { skip: missing }, () => undefined)
else runSuite(await startPostgres())

function runSuite(postgres: TestPostgres): void {
  after(() => postgres.stop())
  serverRegistrySuite('PostgreSQL', async (t) => {
    const url = await postgres.newDatabase()
    const database = await openPostgresDatabase(url)
    t.after(() => database.close())
    return {
      store: database.servers,
      // The database's clock is the machine's: what was seen is put further back instead.
      pass: async (ms) => {
        const sooner = `seen_at - interval '${ms} milliseconds'`
        const name = new URL(url).pathname.slice(1)
        await postgres.query(name, `UPDATE reeve_servers SET seen_at = ${sooner}`)
      },
    }
  })
}
