import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockOptionsOf, simulate } from '../../sim/simulation.ts'

/** More of them are lived by `npm run sim -- --clocks`; see docs/contributing/simulation.md. */
const SEEDS = 16

test(`simulation: ${SEEDS} clusters whose clocks jump by up to hours keep every promise and settle`, async () => {
  let faults = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await simulate(clockOptionsOf(seed))
    const again = `again: npm run sim -- --seed ${seed} --clocks --verbose`
    const story = [...result.tail, result.violation?.message, again].join('\n')
    assert.equal(result.violation, undefined, story)
    faults += result.faults
  }
  assert.ok(faults > SEEDS * 5, `only ${faults} faults: nothing is tested`)
})
