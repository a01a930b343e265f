import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeFilter, nodeState } from './node-state.ts'

const READY = { Status: 'ready', Drain: false, SchedulingEligibility: 'eligible' } as const

const STATES = [
  { node: READY, state: 'ready' },
  { node: { ...READY, SchedulingEligibility: 'ineligible' as const }, state: 'ineligible' },
  {
    node: { ...READY, Drain: true, SchedulingEligibility: 'ineligible' as const },
    state: 'draining',
  },
  { node: { ...READY, Status: 'down' as const, Drain: true }, state: 'down' },
]
for (const { node, state } of STATES)
  test(`${JSON.stringify(node)} is ${state}`, () => assert.equal(nodeState(node), state))

test('a text is searched in the name, an expression is taken as it is', () => {
  assert.equal(nodeFilter('', undefined), undefined)
  assert.equal(nodeFilter('web', undefined), 'Name contains "web"')
  assert.equal(nodeFilter('a"b', 'down'), 'Name contains "a\\"b" and Status == "down"')
  assert.equal(
    nodeFilter('NodeClass == "gpu"', 'draining'),
    '(NodeClass == "gpu") and Drain == true',
  )
})
