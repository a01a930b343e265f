import assert from 'node:assert/strict'
import type { AclPolicyRules } from '@reeve/contract'
import { test } from 'node:test'
import { NO_PERMISSIONS, ALL_PERMISSIONS, type AclPermissions } from '../session/acl-permissions.ts'
import { createVariableDisabledReason, variableDisabledReason } from './cluster.ts'

const WRITER: AclPermissions = {
  isUnlimited: false,
  rules: [
    {
      Namespaces: [
        {
          Name: 'prod',
          Policy: '',
          Capabilities: [],
          Variables: { Paths: [{ PathSpec: 'apps/*', Capabilities: ['write'] }] },
        },
      ],
      NodePools: null,
      HostVolumes: null,
      Agent: null,
      Node: null,
      Operator: null,
      Quota: null,
      Plugin: null,
    } satisfies AclPolicyRules,
  ],
}
const OPEN = { namespace: 'prod', path: 'apps/db', lock: undefined }
const LOCKED = { ...OPEN, lock: { ID: 'l', TTL: '15s', LockDelay: '15s' } }

const CASES = [
  { name: 'written by who may write there', verdict: variableDisabledReason.write(OPEN, WRITER) },
  {
    name: 'not written elsewhere',
    verdict: variableDisabledReason.write({ ...OPEN, path: 'other' }, WRITER),
    reason: /lacks variables:write on "other"/,
  },
  {
    name: 'not destroyed by who may only write',
    verdict: variableDisabledReason.destroy(OPEN, WRITER),
    reason: /lacks variables:destroy/,
  },
  {
    name: 'not written while it is locked',
    verdict: variableDisabledReason.write(LOCKED, ALL_PERMISSIONS),
    reason: /locked/,
  },
  {
    name: 'not destroyed while it is locked',
    verdict: variableDisabledReason.destroy(LOCKED, ALL_PERMISSIONS),
    reason: /locked/,
  },
  { name: 'made by who may write somewhere', verdict: createVariableDisabledReason(WRITER) },
  {
    name: 'not made by who may write nowhere',
    verdict: createVariableDisabledReason(NO_PERMISSIONS),
    reason: /every path/,
  },
]

for (const { name, verdict, reason } of CASES)
  test(`a variable is ${name}`, () => {
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })
