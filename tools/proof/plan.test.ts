import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProofExperiment } from './experiments.ts'
import { planTime } from './plan.ts'

function anExperiment(name: string, fields: Partial<ProofExperiment> = {}): ProofExperiment {
  const base = { name, claim: '', weight: 1, secondsMin: 10, setUpSeconds: 0 }
  return { ...base, script: ['none.ts'], ...fields }
}

const cases = [
  {
    name: 'shares the time by weight',
    totalSeconds: 300,
    experiments: [anExperiment('a', { weight: 1 }), anExperiment('b', { weight: 2 })],
    seconds: [100, 200],
  },
  {
    name: 'gives nobody less than its minimum, and the others what is left',
    totalSeconds: 300,
    experiments: [
      anExperiment('a', { weight: 1, secondsMin: 120 }),
      anExperiment('b', { weight: 2 }),
      anExperiment('c', { weight: 1 }),
    ],
    seconds: [120, 120, 60],
  },
  {
    name: 'raises an experiment that is short only after others took their minimum',
    totalSeconds: 100,
    experiments: [
      anExperiment('a', { weight: 1, secondsMin: 60 }),
      anExperiment('b', { weight: 1, secondsMin: 30 }),
      anExperiment('c', { weight: 1 }),
    ],
    seconds: [60, 30, 10],
  },
  {
    name: 'takes longer than it was given rather than less than the minimums',
    totalSeconds: 1,
    experiments: [anExperiment('a'), anExperiment('b', { weight: 9, secondsMin: 20 })],
    seconds: [10, 20],
  },
]
for (const c of cases)
  test(`proof: the plan ${c.name}`, () => {
    const plan = planTime(c.totalSeconds * 1_000, c.experiments)
    assert.deepEqual(
      plan.map(({ totalMs }) => totalMs / 1_000),
      c.seconds,
    )
  })

test('proof: times are whole milliseconds, as timers need them', () => {
  const plan = planTime(
    100_000,
    ['a', 'b', 'c'].map((name) => anExperiment(name)),
  )
  assert.deepEqual(
    plan.map(({ totalMs }) => totalMs),
    [33_333, 33_333, 33_333],
  )
})

test('proof: a script is told its time without what it needs to start, and never nothing', () => {
  const plan = planTime(120_000, [anExperiment('a', { setUpSeconds: 30 })])
  assert.equal(plan[0]?.minutes, 1.5)
  const short = planTime(1_000, [anExperiment('a', { setUpSeconds: 30 })])
  assert.equal(short[0]?.minutes, 0.05)
})
