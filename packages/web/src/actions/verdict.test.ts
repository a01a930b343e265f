import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_RIGHTS, UNLIMITED } from '../session/rights.ts'
import { firstReason, needs, needsAtAll, needsManagement } from './verdict.ts'

test('the first reason against an action is the one that is told', () => {
  assert.equal(firstReason(undefined, false, 'one', 'two'), 'one')
  assert.equal(firstReason(undefined, false), undefined)
})

test('a right that is there is no reason', () => {
  assert.equal(needs(UNLIMITED, 'prod', 'submit-job'), undefined)
  assert.equal(needsAtAll(UNLIMITED, 'Node', 'write'), undefined)
  assert.equal(needsManagement(UNLIMITED), undefined)
})

test('a right that is missing is named as the specification names it', () => {
  assert.equal(
    needs(NO_RIGHTS, 'prod', 'scale-job', 'submit-job'),
    'Your token lacks namespace:scale-job or namespace:submit-job in the namespace "prod".',
  )
  assert.equal(needsAtAll(NO_RIGHTS, 'Node', 'read'), 'Your token lacks node:read.')
  assert.equal(needsManagement(NO_RIGHTS), 'Only a management token may do this.')
})
