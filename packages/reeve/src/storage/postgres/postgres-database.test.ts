import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import { freePort } from '../../../test/build/free-port.ts'
import { PostgresProxy, type Mishap } from '../../../test/build/postgres-proxy.ts'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../../../test/build/postgres.ts'
import { SELF_SIGNED } from '../../../test/build/self-signed.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { joinStoredRow, type LogEntry } from '../../state/index.ts'
import { parseDatabaseUrl } from './database-url.ts'
import { clientConfig } from './connections.ts'
import { openPostgresDatabase, type PostgresDatabase } from './postgres-database.ts'
import type { PostgresEngine } from './postgres-engine.ts'
import { migrateSchema, SCHEMA_VERSION } from './schema.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('PostgreSQL under faults', { skip: missing }, () => undefined)
else runTests(await startPostgres())

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('a leader that another has followed writes nothing any more', async (t) => {
    const url = await postgres.newDatabase()
    const old = await leaderAt(t, url)
    await old.engine.append([entry(1), entry(2)])
    await old.engine.checkpoint([{ table: 'jobs', key: 'a', text: 'old' }], mark(1))
    const next = await leaderAt(t, url)
    assert.equal(next.engine.initialPosition.lastIndex, 2)
    const fenced = { name: 'Fault', kind: 'storage-fenced' }
    await assert.rejects(old.engine.append([entry(3)]), fenced)
    await assert.rejects(
      old.engine.checkpoint([{ table: 'jobs', key: 'a', text: 'older' }], mark(2)),
      fenced,
    )
    await assert.rejects(old.engine.trim(2), fenced)
    await next.engine.append([entry(3)])
    await assert.rejects(old.engine.append([entry(3)]), fenced)
    assert.deepEqual(await indexesIn(next.engine), [1, 2, 3])
    assert.deepEqual(await rowTexts(next.engine), ['old'])
  })

  test('an engine that follows writes nothing and sees what the leader wrote', async (t) => {
    const url = await postgres.newDatabase()
    const leader = await leaderAt(t, url)
    const follower = await databaseAt(t, url)
    const engine = await engineOf(t, follower)
    await leader.engine.append([entry(1), entry(2)])
    assert.deepEqual(await indexesIn(engine), [])
    assert.equal((await engine.refresh()).lastIndex, 2)
    assert.deepEqual(await indexesIn(engine), [1, 2])
    await assert.rejects(engine.append([entry(3)]), { kind: 'storage-fenced' })
    await leader.engine.checkpoint([], mark(2))
    await leader.engine.trim(3)
    assert.deepEqual(await indexesIn(engine), [], 'what the leader trimmed is no gap')
  })

  test('an append whose request or response is lost happens exactly once', async (t) => {
    const url = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const { engine } = await leaderAt(t, proxy.url(url))
    const mishaps: readonly (Mishap | undefined)[] = ['lose-answer', 'lose-question', undefined]
    for (let index = 1; index <= 30; index++) {
      const mishap = mishaps[index % mishaps.length]
      const struck = mishap === undefined ? undefined : proxy.plan(mishap, 'reeve-append')
      await engine.append([{ ...entry(index), blobs: [blob(index)] }])
      await struck
    }
    assert.deepEqual(await indexesIn(engine), upTo(30))
    const rows = await postgres.query(databaseIn(url), 'SELECT count(*) AS n FROM reeve_blobs')
    assert.deepEqual(rows, [{ n: '30' }])
  })

  test('an append that was done before another took over is done', async (t) => {
    const url = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const old = await leaderAt(t, proxy.url(url))
    await old.engine.append([entry(1)])
    const struck = proxy.plan('lose-answer', 'reeve-append')
    const appending = old.engine.append([entry(2)])
    await struck
    const next = await leaderAt(t, url)
    await appending
    assert.equal(next.engine.initialPosition.lastIndex, 2)
  })

  test('an append that never happened is fenced off when another took over', async (t) => {
    const url = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const old = await leaderAt(t, proxy.url(url))
    await old.engine.append([entry(1)])
    const next = await leaderAt(t, url)
    await next.engine.append([{ ...entry(2), text: 'of the next' }])
    const struck = proxy.plan('lose-question', 'reeve-append')
    await assert.rejects(old.engine.append([entry(2)]), { kind: 'storage-fenced' })
    await struck
    assert.deepEqual(await textsIn(next.engine), ['commit 1', 'of the next'])
  })

  test('a checkpoint continues when its connections are closed', async (t) => {
    const url = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const { engine } = await leaderAt(t, proxy.url(url))
    await engine.append(upTo(10).map(entry))
    for (const mishap of ['lose-answer', 'lose-question'] as const) {
      const struck = proxy.plan(mishap, 'reeve-checkpoint')
      const rows = upTo(3_000).map((n) => ({ table: 'jobs', key: `${n}`, text: mishap.repeat(50) }))
      await engine.checkpoint(rows, mark(10))
      await struck
      assert.equal((await rowTexts(engine)).filter((text) => text.startsWith(mishap)).length, 3_000)
    }
  })

  test('connections that the administrator ends are made again', async (t) => {
    const url = await postgres.newDatabase()
    const { engine } = await leaderAt(t, url)
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '${databaseIn(url)}' AND application_name = 'reeve'`
    for (let index = 1; index <= 20; index++) {
      const appending = engine.append([entry(index)])
      if (index % 4 === 0) await postgres.query('postgres', end)
      await appending
    }
    assert.deepEqual(await indexesIn(engine), upTo(20))
  })

  test('acknowledged commits survive a kill of PostgreSQL', async (t) => {
    const url = await postgres.newDatabase()
    const { engine } = await leaderAt(t, url)
    let acknowledged = 0
    const enough = new AbortController()
    const appending = (async () => {
      while (!enough.signal.aborted) {
        await engine.append([entry(acknowledged + 1), entry(acknowledged + 2)])
        acknowledged += 2
      }
    })()
    for (let kill = 0; kill < 2; kill++) {
      const before = acknowledged
      await until('some commits', () => (acknowledged > before + 20 ? true : undefined))
      await postgres.kill()
      await postgres.start()
    }
    enough.abort()
    await appending
    assert.ok(acknowledged > 0)
    assert.deepEqual(await indexesIn(engine), upTo(acknowledged))
  })

  test('an engine gives up on a database that stays away, without its password', async (t) => {
    const url = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const secret = proxy.url(url).replace('reeve@', 'reeve:sesame@')
    const { engine } = await leaderAt(t, secret, { commitMsMax: 100 })
    const endless = (async () => {
      for (;;) await proxy.plan('lose-question', 'reeve-append')
    })()
    endless.catch(() => undefined)
    await assert.rejects(engine.append([entry(1)]), (thrown: Error & { kind?: string }) => {
      assert.equal(thrown.kind, 'storage-unanswered')
      assert.match(thrown.message, /has not answered a commit for 0\.1 s .*may or may not/)
      assert.doesNotMatch(`${thrown.stack} ${JSON.stringify(thrown)}`, /sesame/)
      return true
    })
  })

  test('a database that is not there is a fault that says so', async () => {
    const url = postgres.url('nowhere').replace('reeve@', 'reeve:sesame@')
    await assert.rejects(openPostgresDatabase(url), (thrown: Error & { kind?: string }) => {
      assert.equal(thrown.kind, 'storage-unwritable')
      assert.match(thrown.message, /"nowhere" does not exist/)
      assert.doesNotMatch(`${thrown.stack}`, /sesame/)
      return true
    })
  })

  test('tables of the version before are brought to this one, with what they hold', async (t) => {
    const url = await postgres.newDatabase()
    const target = parseDatabaseUrl(url)
    await migrateSchema(clientConfig(target), target.name, SCHEMA_VERSION - 1)
    const name = databaseIn(url)
    await postgres.query(
      name,
      `INSERT INTO reeve_log (commit_index, term, nonce, time_ms, body)
         VALUES (1, 1, '', 1, 'kept');
       UPDATE reeve_head SET last_index = 1`,
    )
    const opening = [databaseAt(t, url), databaseAt(t, url), databaseAt(t, url)]
    const [database] = await Promise.all(opening)
    assert.ok(database !== undefined)
    assert.deepEqual(await textsIn(await engineOf(t, database)), ['kept'])
    const rows = await postgres.query(name, 'SELECT version FROM reeve_schema')
    assert.deepEqual(rows, [{ version: SCHEMA_VERSION }])
  })

  test('tables of a newer version are refused and left alone', async (t) => {
    const url = await postgres.newDatabase()
    await databaseAt(t, url)
    const newer = 'UPDATE reeve_schema SET version = 999, oldest_reader = 998'
    await postgres.query(databaseIn(url), newer)
    await assert.rejects(openPostgresDatabase(url), { kind: 'storage-version' })
  })

  test('tables of a newer version that this one can use are used and left alone', async (t) => {
    const url = await postgres.newDatabase()
    await databaseAt(t, url)
    const newer = `UPDATE reeve_schema SET version = 999, oldest_reader = ${SCHEMA_VERSION}`
    await postgres.query(databaseIn(url), newer)
    await databaseAt(t, url)
    const rows = await postgres.query(databaseIn(url), 'SELECT version FROM reeve_schema')
    assert.deepEqual(rows, [{ version: 999 }])
  })

  test('several servers may make the tables at once', async (t) => {
    const url = await postgres.newDatabase()
    await Promise.all(Array.from({ length: 5 }, () => databaseAt(t, url)))
  })

  test('keys of any length and with any characters are kept apart', async (t) => {
    const { engine } = await leaderAt(t, await postgres.newDatabase())
    const keys = ["'; DROP TABLE reeve_log; --", '{"a",NULL}', '\\x00', '$1', 'k'.repeat(100_000)]
    const longer = `${'k'.repeat(100_000)}l`
    const rows = [...keys, longer].map((key) => ({ table: key, key, text: key }))
    await engine.checkpoint(rows, mark(0))
    assert.deepEqual((await rowTexts(engine)).toSorted(), [...keys, longer].toSorted())
    const blobs = [...keys, longer].map((key) => ({ key, bytes: Buffer.from(key) }))
    await engine.append([{ ...entry(1), blobs }])
    for (const key of [...keys, longer])
      assert.equal(Buffer.from((await engine.readBlob(key)) ?? []).toString(), key)
  })

  test('a missing entry is reported as damage', async (t) => {
    const url = await postgres.newDatabase()
    const { engine } = await leaderAt(t, url)
    await engine.append(upTo(5).map(entry))
    await postgres.query(databaseIn(url), 'DELETE FROM reeve_log WHERE commit_index = 3')
    await assert.rejects(indexesIn(engine), { kind: 'storage-corrupt' })
  })
}

test(
  'a connection is encrypted and the server has to prove itself',
  { skip: missing },
  async (t) => {
    const port = await freePort()
    const postgres = await startPostgres({
      settings: ['ssl = on', "listen_addresses = '127.0.0.1'", `port = ${port}`],
      files: { 'server.crt': SELF_SIGNED.cert, 'server.key': SELF_SIGNED.key },
      port,
    })
    atEnd(t, () => postgres.stop())
    const ca = join(await temporaryDirectory(t), 'ca.pem')
    await writeFile(ca, SELF_SIGNED.cert)
    const url = (host: string, settings: string): string =>
      `postgres://reeve@${host}:${port}/postgres?${settings}`
    const trusted = await openPostgresDatabase(
      url('localhost', `sslmode=verify-full&sslrootcert=${ca}`),
    )
    const [seen] = await postgres.query(
      'postgres',
      `SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE application_name = 'reeve'`,
    )
    await trusted.lease.read()
    await trusted.close()
    assert.notEqual(seen?.['ssl'], false)
    const unknown = url('localhost', 'sslmode=verify-full')
    await assert.rejects(openPostgresDatabase(unknown), /self-signed certificate/)
    const otherName = url('127.0.0.1', `sslmode=verify-full&sslrootcert=${ca}`)
    await assert.rejects(openPostgresDatabase(otherName), /does not match certificate/)
    for (const settings of ['sslmode=require', `sslmode=verify-ca&sslrootcert=${ca}`])
      await (await openPostgresDatabase(url('127.0.0.1', settings))).close()
  },
)

