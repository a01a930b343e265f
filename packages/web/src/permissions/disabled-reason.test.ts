import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_PERMISSIONS, ALL_PERMISSIONS } from '../session/acl-permissions.ts'
import {
  firstDisabledReason,
  requiresCapability,
  requiresClusterPolicy,
  requiresManagementToken,
} from './disabled-reason.ts'

test('the first reason against an action is the one that is told', () => {
  assert.equal(firstDisabledReason(undefined, false, 'one', 'two'), 'one')
  assert.equal(firstDisabledReason(undefined, false), undefined)
})

test('a right that is there is no reason', () => {
  assert.equal(requiresCapability(ALL_PERMISSIONS, 'prod', 'submit-job'), undefined)
  assert.equal(requiresClusterPolicy(ALL_PERMISSIONS, 'Node', 'write'), undefined)
  assert.equal(requiresManagementToken(ALL_PERMISSIONS), undefined)
})

test('a right that is missing is named as the specification names it', () => {
  assert.equal(
    requiresCapability(NO_PERMISSIONS, 'prod', 'scale-job', 'submit-job'),
    'Your token lacks namespace:scale-job or namespace:submit-job in the namespace "prod".',
  )
  assert.equal(requiresClusterPolicy(NO_PERMISSIONS, 'Node', 'read'), 'Your token lacks node:read.')
  assert.equal(requiresManagementToken(NO_PERMISSIONS), 'Only a management token may do this.')
})
