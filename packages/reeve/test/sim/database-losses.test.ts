import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateLoss } from '../../sim/cluster/loss-world.ts'

/** More of them are lived by `npm run sim -- --losses`; see docs/contributing/simulation.md. */
const SEEDS = 12

async function live(seed: number): Promise<number> {
  const { violation, tail, crashes } = await simulateLoss({ seed })
  const again = `again: npm run sim -- --seed ${seed} --losses --verbose`
  assert.equal(violation, undefined, [...tail, violation?.message, again].join('\n'))
  return crashes
}

test(`simulation: ${SEEDS} clusters whose database loses commits never show what it does not have`, async () => {
  let lost = 0
  for (let seed = 1; seed <= SEEDS; seed++) lost += await live(seed)
  assert.ok(lost > SEEDS, `only ${lost} acknowledged commits were lost: nothing is tested`)
})

test('simulation: a leader does not checkpoint lost commits into a database that went back', async () => {
  await live(226)
})
