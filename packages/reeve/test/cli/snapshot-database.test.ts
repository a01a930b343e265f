import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { createClient } from '@reeve/sdk'
import { takeSnapshot, Store } from '../../src/state/index.ts'
import { openPostgresDatabase } from '../../src/storage/index.ts'
import { atEnd } from '../build/at-end.ts'
import { commandLineAt } from '../build/cli.ts'
import { startPostgres, whyNoPostgres } from '../build/postgres.ts'
import { aNamespace, aStore, write } from '../build/store.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const skip = whyNoPostgres() ?? false

test('operator snapshot restore: into a database', { skip, timeout: 300_000 }, async (t) => {
  const postgres = await startPostgres()
  atEnd(t, () => postgres.stop())
  const url = await postgres.newDatabase()
  const directory = await temporaryDirectory(t)
  const client = createClient({ address: 'http://127.0.0.1:1' })
  const reeve = commandLineAt({ address: client.address, client, directory })
  const { store } = await aStore()
  for (let at = 0; at < 30; at++) write(store, [aNamespace(`n${at}`)])
  await store.whenDurable()
  const { index, rows } = takeSnapshot(store)
  const head = { Snapshot: 'reeve', Version: 1, Time: '2026-01-01T00:00:00Z' }
  const rowLines = rows.map(({ table, key, indexes, body }) => ({
    Row: [table, key, ...indexes],
    Body: body,
  }))
  const text = [head, { Index: index, Rows: rows.length }, ...rowLines]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
  const Checksum = `sha256:${createHash('sha256').update(text).digest('hex')}`
  await reeve.file('a.snapshot', `${text}${JSON.stringify({ Blobs: 0, Checksum })}\n`)

  const { code, out, err } = await reeve.run('operator snapshot restore a.snapshot', {
    environment: { REEVE_DATABASE: url },
  })
  assert.equal(code, 0, err)
  assert.match(out, /^Restored 30 rows into the database /)
  assert.match(err, /^Give the servers the server\.cluster_key/)

  const database = await openPostgresDatabase(url)
  atEnd(t, () => database.close())
  const engine = await database.openEngine()
  const restored = await Store.open({ engine, clock: new SimulatedClock(), isFollower: true })
  assert.deepEqual(takeSnapshot(restored).rows, rows)
  assert.ok(restored.index >= index)
  const found = await database.lease.acquire({ holder: 'next', address: '', ttlMs: 60_000 })
  assert.ok(found !== undefined, 'the lease was given back')

  const busy = await reeve.run(['operator', 'snapshot', 'restore', '--database', url, 'a.snapshot'])
  assert.equal(busy.code, 1)
  assert.match(busy.err, /is in use by a command that moves or restores/)
  await database.lease.release(found)
  const again = await reeve.run([
    'operator',
    'snapshot',
    'restore',
    '--database',
    url,
    'a.snapshot',
  ])
  assert.equal(again.code, 1)
  assert.match(again.err, /is not empty\. Nothing was changed/)
})
