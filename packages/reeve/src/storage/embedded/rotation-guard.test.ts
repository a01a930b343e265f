import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RotationGuard, type RotationFolder } from './rotation-guard.ts'

const BUFFER_BYTES = 100_000

test('a write that cannot have begun a new log file costs no look at the folder', async () => {
  const folder = new FakeFolder()
  const guard = new RotationGuard(folder, BUFFER_BYTES)
  folder.looks = 0
  for (let at = 0; at < 9; at++) await guard.run(10_000, async () => undefined)
  assert.equal(folder.looks, 0)
})

test('a write that began a new log file is durable only when the folder is synced', async () => {
  const folder = new FakeFolder()
  const guard = new RotationGuard(folder, BUFFER_BYTES)
  const synced = folder.holdSync()
  let durable = false
  const writing = guard
    .run(BUFFER_BYTES, async () => folder.rotate())
    .then(() => {
      durable = true
    })
  await synced.started
  assert.equal(durable, false)
  synced.release()
  await writing
  assert.equal(folder.syncs, 1)
})

test('a write that shares the new log file waits for the same sync', async () => {
  const folder = new FakeFolder()
  const guard = new RotationGuard(folder, BUFFER_BYTES)
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
  const guard = new RotationGuard(folder, BUFFER_BYTES)
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
  const guard = new RotationGuard(folder, BUFFER_BYTES)
  folder.sync = async () => await Promise.reject(new Error('no disk'))
  const writing = guard.run(BUFFER_BYTES, async () => folder.rotate())
  await assert.rejects(writing, /no disk/)
})

class FakeFolder implements RotationFolder {
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
