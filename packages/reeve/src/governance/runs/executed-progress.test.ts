import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunExecution } from '../../model/index.ts'
import {
  canTransition,
  isConfirmable,
  isDiscardable,
  isExecuting,
  isIdle,
  nextAfterPolicies,
  nextAfterStage,
} from './run-status.ts'

const EXECUTION: RunExecution = {
  applyId: 'apply-1',
  savePlan: false,
  allowConfigGeneration: false,
  generatedConfiguration: false,
  variables: null,
  canceledMs: null,
  reason: null,
  keepsLock: false,
}

const RUN = {
  planOnly: false,
  hasChanges: true,
  allowEmptyApply: false,
  autoApply: false,
  execution: EXECUTION,
}

test('executed run: an overridable failure of its stage has a separate status', () => {
  const { path } = nextAfterStage({ run: RUN, stage: 'awaiting_override', check: undefined })
  assert.deepEqual(path, ['post_plan_awaiting_decision'])
  assert.equal(isIdle('post_plan_awaiting_decision'), true)
  assert.equal(isDiscardable('post_plan_awaiting_decision'), true)
})

const ENDS = [
  { name: 'waits for its approval', run: RUN, path: [] },
  { name: 'confirms itself', run: { ...RUN, autoApply: true }, path: ['confirmed'] },
  {
    name: 'keeps its plan',
    run: { ...RUN, execution: { ...EXECUTION, savePlan: true } },
    path: ['planned_and_saved'],
  },
  {
    name: 'ends without changes',
    run: { ...RUN, hasChanges: false },
    path: ['planned_and_finished'],
  },
]
for (const { name, run, path } of ENDS)
  test(`executed run: after its policies it ${name}`, () => {
    assert.deepEqual(nextAfterPolicies(run), path)
  })

test('executed run: each phase waits for a node before it executes', () => {
  assert.equal(canTransition('pending', 'plan_queued'), true)
  assert.equal(canTransition('plan_queued', 'planning'), true)
  assert.equal(canTransition('confirmed', 'apply_queued'), true)
  assert.equal(canTransition('apply_queued', 'applying'), true)
  assert.equal(canTransition('pending', 'applying'), false)
  for (const status of ['plan_queued', 'planning', 'apply_queued', 'applying'] as const)
    assert.equal(isExecuting(status) && !isIdle(status), true)
})

test('executed run: a saved plan can be applied and discarded', () => {
  assert.equal(isConfirmable('planned_and_saved'), true)
  assert.equal(isDiscardable('planned_and_saved'), true)
})
