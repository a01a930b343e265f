import { after, test } from 'node:test'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../../../test/build/postgres.ts'
import { leaseStoreSuite } from '../../../test/suites/lease-store.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('the lease in PostgreSQL', { skip: missing }, () => undefined)
else runSuite(await startPostgres())

function runSuite(postgres: TestPostgres): void {
  after(() => postgres.stop())
  leaseStoreSuite('PostgreSQL', async (t) => {
    const url = await postgres.newDatabase()
    const database = await openPostgresDatabase(url)
    t.after(() => database.close())
    return {
      store: database.lease,
      // The database's clock is the machine's: the expiry comes nearer instead.
      pass: async (ms) => {
        const sooner = `expires_at - interval '${ms} milliseconds'`
        const name = new URL(url).pathname.slice(1)
        await postgres.query(name, `UPDATE reeve_leader SET expires_at = ${sooner}`)
      },
    }
  })
}
