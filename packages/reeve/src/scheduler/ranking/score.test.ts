import assert from 'node:assert/strict'
import test from 'node:test'
import { aGroup, aJob } from '../../../test/build/job.ts'
import { aNode } from '../../../test/build/node.ts'
import {
  affinityScorer,
  antiAffinityScore,
  binPackScore,
  meanScore,
  preemptionScore,
  roundScore,
  scoresByScorer,
  pow10,
} from './score.ts'

/** Usage after the placement on a node with 4,000 MHz and 8,192 MB. */
const fits = [
  { cpu: 0, memory: 0, binpack: 0, spread: 1 },
  { cpu: 500, memory: 256, binpack: 0.177519, spread: 0.822481 },
  { cpu: 2_000, memory: 4_096, binpack: 0.759747, spread: 0.240253 },
  { cpu: 3_000, memory: 2_048, binpack: 0.699906, spread: 0.300094 },
  { cpu: 4_000, memory: 8_192, binpack: 1, spread: 0 },
]
for (const { cpu, memory, binpack, spread } of fits)
  test(`fit score: ${cpu} MHz and ${memory} MB`, () => {
    const free = { freeCpu: 1 - cpu / 4_000, freeMemory: 1 - memory / 8_192 }
    assert.equal(roundScore(binPackScore(free, 'binpack')), binpack)
    assert.equal(roundScore(binPackScore(free, 'spread')), spread)
  })

const crowds = [
  { collisions: 0, count: 3, want: 0 },
  { collisions: 1, count: 3, want: -0.666667 },
  { collisions: 2, count: 3, want: -1 },
  { collisions: 1, count: 10, want: -0.2 },
]
for (const { collisions, count, want } of crowds)
  test(`anti-affinity: ${collisions} of ${count} on the node`, () => {
    assert.equal(roundScore(antiAffinityScore(collisions, count)), want)
  })

test('mean score: documented example', () => {
  const mean = meanScore({ fit: 0.759747, antiAffinity: -0.2, affinity: 1, isPenalised: false })
  assert.equal(roundScore(mean), 0.519916)
})

test('mean score: ignores components that do not apply', () => {
  const fit = { fit: 0.6, antiAffinity: 0, affinity: undefined, isPenalised: false }
  assert.equal(meanScore(fit), 0.6)
  assert.equal(roundScore(meanScore({ ...fit, isPenalised: true })), -0.2)
  assert.equal(roundScore(meanScore({ ...fit, affinity: 0 })), 0.3)
})

test('affinity: matching weights over all weights', () => {
  const job = aJob({
    Affinities: [{ LTarget: '${node.datacenter}', RTarget: 'dc1', Weight: 50 }],
    groups: [aGroup({ Affinities: [{ LTarget: '${node.class}', RTarget: 'big', Weight: -100 }] })],
  })
  const [group] = job.TaskGroups
  assert.ok(group)
  const score = affinityScorer(job, group)
  assert.equal(roundScore(score?.(aNode()) ?? 0), 0.333333)
  assert.equal(roundScore(score?.(aNode({ NodeClass: 'big' })) ?? 0), -0.333333)
  assert.equal(affinityScorer(aJob(), group) === undefined, false)
  const [plain] = aJob().TaskGroups
  assert.ok(plain)
  assert.equal(affinityScorer(aJob(), plain), undefined)
})

test('ten to the power: the table is exact to ten digits', () => {
  for (let power = 0; power <= 1; power += 1 / 7_919)
    assert.ok(Math.abs(pow10(power) - 10 ** power) < 1e-10, String(power))
  assert.deepEqual([pow10(0), pow10(1), pow10(-1), pow10(2)], [1, 10, 1, 10])
})

test('preemption: documented example; more victims score lower', () => {
  assert.equal(roundScore(preemptionScore([10])), 0.999943)
  assert.ok(preemptionScore([10, 10]) < preemptionScore([10]))
  assert.ok(preemptionScore([40]) < preemptionScore([10]))
})

test('score components: those that apply, by name', () => {
  const applied = { fit: 0.5, antiAffinity: 0, affinity: undefined, isPenalised: false }
  assert.deepEqual(scoresByScorer(applied), { binpack: 0.5 })
  const all = { antiAffinity: -0.2, affinity: 1, isPenalised: true, spread: 0.25 }
  assert.deepEqual(scoresByScorer({ fit: 0.5, ...all, devices: -1, preemption: 0.75 }), {
    binpack: 0.5,
    devices: -1,
    'job-anti-affinity': -0.2,
    'node-affinity': 1,
    'node-reschedule-penalty': -1,
    'allocation-spread': 0.25,
    preemption: 0.75,
  })
})
