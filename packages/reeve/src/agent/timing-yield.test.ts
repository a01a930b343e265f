import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from '../../test/build/agent.ts'
import { AGENT_LIMITS } from './limits.ts'
import { EventLoopBudget } from './timing.ts'

const MOST = AGENT_LIMITS.loopSliceCharsMax

/** The names of the steps that were done in each turn. */
async function stepsByTurn(sizes: readonly number[]): Promise<readonly string[]> {
  const turns = new EventLoopBudget()
  const rows: string[] = []
  let row = ''
  for (const [index, chars] of sizes.entries()) {
    void turns.acquire(chars).then(() => (row += index))
  }
  // Those that need not wait go on in the turn in which they ask.
  await Promise.resolve()
  for (;;) {
    rows.push(row)
    row = ''
    if (rows.join('').length >= sizes.length) return rows
    assert.ok(rows.length < 20, 'the steps do not end')
    await turn()
  }
}

const cases = [
  { name: 'small steps share a turn', sizes: [1, 1, 1], wanted: ['012'] },
  { name: 'steps fill a turn to its limit', sizes: [MOST - 1, 1, 1], wanted: ['01', '2'] },
  { name: 'one past the limit waits', sizes: [MOST, 1], wanted: ['0', '1'] },
  { name: 'a larger step has a turn of its own', sizes: [9 * MOST, 9 * MOST], wanted: ['0', '1'] },
  { name: 'nobody overtakes', sizes: [1, MOST, 1], wanted: ['0', '1', '2'] },
]
for (const { name, sizes, wanted } of cases) {
  test(`loop turns: ${name}`, async () => assert.deepEqual(await stepsByTurn(sizes), wanted))
}
