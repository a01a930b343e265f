import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import {
  startPostgres,
  startStandby,
  whyNoPostgres,
  type TestPostgres,
} from '../../../test/build/postgres.ts'
import { until } from '../../../test/build/until.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('connections to PostgreSQL', { skip: missing }, () => undefined)
else runTests(await startPostgres())

/** Longer than several statements of a lease are waited for. */
const HANGS_MS = 6_000
const CLAIM = { holder: 'a', address: '', ttlMs: 500 }

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('connections: hanging statements cost one extra connection in total', async (t) => {
    const url = await postgres.newDatabase()
    const database = await openPostgresDatabase(url)
    atEnd(t, () => database.close())
    await database.lease.acquire(CLAIM)
    const connections = async (): Promise<number> => {
      const sql = `SELECT count(*) AS n FROM pg_stat_activity
        WHERE application_name = 'reeve' AND datname = '${new URL(url).pathname.slice(1)}'`
      return Number((await postgres.query('postgres', sql))[0]?.['n'])
    }
    const before = await connections()
    await awaitStandby(postgres, 'nobody')
    atEnd(t, () => awaitStandby(postgres, ''))
    const untilMs = performance.now() + HANGS_MS
    while (performance.now() < untilMs)
      await assert.rejects(database.lease.acquire(CLAIM), /no response|timeout exceeded/)
    assert.equal((await connections()) - before, 1)
    await database.servers.heartbeat(aServer(), { failedMs: 5_000, retentionMs: 60_000 })
    await awaitStandby(postgres, '')
    await until('the lease', async () => await database.lease.acquire(CLAIM).catch(() => undefined))
    await until('the connections to be closed', async () =>
      // One for the lease, one for the roll.
      (await connections()) === before + 1 ? true : undefined,
    )
  })

  test('connections: the writable host is used before and after a failover', async (t) => {
    const { primary, standby, url } = await aPair(t)
    const database = await openPostgresDatabase(url)
    atEnd(t, () => database.close())
    const engine = await database.openEngine()
    atEnd(t, () => engine.close())
    const held = await database.lease.acquire(CLAIM)
    await engine.beginTerm(held?.term ?? 0)
    await engine.append([{ index: 1, timeMs: 0, text: 'one', blobs: [] }])
    await until('the standby to have it', async () => {
      const rows = await standby.query('postgres', 'SELECT last_index FROM reeve_head')
      return rows[0]?.['last_index'] === '1' ? true : undefined
    })
    await primary.kill()
    await standby.promote()
    await engine.append([{ index: 2, timeMs: 0, text: 'two', blobs: [] }])
    const rows = await standby.query('postgres', 'SELECT last_index FROM reeve_head')
    assert.equal(rows[0]?.['last_index'], '2')
  })

  test('waits for an unavailable database until the wait is aborted', async (t) => {
    const own = await startPostgres()
    atEnd(t, () => own.stop())
    await own.kill()
    const told: string[] = []
    const ending = new AbortController()
    const wait = { onUnreachable: (why: string) => void told.push(why), signal: ending.signal }
    const opening = openPostgresDatabase(own.url('postgres'), { wait })
    await until('a word about the wait', () => (told.length > 1 ? true : undefined))
    assert.match(told[0] ?? '', /cannot be used \(while opening it: connect/)
    await own.start()
    const database = await opening
    await database.close()
    await own.kill()
    const again = openPostgresDatabase(own.url('postgres'), { wait })
    ending.abort()
    await assert.rejects(again, { kind: 'storage-failed' })
  })

  test('a command does not wait for a database that is away', async (t) => {
    const own = await startPostgres()
    atEnd(t, () => own.stop())
    await own.kill()
    await assert.rejects(openPostgresDatabase(own.url('postgres')), { kind: 'storage-failed' })
  })
}

async function aPair(t: TestContext) {
  const primary = await startPostgres()
  atEnd(t, () => primary.stop())
  const standby = await startStandby(primary)
  atEnd(t, () => standby.stop())
  const hosts = `${standby.root},${primary.root}`
  return { primary, standby, url: `postgres://reeve@/postgres?host=${hosts}` }
}

/** Commits wait for a standby of this name, or for none. */
async function awaitStandby(postgres: TestPostgres, name: string): Promise<void> {
  await postgres.query('postgres', `ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
  await postgres.query('postgres', 'SELECT pg_reload_conf()')
  await until('the setting', async () => {
    const [row] = await postgres.query('postgres', 'SHOW synchronous_standby_names')
    return row?.['synchronous_standby_names'] === name ? true : undefined
  })
}

function aServer() {
  const place = { region: 'global', datacenter: 'dc1', build: '1' }
  return { id: '1', name: 'a', address: 'a:1', ...place, state: 'serving' } as const
}
