import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runToCompletion, runInSlices, type Steps } from './slices.ts'

/** Each step takes one millisecond of a simulated clock. */
function aWorkload(steps: number) {
  let nowMs = 0
  function* work(): Steps<string> {
    for (let step = 0; step < steps; step++) {
      nowMs++
      yield
    }
    return 'done'
  }
  return { work, monotonicMs: () => nowMs }
}

for (const { name, steps, turns } of [
  { name: 'a short computation is not interrupted', steps: 4, turns: 0 },
  { name: 'a slice that is used up gives others their turn', steps: 5, turns: 1 },
  { name: 'a long computation has as many turns as slices', steps: 23, turns: 4 },
])
  test(`runInSlices: ${name}`, async () => {
    const { work, monotonicMs } = aWorkload(steps)
    const events: string[] = []
    const options = {
      monotonicMs,
      sliceMs: 5,
      beforeFirstTurn: () => void events.push('before'),
      nextTurn: async () => void events.push('turn'),
    }
    assert.equal(await runInSlices(work(), options), 'done')
    const expected = turns === 0 ? [] : ['before', ...Array.from({ length: turns }, () => 'turn')]
    assert.deepEqual(events, expected)
  })

test('runToCompletion: returns the same result without yielding', () => {
  assert.equal(runToCompletion(aWorkload(23).work()), 'done')
})
