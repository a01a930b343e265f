import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../../../test/build/postgres.ts'
import { LogHistory } from '../../cluster/index.ts'
import type { LogEntry } from '../../state/index.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const missing = whyNoPostgres()
if (missing !== undefined) test('PostgreSQL that loses commits', { skip: missing }, () => undefined)
else runTests(await startPostgres())

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('losses: a leader appends nothing to a database restored to an earlier time', async (t) => {
    const { engine, goBack } = await aLeader(t, postgres)
    await engine.append([entry(1), entry(2)])
    await engine.append([entry(3)])
    await goBack(2)
    await assert.rejects(engine.append([entry(4)]), {
      kind: 'log-diverged',
      message: /does not hold log entry 3 as this server has applied it: it has lost commits/,
    })
  })

  test('a leader neither checkpoints nor trims a database that went back', async (t) => {
    const { engine, database, goBack } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    await engine.append([entry(2)])
    await goBack(1)
    const rows = [{ table: 'jobs', key: 'a', text: 'of entry 2' }]
    const mark = { upTo: 2, tableIndexes: {} }
    await assert.rejects(engine.checkpoint(rows, mark), { kind: 'log-diverged' })
    await assert.rejects(engine.checkpoint([], mark), { kind: 'log-diverged' })
    assert.equal(engine.hasDiverged, true)
    const next = await database.openEngine()
    assert.deepEqual([next.initialPosition.lastIndex, next.initialPosition.checkpoint.upTo], [1, 0])
    for await (const page of next.load()) assert.deepEqual(page, [])
    await next.close()
  })

  test('a checkpoint is not finished on a database that has lost a piece of it', async (t) => {
    const { engine, database } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    const mark = { upTo: 1, tableIndexes: {} }
    await engine.checkpoint([{ table: 'jobs', key: 'a', text: 'a' }], mark)
    const name = database.name.split('/').at(-1) ?? ''
    await postgres.query(name, 'UPDATE reeve_checkpoint SET step = step - 1')
    await assert.rejects(engine.checkpoint([], mark), { kind: 'log-diverged' })
    assert.equal(engine.hasDiverged, true)
  })

  test('a lease is not renewed where the log lacks the last entry of its holder', async (t) => {
    const { engine, database, history, claim, term, goBack } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    const before = history.last
    await engine.append([entry(2)])
    const { lease } = database
    assert.equal(await lease.renew({ term }, { ...claim, applied: history.last }), true)
    await goBack(1)
    assert.equal(await lease.renew({ term }, { ...claim, applied: history.last }), false)
    assert.equal(await lease.renew({ term }, { ...claim, applied: before }), true)
  })

  test('no server leads from an entry that is not the end of the log', async (t) => {
    const { engine, database, history, term, goBack } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    const first = history.last
    await engine.append([entry(2)])
    const next = await database.openEngine()
    atEnd(t, () => next.close())
    await assert.rejects(next.beginTerm(term, { applied: first }), { kind: 'log-diverged' })
    await goBack(1)
    await assert.rejects(next.beginTerm(term, { applied: history.last }), { kind: 'log-diverged' })
    assert.equal((await next.beginTerm(term, { applied: first })).lastIndex, 1)
  })

  test('entries that do not follow the ones before them are not read', async (t) => {
    const { engine, history, database, goBack } = await aLeader(t, postgres)
    await engine.append([entry(1), entry(2)])
    const reader = await database.openEngine()
    atEnd(t, () => reader.close())
    const applied = history.last
    await engine.append([entry(3), entry(4)])
    const log = await reader.refresh(applied)
    assert.deepEqual(log.entry, applied)
    await goBack(1)
    await postgres.query(
      database.name.split('/').at(-1) ?? '',
      `INSERT INTO reeve_log (commit_index, term, nonce, time_ms, body)
       SELECT n, 1, 'other', 0, '' FROM generate_series(2, 4) AS n`,
    )
    const reading = reader.read(3, applied)[Symbol.asyncIterator]()
    await assert.rejects(reading.next(), { kind: 'log-diverged' })
  })

  test('nothing is appended while a loss is not accepted, whoever recorded it', async (t) => {
    const { engine, database } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    const { losses } = database
    await losses.record({ id: 'l1', foundBy: 'b', fromIndex: 2, toIndex: 4 })
    await losses.record({ id: 'l1', foundBy: 'c', fromIndex: 3, toIndex: 5 })
    const [open] = await losses.list()
    assert.deepEqual([open?.fromIndex, open?.toIndex, open?.foundBy], [2, 5, 'b'])
    assert.equal(open?.acceptedAtMs, undefined)
    await assert.rejects(engine.append([entry(2)]), { kind: 'log-diverged' })
    const accepted = await losses.accept('operator')
    assert.deepEqual(
      accepted.map(({ id }) => id),
      ['l1'],
    )
    assert.deepEqual(await losses.accept('operator'), [], 'once')
    await engine.append([entry(2)])
  })

  test('nothing is appended in a term that the database has given to another server', async (t) => {
    const { engine, setHolder } = await aLeader(t, postgres)
    await engine.append([entry(1)])
    await setHolder('b')
    await assert.rejects(engine.append([entry(2)]), { kind: 'storage-fenced' })
    await setHolder('a')
    await engine.append([entry(2)])
  })
}

async function aLeader(t: TestContext, postgres: TestPostgres) {
  const url = await postgres.newDatabase()
  const database = await openPostgresDatabase(url)
  atEnd(t, () => database.close())
  const claim = { holder: 'a', address: '', ttlMs: 60_000 }
  const { term = 0 } = (await database.lease.acquire(claim)) ?? {}
  const history = new LogHistory()
  const engine = await database.openEngine(history)
  atEnd(t, () => engine.close())
  await engine.beginTerm(term, { holder: claim.holder })
  const query = (text: string) => postgres.query(new URL(url).pathname.slice(1), text)
  const setHolder = async (holder: string): Promise<void> => {
    await query(`UPDATE reeve_leader SET holder = '${holder}'`)
  }
  const goBack = async (toIndex: number): Promise<void> => {
    await query(
      `UPDATE reeve_head SET last_index = ${toIndex};
       DELETE FROM reeve_log WHERE commit_index > ${toIndex}`,
    )
  }
  return { engine, database, history, claim, term, goBack, setHolder }
}

function entry(index: number): LogEntry {
  return { index, timeMs: 0, text: `commit ${index}`, blobs: [] }
}
