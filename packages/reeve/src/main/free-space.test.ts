import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { setImmediate } from 'node:timers/promises'
import { FreeSpaceMonitor } from './host-watch.ts'

test('free space is measured again, and unknown if that fails', async () => {
  const clock = new SimulatedClock()
  const answers = [25, 10, undefined, 50]
  const stat = (): Promise<{ bsize: number; blocks: number; bavail: number }> => {
    const bavail = answers.shift()
    return bavail === undefined
      ? Promise.reject(new Error('gone'))
      : Promise.resolve({ bsize: 4_096, blocks: 100, bavail })
  }
  const space = new FreeSpaceMonitor({ path: '/data', clock, stat })
  assert.deepEqual([space.ratio, space.bytes], [Number.NaN, Number.NaN])
  await space.start()
  const seen: number[] = []
  for (let look = 0; look < 4; look += 1) {
    seen.push(space.ratio)
    clock.advance(30_000)
    await setImmediate()
  }
  assert.deepEqual(seen, [0.25, 0.1, Number.NaN, 0.5])
  space.stop()
})
