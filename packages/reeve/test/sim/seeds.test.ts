import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate, type SimulationResult, smallOptionsOf } from '../../sim/simulation.ts'

/** More of them are lived by `npm run sim`; see docs/contributing/simulation.md. */
const SEEDS = 60
const SEEDS_TWICE = 8

const runs = new Map<number, Promise<SimulationResult>>()

/** Both tests need it. */
async function firstRun(seed: number): Promise<SimulationResult> {
  const run = runs.get(seed) ?? simulate(smallOptionsOf(seed))
  runs.set(seed, run)
  return await run
}

function explain({ seed, violation, tail }: SimulationResult): string {
  return [
    ...tail,
    `${violation?.message}`,
    `again: npm run sim -- --seed ${seed} --small --verbose`,
  ].join('\n')
}

test(`simulation: ${SEEDS} small clusters keep every promise through faults and settle`, async () => {
  let failedDeployments = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await firstRun(seed)
    assert.equal(result.violation, undefined, explain(result))
    failedDeployments += result.failedDeployments
  }
  // What follows a failed deployment is only checked where deployments fail.
  assert.ok(failedDeployments >= SEEDS / 2, `only ${failedDeployments} deployments failed`)
})

test('simulation: the same seed gives the same commits', async () => {
  for (let seed = 1; seed <= SEEDS_TWICE; seed++) {
    const first = await firstRun(seed)
    const second = await simulate(smallOptionsOf(seed))
    assert.equal(second.commitHash, first.commitHash, `seed ${seed}`)
  }
})
