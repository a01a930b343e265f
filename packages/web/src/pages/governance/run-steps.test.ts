import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { runSteps } from './run-steps.ts'

function at(seconds: number): string {
  return new Date(seconds * 1_000).toISOString()
}

const PLANNED = { 'planning-at': at(10), 'planned-at': at(22) }
const CHECKED = { ...PLANNED, 'policy-checking-at': at(22) }
const CONFIRMED = { ...PLANNED, 'confirmed-at': at(30) }

const cases: readonly (readonly [v2.RunStatus, Readonly<Record<string, string>>, string])[] = [
  ['pending', {}, 'Plan current queued, Approval upcoming, Apply upcoming'],
  ['planning', {}, 'Plan current in progress, Approval upcoming, Apply upcoming'],
  ['errored', { 'planning-at': at(10) }, 'Plan failed errored, Approval upcoming, Apply upcoming'],
  ['planned', PLANNED, 'Plan done 12s, Approval waiting needed, Apply upcoming'],
  [
    'policy_override',
    CHECKED,
    'Plan done 12s, Policies waiting failed, override needed, Approval upcoming, Apply upcoming',
  ],
  ['errored', CHECKED, 'Plan done 12s, Policies failed failed, Approval upcoming, Apply upcoming'],
  ['discarded', PLANNED, 'Plan done 12s, Approval failed discarded, Apply upcoming'],
  ['applying', CONFIRMED, 'Plan done 12s, Approval done, Apply current in progress'],
  ['errored', CONFIRMED, 'Plan done 12s, Approval done, Apply failed errored'],
  [
    'applied',
    { ...CONFIRMED, 'applying-at': at(31), 'applied-at': at(36) },
    'Plan done 12s, Approval done, Apply done 5s',
  ],
]

for (const [status, times, expected] of cases)
  test(`steps of a run that is ${status}: ${expected}`, () => {
    const attributes = { status, 'status-timestamps': times, 'plan-only': false }
    const steps = runSteps(attributes).map((step) => Object.values(step).join(' ').trim())
    assert.equal(steps.join(', '), expected)
  })

test('a plan-only run has neither approval nor apply', () => {
  const attributes = {
    status: 'planned_and_finished',
    'status-timestamps': PLANNED,
    'plan-only': true,
  } as const
  assert.deepEqual(
    runSteps(attributes).map(({ name }) => name),
    ['Plan'],
  )
})
