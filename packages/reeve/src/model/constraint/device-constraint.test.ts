import assert from 'node:assert/strict'
import test from 'node:test'
import type { DeviceAttribute, NodeDevice } from '@reeve/contract'
import { deviceNameMatcher, deviceConstraintMatcher } from './device-constraint.ts'

function attribute(fields: Partial<DeviceAttribute>): DeviceAttribute {
  return { String: null, Int: null, Float: null, Bool: null, Unit: '', ...fields }
}

const device: NodeDevice = {
  Vendor: 'acme',
  Type: 'gpu',
  Name: '1080',
  Instances: [
    { ID: 'a', Healthy: true, HealthDescription: '' },
    { ID: 'b', Healthy: true, HealthDescription: '' },
  ],
  Attributes: {
    memory: attribute({ Int: 8, Unit: 'GiB' }),
    clock: attribute({ Float: 1.5, Unit: 'GHz' }),
    cores: attribute({ Int: 3584 }),
    ecc: attribute({ Bool: true }),
    driver: attribute({ String: '1.2.3' }),
    strange: attribute({ Int: 3, Unit: 'parsec' }),
    nothing: attribute({}),
  },
}

const names = [
  ['gpu', true],
  ['acme/gpu', true],
  ['acme/gpu/1080', true],
  ['fpga', false],
  ['other/gpu', false],
  ['acme/gpu/1070', false],
  ['acme/gpu/1080/x', false],
  ['', false],
] as const
for (const [name, meets] of names)
  test(`device name: ${name} is ${meets ? 'met' : 'not met'}`, () => {
    assert.equal(deviceNameMatcher(name)(device), meets)
  })

const rules = [
  ['${device.attr.memory}', '>', '4096 MiB', true],
  ['${device.attr.memory}', '=', '8192 MiB', true],
  ['${device.attr.memory}', '<', '8.5GB', false],
  ['${device.attr.memory}', '>=', '8 GHz', false],
  ['${device.attr.memory}', '!=', '8 GHz', false],
  ['${device.attr.memory}', '=', '8', false],
  ['${device.attr.clock}', '>', '1400 MHz', true],
  ['${device.attr.cores}', '>=', '3584', true],
  ['${device.attr.cores}', '<', '1e3', false],
  ['${device.attr.ecc}', '=', 'true', true],
  ['${device.attr.ecc}', '!=', 'true', false],
  ['${device.attr.driver}', 'version', '>= 1.2', true],
  ['${device.attr.driver}', 'regexp', '^1\\.', true],
  ['${device.attr.strange}', '=', '3 parsec', false],
  ['${device.attr.nothing}', 'is_set', '', false],
  ['${device.attr.missing}', '!=', 'x', true],
  ['${device.attr.missing}', '=', 'x', false],
  ['${device.attr.missing}', 'is_not_set', '', true],
  ['${device.model}', '=', '1080', true],
  ['${device.model}', 'is_set', '', true],
  ['${device.vendor}', '=', 'acme', true],
  ['${device.ids}', 'set_contains', 'b', true],
  ['${device.ids}', 'set_contains_any', 'x,y', false],
  ['8 GiB', '=', '${device.attr.memory}', true],
  ['${device.constructor}', 'is_set', '', false],
  ['${device.attr.memory}', 'unknown', 'x', false],
] as const
for (const [LTarget, Operand, RTarget, meets] of rules)
  test(`device rule: ${LTarget} ${Operand} ${RTarget} is ${meets}`, () => {
    assert.equal(deviceConstraintMatcher({ LTarget, Operand, RTarget })(device), meets)
  })
