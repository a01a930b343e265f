import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../build/until.ts'
import { SKIPPED } from './infrastructure-tool.ts'
import { aRunWorld, type RunDirectory } from './run-world.ts'

/**
 * Applies per run of this test; `REEVE_TEST_REPEATS=200` is the figure of the conformance list of
 * remote runs (C46).
 */
const REPEATS = Number(process.env['REEVE_TEST_REPEATS'] ?? 3)

/** Workspaces that apply at the same time. */
const WORKSPACES = 3

/**
 * The tool reads a run once when the log of its plan has ended. If the run cannot be confirmed yet,
 * it exits with 0 without a question, and nothing is applied.
 */
describe('the end of the plan log', { skip: SKIPPED }, () => {
  test(`the run can be confirmed where the log ends, ${REPEATS} times`, async (t) => {
    const world = await aRunWorld(t)
    const text = 'resource "terraform_data" "x" {}\n'
    const names = Array.from({ length: WORKSPACES }, (_, number) => `confirmed-${number}`)
    let turns = 0
    const repeat = async (directory: RunDirectory): Promise<void> => {
      while (turns++ < REPEATS) await ask(directory)
    }
    const directories = await Promise.all(names.map((name) => world.initialized(name, text)))
    await Promise.all(directories.map(repeat))
    t.diagnostic(`${REPEATS} questions asked`)
  })
})

async function ask(directory: RunDirectory): Promise<void> {
  const apply = directory.start('apply', '-no-color')
  let hasEnded = false
  void apply.ended.then(() => (hasEnded = true))
  await until('the question', () => hasEnded || /Enter a value/.test(apply.output()) || undefined)
  apply.say('no\n')
  const { code, output } = await apply.ended
  assert.match(output, /Enter a value/)
  assert.match(output, /Apply discarded/)
  assert.equal(code, 1, output)
}
