import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_RIGHTS, UNLIMITED } from '../session/rights.ts'
import { mayMakePool, nodeCan, nodePoolCan } from './node-can.ts'

type State = Parameters<typeof nodeCan.drain>[0]

const READY: State = { Status: 'ready', Drain: false, SchedulingEligibility: 'eligible' }
const DOWN: State = { ...READY, Status: 'down' }
const DRAINING: State = { ...READY, Drain: true, SchedulingEligibility: 'ineligible' }

const CASES = [
  { name: 'a ready one drains', can: nodeCan.drain, of: READY },
  { name: 'one that is down does not drain', can: nodeCan.drain, of: DOWN, reason: /is down/ },
  { name: 'a drain is ended', can: nodeCan.endDrain, of: DRAINING },
  {
    name: 'what does not drain is not ended',
    can: nodeCan.endDrain,
    of: READY,
    reason: /not drain/,
  },
  {
    name: 'a draining one keeps its eligibility',
    can: nodeCan.changeEligibility,
    of: DRAINING,
    reason: /stop the drain first/,
  },
  { name: 'one that is down is purged', can: nodeCan.purge, of: DOWN },
  { name: 'one that is ready is not', can: nodeCan.purge, of: READY, reason: /is ready/ },
  {
    name: 'without node:write nothing is changed',
    can: nodeCan.drain,
    of: READY,
    rights: NO_RIGHTS,
    reason: /node:write/,
  },
]

for (const { name, can, of, rights = UNLIMITED, reason } of CASES)
  test(`node: ${name}`, () => {
    const verdict = can(of, rights)
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })

const POOL_CASES = [
  { name: 'is changed by management', verdict: nodePoolCan.write('gpu', UNLIMITED) },
  {
    name: 'stays when it is built in',
    verdict: nodePoolCan.destroy('default', UNLIMITED),
    reason: /built in/,
  },
  {
    name: 'is not changed without the right',
    verdict: nodePoolCan.write('gpu', NO_RIGHTS),
    reason: /node_pool:write on "gpu"/,
  },
  { name: 'is made by management', verdict: mayMakePool(UNLIMITED) },
  {
    name: 'is not made without the right on any name',
    verdict: mayMakePool(NO_RIGHTS),
    reason: /every pool/,
  },
]

for (const { name, verdict, reason } of POOL_CASES)
  test(`a node pool ${name}`, () => {
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })
