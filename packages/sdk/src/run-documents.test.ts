import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareStates } from './run-documents.ts'

function aResource(name: string, attributes: object, more: object = {}) {
  const instances = [{ attributes, ...more }]
  return { mode: 'managed', type: 'disk', name, instances }
}

test('state comparison: added, removed and changed instances and outputs', () => {
  const before = {
    outputs: { place: { value: 'eu' }, key: { value: 'a', sensitive: true } },
    resources: [aResource('a', { size: 1 }), aResource('b', { size: 2, name: 'b' })],
  }
  const after = {
    outputs: { place: { value: 'eu' }, key: { value: 'b', sensitive: true } },
    resources: [
      aResource('b', { size: 3, name: 'b' }),
      { ...aResource('c', { size: 4 }, { index_key: 'x' }), module: 'module.m' },
    ],
  }
  assert.deepEqual(compareStates(before, after), [
    { action: 'removed', address: 'disk.a', attributes: [] },
    {
      action: 'changed',
      address: 'disk.b',
      attributes: [{ name: 'size', before: '2', after: '3' }],
    },
    {
      action: 'added',
      address: 'module.m.disk.c["x"]',
      attributes: [{ name: 'size', before: 'null', after: '4' }],
    },
    {
      action: 'changed',
      address: 'output.key',
      attributes: [{ name: 'value', before: '(sensitive)', after: '(sensitive)' }],
    },
  ])
})

test('state comparison: sensitive attributes are compared and hidden', () => {
  const marked = { sensitive_attributes: [[{ type: 'get_attr', value: 'password' }]] }
  const states = ['old', 'new'].map((password) => ({
    resources: [aResource('a', { password, name: 'a' }, marked)],
  }))
  const [change] = compareStates(states[0] ?? {}, states[1] ?? {})
  assert.deepEqual(change?.attributes, [
    { name: 'password', before: '(sensitive)', after: '(sensitive)' },
  ])
})
