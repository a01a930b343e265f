import assert from 'node:assert/strict'
import test from 'node:test'
import { commonVersion, describeMismatch } from './messages.ts'

const cases = [
  { name: 'equal', server: [1, 1], node: [1, 1], common: 1 },
  { name: 'a server that is one ahead', server: [1, 2], node: [1, 1], common: 1 },
  { name: 'a node that is one ahead', server: [1, 1], node: [1, 2], common: 1 },
  { name: 'the newest of both', server: [2, 4], node: [1, 3], common: 3 },
  { name: 'a node that is too old', server: [2, 3], node: [1, 1], common: undefined },
  { name: 'a server that is too old', server: [1, 1], node: [2, 3], common: undefined },
] as const

for (const { name, server, node, common } of cases)
  test(`common version: ${name}`, () => {
    const [ours, theirs] = [server, node].map(([oldest, newest]) => ({ oldest, newest }))
    assert.ok(ours !== undefined && theirs !== undefined)
    assert.equal(commonVersion(ours, theirs), common)
  })

test('a mismatch names both sides and which to upgrade', () => {
  const [old, middle] = [
    { oldest: 1, newest: 1 },
    { oldest: 2, newest: 3 },
  ]
  assert.equal(
    describeMismatch(middle, old),
    'this server speaks versions 2 to 3 of the node channel and the node speaks version 1; ' +
      'upgrade the node, one minor version at a time',
  )
  assert.match(describeMismatch(old, middle), /; upgrade the servers, one minor version at a time$/)
})
