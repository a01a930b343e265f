import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ClassicLevel } from 'classic-level'
import fc from 'fast-check'
import { walNumbers } from './leveldb/verify-database.ts'
import {
  memtableBytesMax,
  WalRotationGuard,
  walDirectory,
  type WalDirectory,
} from './row-database.ts'

const BUFFER_BYTES = 100_000

test('rotation guard: a write that cannot have started a new WAL needs no directory read', async () => {
  const folder = new FakeFolder()
  const guard = new WalRotationGuard(folder, BUFFER_BYTES)
  folder.looks = 0
  for (let at = 0; at < 9; at++) await guard.run(10_000, async () => undefined)
  assert.equal(folder.looks, 0)
})

test('rotation guard: a write that started a new WAL resolves after the directory fsync', async () => {
  const folder = new FakeFolder()
  const guard = new WalRotationGuard(folder, BUFFER_BYTES)
  const synced = folder.holdSync()
  let durable = false
  const writing = guard.run(BUFFER_BYTES, async () => folder.rotate()).then(() => (durable = true))
  await synced.started
  assert.equal(durable, false)
  synced.release()
  await writing
  assert.equal(folder.syncs, 1)
})

test('a write that shares the new log file waits for the same sync', async () => {
  const folder = new FakeFolder()
  const guard = new WalRotationGuard(folder, BUFFER_BYTES)
  const synced = folder.holdSync()
  const durable: string[] = []
  const other = Promise.withResolvers<void>()
  const second = guard.run(10, () => other.promise).then(() => durable.push('second'))
  const first = guard
    .run(BUFFER_BYTES, async () => folder.rotate())
    .then(() => durable.push('first'))
  await synced.started
  other.resolve()
  await Promise.resolve()
  assert.deepEqual(durable, [])
  synced.release()
  await Promise.all([first, second])
  assert.equal(folder.syncs, 1)
})

test('after a new log file the count begins again, with the writes under way', async () => {
  const folder = new FakeFolder()
  const guard = new WalRotationGuard(folder, BUFFER_BYTES)
  const slow = Promise.withResolvers<void>()
  const underWay = guard.run(60_000, () => slow.promise)
  await guard.run(BUFFER_BYTES - 50_000, async () => folder.rotate())
  folder.looks = 0
  slow.resolve()
  await underWay
  assert.equal(folder.looks, 1, 'both are counted: together they may fill the buffer')
  folder.rotate()
  await guard.run(1, async () => undefined)
  assert.equal(folder.syncs, 2)
})

test('a failed sync of the folder fails the write', async () => {
  const folder = new FakeFolder()
  const guard = new WalRotationGuard(folder, BUFFER_BYTES)
  folder.sync = async () => await Promise.reject(new Error('no disk'))
  const writing = guard.run(BUFFER_BYTES, async () => folder.rotate())
  await assert.rejects(writing, /no disk/)
})

test('no new log file of the real database is missed, whatever the sizes written', async (t) => {
  const path = await mkdtemp(join(tmpdir(), 'reeve-rotation-'))
  const level = new ClassicLevel(path, { writeBufferSize: 64 * 1024 })
  await level.open()
  t.after(async () => {
    await level.close()
    await rm(path, { recursive: true })
  })
  const folder = walDirectory(path)
  let syncs = 0
  const sync = async (): Promise<void> => void syncs++
  const guard = new WalRotationGuard({ list: () => folder.list(), sync }, 64 * 1024)
  let newest = walNumbers(folder.list()).at(-1)
  let rotations = 0
  const sizes = fc.sample(anyBatch, { numRuns: 600, seed: 3 })
  for (const [at, values] of sizes.entries()) {
    let bytesMax = 0
    const batch = values.map((size, part) => {
      const key = `${at}-${part}`
      bytesMax += memtableBytesMax(key.length, size)
      return { type: 'put' as const, key, value: 'v'.repeat(size) }
    })
    await guard.run(bytesMax, () => level.batch(batch))
    const now = walNumbers(folder.list()).at(-1)
    if (now !== newest) rotations++
    newest = now
    assert.equal(syncs, rotations)
  }
  assert.ok(rotations > 50)
})

/** Sizes of the values of one write: many tiny ones, where keys weigh most, or a few. */
const anyBatch = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 400 }),
  fc.array(fc.integer({ min: 700, max: 1_100 }), { minLength: 1, maxLength: 30 }),
  fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 2 }),
)

class FakeFolder implements WalDirectory {
  looks = 0
  syncs = 0
  #number = 4
  #held: { started: () => void; released: Promise<void> } | undefined

  list(): readonly string[] {
    this.looks++
    return ['CURRENT', '000002.ldb', '000003.log', `00000${this.#number}.log`, 'LOG']
  }

  rotate(): void {
    this.#number++
  }

  async sync(): Promise<void> {
    this.#held?.started()
    await this.#held?.released
    this.syncs++
  }

  holdSync(): { started: Promise<void>; release: () => void } {
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.#held = { started: started.resolve, released: released.promise }
    return { started: started.promise, release: released.resolve }
  }
}
