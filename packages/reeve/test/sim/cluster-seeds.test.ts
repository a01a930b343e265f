import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterOptionsOf, simulate, type SimulationResult } from '../../sim/simulation.ts'

/** More of them are lived by `npm run sim -- --cluster`; see docs/contributing/simulation.md. */
const SEEDS = 20
const SEEDS_TWICE = 2

const runs = new Map<number, Promise<SimulationResult>>()

/** Both tests need it. */
async function firstRun(seed: number): Promise<SimulationResult> {
  const run = runs.get(seed) ?? simulate(clusterOptionsOf(seed))
  runs.set(seed, run)
  return await run
}

function explain({ seed, violation, tail }: SimulationResult): string {
  return [
    ...tail,
    `${violation?.message}`,
    `again: npm run sim -- --seed ${seed} --cluster --verbose`,
  ].join('\n')
}

test(`simulation: ${SEEDS} clusters of three servers keep every promise through faults and settle`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await firstRun(seed)
    assert.equal(result.violation, undefined, explain(result))
  }
})

test('simulation: the same seed of three servers gives the same commits', async () => {
  for (let seed = 1; seed <= SEEDS_TWICE; seed++) {
    const first = await firstRun(seed)
    const second = await simulate(clusterOptionsOf(seed))
    assert.equal(second.commitHash, first.commitHash, `seed ${seed}`)
  }
})
