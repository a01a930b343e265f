import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import { startPostgres, whyNoPostgres } from '../../../test/build/postgres.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const skip = whyNoPostgres()
const postgres = skip === undefined ? await startPostgres() : undefined
after(() => postgres?.stop())

test('a database belongs to the region of its first server', { skip }, async (t) => {
  const database = await aDatabase(t)
  await database.claim({ keyCheck: 'k', region: 'us' })
  await database.claim({ keyCheck: 'k', region: 'us' })
  await assert.rejects(database.claim({ keyCheck: 'k', region: 'eu' }), {
    kind: 'storage-foreign',
    message: /belongs to region "us", and this server is of region "eu"\. Give it region = "us"/,
  })
})

test('who has not the key of a cluster notes no region', { skip }, async (t) => {
  const database = await aDatabase(t)
  await database.claim({ keyCheck: 'k', region: 'us' })
  await postgres?.query(database.name.split('/').at(-1) ?? '', 'DELETE FROM reeve_marks')
  await assert.rejects(database.claim({ keyCheck: 'other', region: 'eu' }), /another key/)
  await database.claim({ keyCheck: 'k', region: 'us' })
})

test('who has lost the lease neither fills a database nor finishes it', { skip }, async (t) => {
  const { lease, marks } = await aDatabase(t)
  const first = await lease.acquire({ holder: 'a', address: '', ttlMs: 0 }, { isToFill: true })
  await marks.begin(first?.term ?? 0)
  await lease.acquire({ holder: 'b', address: '', ttlMs: 0 }, { isToFill: true })
  await assert.rejects(marks.begin(first?.term ?? 0), { kind: 'storage-fenced' })
  await assert.rejects(marks.finish(first?.term ?? 0), { kind: 'storage-fenced' })
  assert.equal(await marks.isUnfinished(), true)
})

async function aDatabase(t: TestContext) {
  const database = await openPostgresDatabase((await postgres?.newDatabase()) ?? '')
  atEnd(t, () => database.close())
  return database
}
