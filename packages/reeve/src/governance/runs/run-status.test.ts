import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import fc from 'fast-check'
import {
  nextAfterCheck,
  nextAfterPolicies,
  nextAfterStage,
  canApply,
  type RunProgressInput,
  isTerminalStatus,
  isIdle,
  canTransition,
  RUN_TRANSITIONS,
} from './run-status.ts'

const RUN: RunProgressInput['run'] = {
  planOnly: false,
  hasChanges: true,
  allowEmptyApply: false,
  autoApply: false,
}

const cases: readonly {
  readonly name: string
  readonly facts: Omit<RunProgressInput, 'run'> & {
    readonly run?: Partial<RunProgressInput['run']>
  }
  readonly ends: v2.RunStatus
  readonly check?: RunProgressInput['check']
}[] = [
  { name: 'both pass', facts: { stage: 'passed', check: 'passed' }, ends: 'policy_checked' },
  { name: 'no check', facts: { stage: 'passed', check: undefined }, ends: 'post_plan_completed' },
  { name: 'no stage', facts: { stage: undefined, check: 'passed' }, ends: 'policy_checked' },
  {
    name: 'a stage that waits holds the check back',
    facts: { stage: 'awaiting_override', check: 'hard_failed' },
    ends: 'policy_override',
    check: 'pending',
  },
  {
    name: 'a stage that failed ends the run',
    facts: { stage: 'failed', check: 'passed' },
    ends: 'errored',
    check: 'unreachable',
  },
  {
    name: 'a stage that failed is only told of a speculative run',
    facts: { stage: 'failed', check: 'passed', run: { planOnly: true } },
    ends: 'planned_and_finished',
  },
  {
    name: 'a soft failure pauses',
    facts: { stage: 'passed', check: 'soft_failed' },
    ends: 'policy_override',
  },
  {
    name: 'a soft failure ends a speculative run',
    facts: { stage: 'passed', check: 'soft_failed', run: { planOnly: true } },
    ends: 'policy_soft_failed',
  },
  {
    name: 'a soft failure ends a run without changes',
    facts: { stage: 'passed', check: 'soft_failed', run: { hasChanges: false } },
    ends: 'policy_soft_failed',
  },
  {
    name: 'a run without changes that may be applied pauses',
    facts: {
      stage: 'passed',
      check: 'soft_failed',
      run: { hasChanges: false, allowEmptyApply: true },
    },
    ends: 'policy_override',
  },
  {
    name: 'a hard failure ends the run',
    facts: { stage: 'passed', check: 'hard_failed' },
    ends: 'errored',
  },
  {
    name: 'a run that applies by itself is confirmed',
    facts: { stage: 'passed', check: 'passed', run: { autoApply: true } },
    ends: 'confirmed',
  },
]
for (const { name, facts, ends, check = facts.check } of cases)
  test(`afterStage: ${name}`, () => {
    const progress = nextAfterStage({ ...facts, run: { ...RUN, ...facts.run } })
    assert.equal(progress.path.at(-1), ends)
    assert.equal(progress.check, check)
  })

const anyRun = fc.record({
  planOnly: fc.boolean(),
  hasChanges: fc.boolean(),
  allowEmptyApply: fc.boolean(),
  autoApply: fc.boolean(),
})
const anyStage = fc.constantFrom('passed', 'failed', 'awaiting_override', undefined)
const anyCheck = fc.constantFrom('passed', 'soft_failed', 'hard_failed', undefined)

function checkPath(from: v2.RunStatus, path: readonly v2.RunStatus[]): void {
  let at = from
  for (const status of path) {
    assert.ok(canTransition(at, status), `${at} may become ${status}`)
    at = status
  }
  assert.ok(isIdle(at) || at === 'confirmed', `${at} is somewhere to stay`)
}

test('runs only make transitions of the table, whatever their policies return', () => {
  fc.assert(
    fc.property(anyRun, anyStage, anyCheck, (run, stage, check) => {
      checkPath('post_plan_running', nextAfterStage({ run, stage, check }).path)
      checkPath('planned', nextAfterPolicies(run))
      const waits = stage === 'awaiting_override' && canApply(run)
      if (waits) checkPath('policy_override', nextAfterStage({ run, stage: 'passed', check }).path)
      if (check === 'soft_failed' && canApply(run))
        checkPath('policy_override', nextAfterCheck({ run, check: 'overridden' }).path)
    }),
  )
})

test('a run with a final failure is never confirmed', () => {
  fc.assert(
    fc.property(anyRun, anyStage, anyCheck, (run, stage, check) => {
      const { path } = nextAfterStage({ run, stage, check })
      const isDenied = stage === 'failed' || stage === 'awaiting_override' || check !== 'passed'
      if (isDenied && check !== undefined)
        assert.equal(path.includes('confirmed'), false, JSON.stringify([run, stage, check]))
    }),
  )
})

test('every terminal status is in the table and reachable', () => {
  // Object.entries of the table gives its statuses.
  const entries = Object.entries(RUN_TRANSITIONS) as [v2.RunStatus, readonly v2.RunStatus[]][]
  const reached = new Set(entries.flatMap(([, targets]) => targets))
  for (const [status] of entries)
    if (status !== 'pending') assert.ok(reached.has(status), `${status} is reached`)
  assert.deepEqual(
    entries.filter(([status]) => isTerminalStatus(status)).map(([status]) => status),
    ['policy_soft_failed', 'applied', 'discarded', 'canceled', 'errored', 'planned_and_finished'],
  )
})
