import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { atEnd } from '../../test/build/at-end.ts'
import { startPostgres, whyNoPostgres } from '../../test/build/postgres.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { until } from '../../test/build/until.ts'
import type { MigratableEngine } from '../state/index.ts'
import { isEmptyEngine, openEmbeddedEngine, openPostgresDatabase } from '../storage/index.ts'
import { assertNoPartialImport, openOfflineStorage } from './offline-storage.ts'

const missing = whyNoPostgres()
const postgres = missing === undefined ? await startPostgres() : undefined
after(() => postgres?.stop())

const HALF = /holds half a state: .* or was broken off/
const SERVER = { holder: 'a', address: '10.0.0.1:4646', ttlMs: 60_000 }

test('a directory that was not filled to its end is no storage, and the next replaces it', async (t) => {
  const data = await temporaryDirectory(t)
  const half = await openOfflineStorage(data, 'to')
  await writeSome(half.engine)
  await assert.rejects(openOfflineStorage(data, 'to'), /in use by this process/)
  await half.close()
  assert.deepEqual(await readdir(join(data, 'server')), ['storage.moving'])
  await assert.rejects(assertNoPartialImport(data), HALF)

  const whole = await openOfflineStorage(data, 'to')
  assert.ok(await isEmptyEngine(whole.engine))
  await writeSome(whole.engine)
  await whole.markComplete()
  await whole.close()
  assert.deepEqual(await readdir(join(data, 'server')), ['storage'])
  await assertNoPartialImport(data)
  const engine = await openEmbeddedEngine(join(data, 'server', 'storage'))
  assert.equal(engine.initialPosition.lastIndex, 1)
  await engine.close()
})

test(
  'a database that was not filled to its end is refused by servers, and the next replaces it',
  { skip: missing },
  async (t) => {
    const url = (await postgres?.newDatabase()) ?? ''
    const database = await openPostgresDatabase(url)
    atEnd(t, () => database.close())
    const claim = { keyFingerprint: 'k', region: 'global' }
    const half = await openOfflineStorage(url, 'to')
    await writeSome(half.engine)
    await half.close()
    await assert.rejects(database.assertSameCluster(claim), HALF)
    await assert.rejects(openOfflineStorage(url, 'from'), HALF)
    assert.equal(await database.lease.acquire(SERVER), undefined, 'nobody leads half a state')

    const whole = await openOfflineStorage(url, 'to')
    assert.ok(await isEmptyEngine(whole.engine))
    await writeSome(whole.engine)
    await whole.markComplete()
    await whole.close()
    await database.assertSameCluster(claim)
    assert.notEqual(await database.lease.acquire(SERVER), undefined)
    const engine = await database.openEngine()
    atEnd(t, () => engine.close())
    assert.equal(engine.initialPosition.lastIndex, 1)
  },
)

test(
  'a database that holds a state is not marked by who wanted to fill it',
  { skip: missing },
  async (t) => {
    const url = (await postgres?.newDatabase()) ?? ''
    const whole = await openOfflineStorage(url, 'to')
    await writeSome(whole.engine)
    await whole.markComplete()
    await whole.close()
    await assert.rejects(openOfflineStorage(url, 'to'), /is not empty\. Nothing was changed/)
    const source = await openOfflineStorage(url, 'from')
    atEnd(t, () => source.close())
    assert.equal(source.engine.initialPosition.lastIndex, 1)
  },
)

test(
  'who is killed while it moves keeps a database for seconds only',
  { skip: missing },
  async (t) => {
    const url = (await postgres?.newDatabase()) ?? ''
    const place = await openOfflineStorage(url, 'from')
    atEnd(t, () => place.close())
    const database = await openPostgresDatabase(url)
    atEnd(t, () => database.close())
    const { remainingMs } = await database.lease.read()
    assert.ok(remainingMs > 0 && remainingMs <= 5_000, `${remainingMs}`)
    const later = await until('a renewal', async () => {
      const found = await database.lease.read()
      return found.remainingMs > remainingMs ? found : undefined
    })
    assert.ok(later.remainingMs <= 5_000)
  },
)

async function writeSome(engine: MigratableEngine): Promise<void> {
  const blobs = [{ key: 'b', bytes: Uint8Array.of(7) }]
  await engine.append([{ index: 1, timeMs: 1, text: 'c 1', blobs }])
  await engine.checkpoint([{ table: 'jobs', key: 'a', text: '1 1\n{}' }], {
    upTo: 1,
    tableIndexes: { jobs: 1 },
  })
}
