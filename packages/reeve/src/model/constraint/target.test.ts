import assert from 'node:assert/strict'
import test from 'node:test'
import { isDeviceTarget, isNodeTarget, isUniqueTarget, targetReader } from './constraint.ts'

const node = {
  ID: '5e1c8f2a-0000-4000-8000-000000000001',
  Name: 'node-1',
  Datacenter: 'dc1',
  NodeClass: 'big',
  NodePool: 'default',
  Attributes: { 'kernel.name': 'linux', 'unique.hostname': 'h1' },
  Meta: { rack: 'r1' },
}

const cases: readonly (readonly [target: string, value: string | undefined])[] = [
  ['linux', 'linux'],
  ['', ''],
  ['${attr.kernel.name}', 'linux'],
  ['${ attr.kernel.name }', 'linux'],
  ['${meta.rack}', 'r1'],
  ['${node.unique.id}', node.ID],
  ['${node.unique.name}', 'node-1'],
  ['${node.datacenter}', 'dc1'],
  ['${node.class}', 'big'],
  ['${node.pool}', 'default'],
  ['${attr.missing}', undefined],
  ['${attr.constructor}', undefined],
  ['${meta.__proto__}', undefined],
  ['${env.HOME}', undefined],
  ['${constructor}', undefined],
  ['${attr.kernel.name', undefined],
]
for (const [target, value] of cases)
  test(`target: ${target} reads ${value}`, () => {
    assert.equal(targetReader(target)(node), value)
  })

test('target: node without meta has no value', () => {
  assert.equal(targetReader('${meta.rack}')({ ...node, Meta: null }), undefined)
})

test('target: references of nodes and devices', () => {
  const known = ['${attr.a}', '${meta.b}', '${node.class}'].map(isNodeTarget)
  assert.deepEqual(known, [true, true, true])
  const none = ['${attr.}', '${node.cpu}', '${device.type}', 'attr.a', '${env.A}'].map(isNodeTarget)
  assert.deepEqual(none, [false, false, false, false, false])
  const device = ['${device.vendor}', '${device.attr.memory}', '${device.x}'].map(isDeviceTarget)
  assert.deepEqual(device, [true, true, false])
})

test('target: references that are unique to nodes', () => {
  const unique = ['${node.unique.id}', '${attr.unique.hostname}', '${meta.unique.x}']
  assert.deepEqual(unique.map(isUniqueTarget), [true, true, true])
  assert.deepEqual(['${attr.kernel.name}', 'unique.'].map(isUniqueTarget), [false, false])
})
