import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunExecution } from '../../model/index.ts'
import { afterPolicies, afterStage } from './run-progress.ts'
import { isConfirmable, isDiscardable, isExecuting, isResting, mayMove } from './run-states.ts'

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

test('executed run: an overridable failure of its stage has a status of its own', () => {
  const { path } = afterStage({ run: RUN, stage: 'awaiting_override', check: undefined })
  assert.deepEqual(path, ['post_plan_awaiting_decision'])
  assert.equal(isResting('post_plan_awaiting_decision'), true)
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
    assert.deepEqual(afterPolicies(run), path)
  })

test('executed run: each phase waits for a node before it executes', () => {
  assert.equal(mayMove('pending', 'plan_queued'), true)
  assert.equal(mayMove('plan_queued', 'planning'), true)
  assert.equal(mayMove('confirmed', 'apply_queued'), true)
  assert.equal(mayMove('apply_queued', 'applying'), true)
  assert.equal(mayMove('pending', 'applying'), false)
  for (const status of ['plan_queued', 'planning', 'apply_queued', 'applying'] as const)
    assert.equal(isExecuting(status) && !isResting(status), true)
})

test('executed run: a saved plan can be applied and discarded', () => {
  assert.equal(isConfirmable('planned_and_saved'), true)
  assert.equal(isDiscardable('planned_and_saved'), true)
})