interface Leader {
  readonly database: PostgresDatabase
  readonly engine: PostgresEngine
}

/** Leads at once: a lease that is over when it is given, so that the next takes over at once. */
async function leaderAt(
  t: TestContext,
  url: string,
  options: { readonly commitMsMax?: number } = {},
): Promise<Leader> {
  const database = await databaseAt(t, url, options)
  const held = await database.lease.acquire({ holder: url, address: '', ttlMs: 0 })
  const engine = await engineOf(t, database)
  await engine.beginTerm(held?.term ?? 0)
  return { database, engine }
}

async function databaseAt(
  t: TestContext,
  url: string,
  options: { readonly commitMsMax?: number } = {},
): Promise<PostgresDatabase> {
  const database = await openPostgresDatabase(url, options)
  atEnd(t, () => database.close())
  return database
}

async function engineOf(t: TestContext, database: PostgresDatabase): Promise<PostgresEngine> {
  const engine = await database.openEngine()
  atEnd(t, () => engine.close())
  return engine
}

function databaseIn(url: string): string {
  return new URL(url).pathname.slice(1)
}

function entry(index: number): LogEntry {
  return { index, timeMs: index, text: `commit ${index}`, blobs: [] }
}

function blob(index: number): { key: string; bytes: Uint8Array } {
  return { key: `blob ${index}`, bytes: Uint8Array.of(index) }
}

function mark(index: number): { upTo: number; tableIndexes: Record<string, number> } {
  return { upTo: index, tableIndexes: {} }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1)
}

async function indexesIn(engine: PostgresEngine): Promise<number[]> {
  const found: number[] = []
  for await (const { index } of engine.read(1)) found.push(index)
  return found
}

async function textsIn(engine: PostgresEngine): Promise<string[]> {
  const found: string[] = []
  for await (const { text } of engine.read(1)) found.push(text)
  return found
}

async function rowTexts(engine: PostgresEngine): Promise<string[]> {
  const found: string[] = []
  for await (const page of engine.load()) found.push(...page.map(joinStoredRow))
  return found
}
