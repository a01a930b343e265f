import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from '../../test/build/agent.ts'
import { CoalescedRun } from './timing.ts'

test('requests during a run share the next one, which sees what they saw', async () => {
  const seen: number[] = []
  let value = 0
  const gates: (() => void)[] = []
  const latest = new CoalescedRun(async () => {
    const now = value
    await new Promise<void>((resolve) => gates.push(resolve))
    seen.push(now)
  })
  value = 1
  const first = latest.run()
  value = 2
  const second = latest.run()
  value = 3
  const third = latest.run()
  gates.shift()?.()
  await first
  await turn()
  gates.shift()?.()
  await Promise.all([second, third])
  assert.deepEqual(seen, [1, 3])
})

test('a failed run fails its own requests and not the next ones', async () => {
  let runs = 0
  const latest = new CoalescedRun(() => {
    runs += 1
    return runs === 1 ? Promise.reject(new Error('full')) : Promise.resolve()
  })
  const first = latest.run()
  const second = latest.run()
  await assert.rejects(first, /full/)
  await second
  await latest.run()
  assert.equal(runs, 3)
})
