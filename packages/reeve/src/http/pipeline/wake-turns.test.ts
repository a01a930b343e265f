import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { LIMITS } from '../../model/index.ts'
import { RequestScheduler } from './request-scheduler.ts'
import { WakeQueue } from './blocking.ts'

const perTurn = LIMITS.parkedQueriesPerTurn

test('wake turns: the queries of a tenant continue in order, a few in each turn', async () => {
  const turns: (() => void)[] = []
  const turn = () => new Promise<void>((resolve) => void turns.push(resolve))
  const wakes = new WakeQueue()
  const passed: number[] = []
  const count = perTurn * 2 + 1
  for (let i = 0; i < count; i++) void wakes.next('a', turn).then(() => passed.push(i))
  const lengths: number[] = []
  while (passed.length < count) {
    assert.equal(turns.length, lengths.length + 1, 'one turn is asked for at a time')
    turns.at(-1)?.()
    await setImmediate()
    lengths.push(passed.length)
  }
  assert.deepEqual(lengths, [perTurn, perTurn * 2, count])
  assert.deepEqual(
    passed,
    passed.toSorted((a, b) => a - b),
  )
})

test('wake turns: large responses share a turn with few others', async () => {
  const half = LIMITS.wokenBytesPerTurn / 2
  const rows: { sizes: number[]; lengths: number[] }[] = [
    { sizes: [half, half, half], lengths: [2, 3] },
    { sizes: [half * 4, half * 4], lengths: [1, 2] },
    { sizes: [0, 0, half * 4, 0], lengths: [2, 3, 4] },
  ]
  for (const { sizes, lengths } of rows) {
    let passed = 0
    const turns: (() => void)[] = []
    const turn = () => new Promise<void>((resolve) => void turns.push(resolve))
    const wakes = new WakeQueue()
    for (const bytes of sizes) void wakes.next('a', turn, bytes).then(() => passed++)
    for (const length of lengths) {
      turns.at(-1)?.()
      await setImmediate()
      assert.equal(passed, length, `of ${sizes.join(', ')} bytes`)
    }
  }
})

test('wake turns: others are served while the queries of one tenant continue', async () => {
  const scheduler = new RequestScheduler()
  const wakes = new WakeQueue()
  let passed = 0
  const all = Array.from({ length: 3_000 }, () =>
    wakes.next('a', (tenant) => scheduler.waitForTurn(tenant)).then(() => passed++),
  )
  const other = Promise.withResolvers<number>()
  await setImmediate()
  scheduler.enter('b', 1, () => other.resolve(passed))
  assert.ok((await other.promise) <= perTurn * 8, `after ${await other.promise} of 3,000`)
  await Promise.all(all)
  assert.equal(passed, 3_000)
})
