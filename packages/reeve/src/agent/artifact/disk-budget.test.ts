import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllocationDisks, DiskBudget } from './disk-budget.ts'
import { FetcherSlots } from './artifact-hook.ts'

const LIMITS = { bytesMax: 8_192, totalBytes: 10 * 2 ** 20, entriesMax: 2 }
const FULL = {
  kind: 'task-artifact',
  message:
    "it does not fit on the allocation's disk: 0 MiB of 10 MiB are left, for the download and " +
    'what it unpacks to together; raise ephemeral_disk.size',
}

test('a budget takes bytes up to its limit, and no byte more', () => {
  const budget = new DiskBudget(LIMITS)
  const file = budget.addFile()
  file.addBytes(8_192)
  assert.throws(() => file.addBytes(1), FULL)
  assert.throws(() => new DiskBudget(LIMITS).requireFree(8_193), FULL)
  new DiskBudget(LIMITS).requireFree(8_192)
})

test('an empty file takes a block, and a removed one gives its blocks back', () => {
  const used: number[] = []
  const budget = new DiskBudget(LIMITS, (bytes) => used.push(bytes))
  const first = budget.addFile()
  budget.addFile()
  assert.throws(() => budget.addFile(), FULL)
  const other = new DiskBudget(LIMITS, (bytes) => used.push(bytes))
  const removed = other.addFile()
  removed.addBytes(4_097)
  removed.release()
  other.addFile().addBytes(8_192)
  assert.deepEqual(used, [4_096, 8_192, 4_096, 8_192, 0, 4_096, 8_192])
  assert.ok(first)
})

test('a budget takes entries up to its limit, and not one more', () => {
  const budget = new DiskBudget({ ...LIMITS, bytesMax: 2 ** 20 })
  budget.addEntry()
  budget.addEntry()
  assert.throws(() => budget.addEntry(), {
    message:
      'it holds more than 2 files, directories and links, the most that this node allows ' +
      '(client.artifact.max_entries)',
  })
})

test('the fetches of an allocation count together, and what they leave counts on', async () => {
  const disks = new AllocationDisks()
  const options = { totalBytes: 1_000, measure: () => Promise.resolve(100) }
  await disks.use('a', options, async (disk) => {
    const first = disk.reserve()
    assert.equal(first.bytesMax, 900)
    first.report(400)
    await disks.use('a', options, (same) => {
      const second = same.reserve()
      assert.equal(second.bytesMax, 500)
      second.report(500)
      assert.throws(() => second.report(501), /does not fit/)
      second.release({ stays: false })
      return Promise.resolve()
    })
    first.release({ stays: true })
    assert.equal(disk.reserve().bytesMax, 500)
    await disks.use('b', options, (other) => {
      assert.equal(other.reserve().bytesMax, 900, 'another allocation has its own disk')
      return Promise.resolve()
    })
  })
})

test('a namespace that holds all its slots leaves the others theirs', async () => {
  const slots = new FetcherSlots({ fetchersMax: 3, perNamespaceMax: 2 })
  const { signal } = new AbortController()
  const ends: (() => void)[] = []
  const begun: string[] = []
  const fetch = (namespace: string, name: string, until = signal): Promise<void> =>
    slots.run(namespace, until, (slot) => {
      begun.push(`${name}:${slot}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return promise
    })
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const stop = new AbortController()
  const all = [fetch('a', 'a1'), fetch('a', 'a2')]
  const abandoned = fetch('a', 'a3', stop.signal)
  all.push(fetch('a', 'a4'), fetch('b', 'b1'), fetch('b', 'b2'))
  await turn()
  assert.deepEqual(begun, ['a1:0', 'a2:1', 'b1:2'])
  stop.abort(new Error('killed'))
  await assert.rejects(abandoned, /killed/)
  ends[0]?.()
  await turn()
  assert.deepEqual(begun.slice(3), ['a4:0'])
  for (let n = 1; n < 5; n += 1) {
    ends[n]?.()
    await turn()
  }
  await Promise.all(all)
  assert.deepEqual(begun.length, 5)
})
