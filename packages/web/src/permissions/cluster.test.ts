import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_PERMISSIONS, ALL_PERMISSIONS } from '../session/acl-permissions.ts'
import { createPoolDisabledReason, nodeDisabledReason, nodePoolDisabledReason } from './cluster.ts'

type State = Parameters<typeof nodeDisabledReason.drain>[0]

const READY: State = { Status: 'ready', Drain: false, SchedulingEligibility: 'eligible' }
const DOWN: State = { ...READY, Status: 'down' }
const DRAINING: State = { ...READY, Drain: true, SchedulingEligibility: 'ineligible' }

const CASES = [
  { name: 'a ready one drains', can: nodeDisabledReason.drain, of: READY },
  {
    name: 'one that is down does not drain',
    can: nodeDisabledReason.drain,
    of: DOWN,
    reason: /is down/,
  },
  { name: 'a drain is ended', can: nodeDisabledReason.endDrain, of: DRAINING },
  {
    name: 'what does not drain is not ended',
    can: nodeDisabledReason.endDrain,
    of: READY,
    reason: /not drain/,
  },
  {
    name: 'a draining one keeps its eligibility',
    can: nodeDisabledReason.changeEligibility,
    of: DRAINING,
    reason: /stop the drain first/,
  },
  { name: 'one that is down is purged', can: nodeDisabledReason.purge, of: DOWN },
  {
    name: 'one that is ready is not',
    can: nodeDisabledReason.purge,
    of: READY,
    reason: /is ready/,
  },
  {
    name: 'without node:write nothing is changed',
    can: nodeDisabledReason.drain,
    of: READY,
    rights: NO_PERMISSIONS,
    reason: /node:write/,
  },
]

for (const { name, can, of, rights = ALL_PERMISSIONS, reason } of CASES)
  test(`node: ${name}`, () => {
    const verdict = can(of, rights)
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })

const POOL_CASES = [
  {
    name: 'is changed by management',
    verdict: nodePoolDisabledReason.write('gpu', ALL_PERMISSIONS),
  },
  {
    name: 'stays when it is built in',
    verdict: nodePoolDisabledReason.destroy('default', ALL_PERMISSIONS),
    reason: /Built-in/,
  },
  {
    name: 'is not changed without the right',
    verdict: nodePoolDisabledReason.write('gpu', NO_PERMISSIONS),
    reason: /node_pool:write on "gpu"/,
  },
  { name: 'is made by management', verdict: createPoolDisabledReason(ALL_PERMISSIONS) },
  {
    name: 'is not made without the right on any name',
    verdict: createPoolDisabledReason(NO_PERMISSIONS),
    reason: /every pool/,
  },
]

for (const { name, verdict, reason } of POOL_CASES)
  test(`a node pool ${name}`, () => {
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })
