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
  await database.assertSameCluster({ keyFingerprint: 'k', region: 'us' })
  await database.assertSameCluster({ keyFingerprint: 'k', region: 'us' })
  await assert.rejects(database.assertSameCluster({ keyFingerprint: 'k', region: 'eu' }), {
    kind: 'storage-foreign',
    message: /belongs to region "us", and this server is of region "eu"\. Give it region = "us"/,
  })
})

test(
  'metadata: a rotated cluster key is accepted by servers that know both',
  { skip },
  async (t) => {
    const database = await aDatabase(t)
    const region = 'us'
    const start = async (keyFingerprint: string, ...previousFingerprints: string[]) => {
      await database.assertSameCluster({ keyFingerprint, previousFingerprints, region })
    }
    await start('first')
    await assert.rejects(start('second'), {
      kind: 'storage-foreign',
      message: /previous_cluster_keys/,
    })
    await start('first', 'second')
    await start('second', 'first')
    // A server that has not been restarted with the new key yet may crash and return.
    await start('first', 'second')
    await start('second', 'first')
    await start('second')
    await assert.rejects(start('first'), { kind: 'storage-foreign' })
  },
)

test('metadata: a server without the cluster key records no region', { skip }, async (t) => {
  const database = await aDatabase(t)
  await database.assertSameCluster({ keyFingerprint: 'k', region: 'us' })
  await postgres?.query(database.name.split('/').at(-1) ?? '', 'DELETE FROM reeve_marks')
  await assert.rejects(
    database.assertSameCluster({ keyFingerprint: 'other', region: 'eu' }),
    /another key/,
  )
  await database.assertSameCluster({ keyFingerprint: 'k', region: 'us' })
})

test(
  'metadata: a server without the lease can neither start nor finish an import',
  { skip },
  async (t) => {
    const { lease, metadata } = await aDatabase(t)
    const first = await lease.acquire({ holder: 'a', address: '', ttlMs: 0 }, { forImport: true })
    await metadata.beginImport(first?.term ?? 0)
    await lease.acquire({ holder: 'b', address: '', ttlMs: 0 }, { forImport: true })
    await assert.rejects(metadata.beginImport(first?.term ?? 0), { kind: 'storage-fenced' })
    await assert.rejects(metadata.finishImport(first?.term ?? 0), { kind: 'storage-fenced' })
    assert.equal(await metadata.hasUnfinishedImport(), true)
  },
)

async function aDatabase(t: TestContext) {
  const database = await openPostgresDatabase((await postgres?.newDatabase()) ?? '')
  atEnd(t, () => database.close())
  return database
}
