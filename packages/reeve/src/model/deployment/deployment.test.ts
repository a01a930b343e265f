import assert from 'node:assert/strict'
import test from 'node:test'
import { DEPLOYMENT_STATUSES } from '@reeve/contract'
import { aJob, anId } from '../../../test/build/index.ts'
import {
  isActiveDeployment,
  newDeployment,
  newGroupState,
  ROLLBACK_DESCRIPTIONS,
  runningDescription,
  withGroupStates,
} from './deployment.ts'

const job = aJob()
const update = job.TaskGroups[0]?.Update ?? assert.fail()
const empty = newDeployment(job, { id: anId('any', 1), timeMs: 0, priority: 50 })
const plain = newGroupState(update)
const trial = { ...plain, DesiredCanaries: 1 }
const texts = [
  { name: 'none on trial', groups: [plain], want: 'Deployment is running' },
  {
    name: 'a trial somebody must end',
    groups: [plain, trial],
    want: 'Deployment is running but requires manual promotion',
  },
  {
    name: 'a trial that ends itself',
    groups: [plain, { ...trial, AutoPromote: true }],
    want: 'Deployment is running pending automatic promotion',
  },
  {
    name: 'one trial of two that ends itself',
    groups: [trial, { ...trial, AutoPromote: true }],
    want: 'Deployment is running but requires manual promotion',
  },
  {
    name: 'a trial that is over',
    groups: [{ ...trial, Promoted: true }],
    want: 'Deployment is running',
  },
]
for (const { name, groups, want } of texts)
  test(`deployment text: ${name}`, () => {
    const states = new Map(groups.map((state, i) => [`g${i}`, state]))
    assert.equal(runningDescription(withGroupStates(empty, states)), want)
  })

test('deployment: three terminal statuses', () => {
  assert.deepEqual(
    DEPLOYMENT_STATUSES.filter((Status) => !isActiveDeployment({ Status })),
    ['failed', 'successful', 'cancelled'],
  )
})

test('deployment: rollback descriptions', () => {
  assert.deepEqual(
    [
      ROLLBACK_DESCRIPTIONS.rollsBack(3),
      ROLLBACK_DESCRIPTIONS.sameSpecification(3),
      ROLLBACK_DESCRIPTIONS.noStableVersion,
    ],
    [
      ' - rolling back to job version 3',
      ' - not rolling back to stable job version 3 as current job has same specification',
      ' - no stable job version to auto revert to',
    ],
  )
})
