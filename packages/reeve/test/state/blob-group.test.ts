import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put, remove, Store, type Change } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

const bytes = new TextEncoder().encode('source')

function row(Version: number, BlobKey: string): Change {
  return put('job_submissions', {
    Namespace: 'default',
    JobID: 'web',
    Version,
    JobModifyIndex: 1,
    BlobKey,
  })
}

function gone(version: number): Change {
  return remove('job_submissions', `default!web!${String(version).padStart(10, '0')}`)
}

async function aStore(disk = new MemoryDisk()) {
  const store = await Store.open({
    engine: openMemoryEngine({ disk }),
    clock: new SimulatedClock(),
  })
  const write = (changes: readonly Change[], ...keys: readonly string[]): Promise<void> =>
    store.commit({
      by: 'system',
      cause: undefined,
      changes: () => changes,
      blobs: keys.map((key) => ({ key, bytes })),
    }).durable
  return { disk, store, write, keys: () => [...disk.blobs.keys()].toSorted() }
}

test('blobs of rows: a blob goes in the commit that removes its row', async () => {
  const { write, keys } = await aStore()
  await write([row(0, 'a'), row(1, 'b')], 'a', 'b')
  await write([gone(0)])
  assert.deepEqual(keys(), ['b'])
})

test('blobs of rows: one that several rows share goes with the last of them', async () => {
  const { write, keys } = await aStore()
  await write([row(0, 'a'), row(1, 'a')], 'a')
  await write([gone(0)])
  assert.deepEqual(keys(), ['a'])
  await write([gone(1)])
  assert.deepEqual(keys(), [])
})

test('blobs of rows: one that is handed on in the same commit stays', async () => {
  const { write, keys } = await aStore()
  await write([row(0, 'a')], 'a')
  await write([gone(0), row(1, 'a')])
  assert.deepEqual(keys(), ['a'])
})

test('blobs of rows: one that is written again in the same commit stays', async () => {
  const { write, keys } = await aStore()
  await write([row(0, 'a')], 'a')
  await write([gone(0)], 'a')
  assert.deepEqual(keys(), ['a'])
})

test('blobs of rows: what is not there takes nothing with it', async () => {
  const { write, keys } = await aStore()
  await write([row(0, 'a')], 'a', 'of-nobody')
  await write([gone(7)])
  assert.deepEqual(keys(), ['a', 'of-nobody'])
})

test('blobs of rows: after a restart the rows still know what they own', async () => {
  const { disk, store, write } = await aStore()
  await write([row(0, 'a'), row(1, 'a')], 'a')
  await store.close()
  const again = await aStore(disk)
  await again.write([gone(0), gone(1)])
  assert.deepEqual(again.keys(), [])
})
