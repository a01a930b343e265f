import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import { aGroup, aJob, anEvaluation, anId, NOW_MS, planFor } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'

const EVALUATION = anId('eval', 1)
const OTHER = anId('eval', 2)

/** A job that lost a node while it was starting there, with its times relative to now. */
function delayed(Type: string, retryMs: number, probeMs: number): Job {
  const loss = {
    NodeID: anId('node', 9),
    AllocID: anId('alloc', 9),
    Time: nsFromMs(NOW_MS - 60_000),
    RetryTime: nsFromMs(NOW_MS + retryMs),
    ProbeUntil: nsFromMs(NOW_MS + probeMs),
    CreateIndex: 500,
  }
  return { ...aJob({ Type, groups: [aGroup({ Count: 3 })] }), NodeLosses: [loss] }
}

interface Case {
  readonly name: string
  readonly retryMs: number
  readonly probeMs: number
  /** Delayed evaluations with their job and time. */
  readonly waiting?: readonly (readonly [id: string, ms: number])[]
  readonly placed: number
  /** Times of the follow-up evaluations of the plan. */
  readonly againMs: readonly number[]
}

const cases: readonly Case[] = [
  { name: 'delayed', retryMs: 7, probeMs: 50_000, placed: 0, againMs: [7] },
  {
    name: 'delayed, and evaluated again already',
    retryMs: 7,
    probeMs: 50_000,
    waiting: [[OTHER, 7]],
    placed: 0,
    againMs: [],
  },
  {
    name: 'delayed, by the evaluation that should have come when the delay is over',
    retryMs: 7,
    probeMs: 50_000,
    waiting: [[EVALUATION, 7]],
    placed: 0,
    againMs: [7],
  },
  {
    name: 'delayed, and evaluated long after the delay is over',
    retryMs: 7,
    probeMs: 50_000,
    waiting: [[OTHER, 50_000]],
    placed: 0,
    againMs: [7],
  },
  { name: 'probing', retryMs: 0, probeMs: 1, placed: 1, againMs: [1] },
  {
    name: 'probing, and evaluated again already',
    retryMs: 0,
    probeMs: 1,
    waiting: [[OTHER, 1]],
    placed: 1,
    againMs: [],
  },
  { name: 'free again', retryMs: -1, probeMs: 0, placed: 3, againMs: [] },
]
for (const type of ['service', 'batch', 'system'])
  for (const { name, retryMs, probeMs, waiting = [], placed, againMs } of cases)
    test(`placement budget: a ${type} job that is ${name}`, () => {
      const job = delayed(type, retryMs, probeMs)
      const plan = planFor(
        {
          job,
          waiting: waiting.map(([ID, ms]) =>
            anEvaluation(job, { ID, WaitUntil: isoFromMs(NOW_MS + ms) }),
          ),
        },
        { ID: EVALUATION, TriggeredBy: 'node-update' },
      )
      assert.equal(plan.placements.length, placed)
      assert.deepEqual(
        plan.followUpEvaluations.map((one) => [one.TriggeredBy, one.WaitUntil, one.PreviousEval]),
        againMs.map((ms) => ['node-update', isoFromMs(NOW_MS + ms), EVALUATION]),
      )
      assert.equal(plan.evaluation.NextEval, plan.followUpEvaluations[0]?.ID ?? '')
    })

test('placement budget: quarantined job gets no follow-up', () => {
  const job = {
    ...delayed('service', 7, 9),
    Quarantine: { Reason: '', NodeIDs: [], Time: 0, Version: 0, CreateIndex: 1 },
  }
  const { placements, followUpEvaluations } = planFor({ job })
  assert.deepEqual([placements, followUpEvaluations], [[], []])
})

for (const aheadMs of [90_000, 3_600_000])
  test(`placement budget: places the rest after a clock ${aheadMs} ms ahead is corrected`, () => {
    const world = new World(3)
    world.register(aJob({ groups: [aGroup({ Count: 3 })] }))
    world.obey()
    world.settle()
    const [first] = world.live
    assert.ok(first)
    const { NodeLosses = [] } = delayed('service', 30_000, 30_000)
    world.versions[0] = { ...world.job, NodeLosses }
    world.setNode(first.NodeID, { Status: 'down' })
    const { placements, followUpEvaluations } = world.evaluate({ TriggeredBy: 'node-update' })
    assert.deepEqual([placements.length, followUpEvaluations.length], [0, 1])
    // Its time is corrected with the clock, so it is due after 30 s.
    world.nowMs += 30_000 - aheadMs
    const [next] = world.evaluate(followUpEvaluations[0]).followUpEvaluations
    if (next !== undefined) {
      world.nowMs = Date.parse(next.WaitUntil)
      world.evaluate(next)
    }
    assert.equal(world.live.length, 3)
  })
