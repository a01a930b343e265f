import assert from 'node:assert/strict'
import test from 'node:test'
import type { SnapshotLine } from '@reeve/contract'
import {
  takeSnapshot,
  put,
  remove,
  Store,
  type Change,
  type StateSnapshot,
} from '../state/index.ts'
import { MemoryDisk, openMemoryEngine, type MemoryEngine } from '../storage/index.ts'
import { aJob } from '../../test/build/index.ts'
import { aNamespace, aStore, write } from '../../test/build/store.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { restoreSnapshot } from './restore-snapshot.ts'

/** The lines of a snapshot of these rows, with blobs. */
async function* linesOf(
  { index, rows }: StateSnapshot,
  blobs: Readonly<Record<string, string>> = {},
): AsyncGenerator<SnapshotLine> {
  yield { Snapshot: 'reeve', Version: 1, Time: '' }
  for (const [Blob, text] of Object.entries(blobs))
    yield { Blob, Data: Buffer.from(text).toString('base64') }
  yield { Index: index, Rows: rows.length }
  for (const { table, key, indexes, body } of rows)
    yield { Row: [table, key, ...indexes], Body: body }
  yield { Blobs: 0, Checksum: '' }
}

async function opened(reopen: () => Promise<MemoryEngine>) {
  return { engine: await reopen(), reopen }
}

test('restore: rows keep their indexes, and the index of the storage is not behind them', async () => {
  const { store } = await aStore()
  for (let round = 0; round < 50; round++) write(store, [aNamespace(`n${round % 20}`, `${round}`)])
  store.commit({ by: 'system', cause: undefined, changes: () => [remove('namespaces', 'n3')] })
  await store.whenDurable()
  const copy = takeSnapshot(store)
  assert.deepEqual([copy.index, copy.rows.length], [51, 19])
  const disk = new MemoryDisk()
  const open = async () => openMemoryEngine({ disk })
  const { index, rows } = await restoreSnapshot({
    ...(await opened(open)),
    lines: linesOf(copy),
    upTo: copy.index,
  })
  assert.equal(rows, 19)
  assert.ok(index >= copy.index)
  const restored = await Store.open({ engine: await open(), clock: new SimulatedClock() })
  assert.deepEqual(takeSnapshot(restored).rows, copy.rows)
  const { index: next, durable } = restored.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('namespaces', aNamespace('later'))],
  })
  await durable
  assert.ok(next > index)
})

test('restore: the index of a namespace is not behind what it was, even without a row', async () => {
  const { store } = await aStore()
  write(store, [aNamespace('a'), aNamespace('b')])
  const commit = (change: Change) =>
    store.commit({ by: 'system', cause: undefined, changes: () => [change] })
  commit(put('jobs', aJob({ Namespace: 'a' })))
  commit(remove('jobs', 'a!web'))
  await store.whenDurable()
  const scope = { kind: 'one', namespace: 'a' } as const
  const before = store.indexIn('jobs', scope)
  const copy = takeSnapshot(store)
  const disk = new MemoryDisk()
  const open = async () => openMemoryEngine({ disk })
  await restoreSnapshot({ ...(await opened(open)), lines: linesOf(copy), upTo: copy.index })
  const restored = await Store.open({ engine: await open(), clock: new SimulatedClock() })
  const after = restored.indexIn('jobs', scope)
  assert.ok(after >= before, `${after} comes after ${before}`)
  const next = restored.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', aJob({ Namespace: 'b' }))],
  })
  await next.durable
  assert.equal(restored.indexIn('jobs', scope), after, 'another namespace does not concern it')
})

test('restore: many rows and blobs are written in pieces', async () => {
  const { store } = await aStore()
  write(
    store,
    Array.from({ length: 2_500 }, (_, at) => aNamespace(`n${at}`)),
  )
  await store.whenDurable()
  const copy = takeSnapshot(store)
  const disk = new MemoryDisk()
  const open = async () => openMemoryEngine({ disk })
  const blobs = { a: 'first', b: 'second' }
  const { rows } = await restoreSnapshot({
    ...(await opened(open)),
    lines: linesOf(copy, blobs),
    upTo: copy.index,
  })
  assert.equal(rows, 2_500)
  const engine = await open()
  assert.equal(Buffer.from((await engine.readBlob('b')) ?? []).toString(), 'second')
})

test('restore: a storage that holds a state is left as it is', async () => {
  const { store, disk } = await aStore()
  await write(store, [aNamespace('mine')]).durable
  await store.close()
  const open = async () => openMemoryEngine({ disk })
  const lines = linesOf({ index: 9, rows: [], blobKeys: new Set() })
  await assert.rejects(restoreSnapshot({ ...(await opened(open)), lines, upTo: 9 }), {
    kind: 'storage-foreign',
  })
  const again = await Store.open({ engine: await open(), clock: new SimulatedClock() })
  assert.deepEqual([...again.tables.namespaces.keys()], ['mine'])
})

test('restore: rows of a table that is not known are refused', async () => {
  const disk = new MemoryDisk()
  const open = async () => openMemoryEngine({ disk })
  const row = { table: 'moons', key: 'a', indexes: [1, 1], body: '{}' } as const
  const lines = linesOf({ index: 1, rows: [row], blobKeys: new Set() })
  await assert.rejects(restoreSnapshot({ ...(await opened(open)), lines, upTo: 1 }), {
    kind: 'storage-version',
  })
})

test('restore: a state of very many commits is restored as fast as one of few', async () => {
  const disk = new MemoryDisk()
  const open = async () => openMemoryEngine({ disk })
  const upTo = 2 ** 48
  const lines = linesOf({ index: upTo, rows: [], blobKeys: new Set() })
  const { index } = await restoreSnapshot({ ...(await opened(open)), lines, upTo })
  assert.equal(index, upTo)
})
