import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeDevice, NodeRegistration } from '@reeve/contract'
import { aNode } from '../../../test/build/index.ts'
import { LIMITS } from '../limits.ts'
import { isNodeName, isNodePoolName, registrationProblem } from './registration-problem.ts'

type Fields = Partial<NodeRegistration>

const node = aNode()
const { NodeResources: has, ReservedResources: kept } = node

function withHas(fields: Partial<NodeRegistration['NodeResources']>): Fields {
  return { NodeResources: { ...has, ...fields } }
}

function withCpu(fields: Partial<typeof has.Cpu>): Fields {
  return withHas({ Cpu: { ...has.Cpu, ...fields } })
}

function aMap(count: number, name = 'key'): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, 'value']))
}

function devices(count: number, instances: number): readonly NodeDevice[] {
  const Instances = Array.from({ length: instances }, (_, i) => ({
    ID: `gpu-${i}`,
    Healthy: true,
    HealthDescription: '',
  }))
  const device = { Vendor: 'acme', Type: 'gpu', Name: 'one', Attributes: null }
  return Array.from({ length: count }, () => ({ ...device, Instances }))
}

function drivers(count: number): NodeRegistration['Drivers'] {
  const raw = node.Drivers['raw_exec']
  assert.ok(raw !== undefined)
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`driver${i}`, raw]))
}

function volumes(...names: readonly string[]): Fields {
  const entries = names.map((Name) => [Name, { Name, Path: '/srv', ReadOnly: false, ID: '' }])
  return { HostVolumes: Object.fromEntries(entries) }
}

function networks(count: number, fields: object = {}): Fields {
  const [first] = has.NodeNetworks ?? []
  assert.ok(first !== undefined)
  return withHas({ NodeNetworks: Array.from({ length: count }, () => ({ ...first, ...fields })) })
}

const { nodeNameCharsMax, nodeWordCharsMax, nodeTextCharsMax, nodePartsMax } = LIMITS

const valid: readonly { readonly name: string; readonly fields: Fields }[] = [
  { name: 'what a plain machine says', fields: {} },
  { name: 'the longest name', fields: { Name: 'a'.repeat(nodeNameCharsMax) } },
  { name: 'the longest datacenter', fields: { Datacenter: 'a'.repeat(nodeNameCharsMax) } },
  { name: 'the longest pool', fields: { NodePool: 'a'.repeat(128) } },
  { name: 'the longest class', fields: { NodeClass: 'a'.repeat(nodeWordCharsMax) } },
  { name: 'a class in another script', fields: { NodeClass: 'größer' } },
  { name: 'no resources at all', fields: withCpu({ CpuShares: 0 }) },
  { name: 'the most CPU', fields: withCpu({ CpuShares: LIMITS.nodeCpuMHzMax }) },
  { name: 'the most memory', fields: withHas({ Memory: { MemoryMB: LIMITS.nodeMemoryMBMax } }) },
  { name: 'the most disk', fields: withHas({ Disk: { DiskMB: LIMITS.nodeDiskMBMax } }) },
  { name: 'the last core', fields: withCpu({ ReservableCpuCores: [LIMITS.nodeCoresMax - 1] }) },
  { name: 'the last port', fields: withHas({ MaxDynamicPort: 65_535 }) },
  { name: 'the most attributes', fields: { Attributes: aMap(LIMITS.nodeAttributesMax) } },
  { name: 'the most meta', fields: { Meta: aMap(LIMITS.nodeMetaMax) } },
  { name: 'the longest value', fields: { Meta: { a: 'x'.repeat(nodeTextCharsMax) } } },
  { name: 'an attribute of several lines', fields: { Attributes: { a: 'one\n\ttwo' } } },
  { name: 'the most drivers', fields: { Drivers: drivers(LIMITS.nodeDriversMax) } },
  { name: 'the most devices', fields: withHas({ Devices: devices(nodePartsMax, 1) }) },
  { name: 'the most device instances', fields: withHas({ Devices: devices(1, 4_096) }) },
  { name: 'a numbered volume', fields: volumes('data', 'data[3]') },
  { name: 'the most networks', fields: networks(nodePartsMax, { Addresses: null }) },
]
for (const { name, fields } of valid)
  test(`registration: ${name} may register`, () => {
    assert.equal(registrationProblem({ ...node, ...fields }), undefined)
  })

const ESCAPE = '\u001B[2J'

const invalid: readonly {
  readonly name: string
  readonly fields: Fields
  readonly says: string
}[] = [
  {
    name: 'an id in upper case',
    fields: { ID: node.ID.toUpperCase().replace(/0/g, 'A') },
    says: 'ID',
  },
  { name: 'no name', fields: { Name: '' }, says: 'Name (setting "name")' },
  { name: 'a name too long', fields: { Name: 'a'.repeat(nodeNameCharsMax + 1) }, says: 'Name' },
  { name: 'a name with a newline', fields: { Name: 'a\nb' }, says: 'Name' },
  { name: 'a name with an escape sequence', fields: { Name: `a${ESCAPE}` }, says: 'Name' },
  { name: 'a name that looks like a flag', fields: { Name: '--force' }, says: 'Name' },
  { name: 'a datacenter with a glob', fields: { Datacenter: 'dc*' }, says: 'Datacenter' },
  { name: 'the pool of all nodes', fields: { NodePool: 'all' }, says: 'NodePool' },
  { name: 'the pool *', fields: { NodePool: '*' }, says: 'NodePool' },
  { name: 'a pool with a path', fields: { NodePool: '../../x y' }, says: 'NodePool' },
  { name: 'a pool too long', fields: { NodePool: 'a'.repeat(129) }, says: 'NodePool' },
  { name: 'a class with a space', fields: { NodeClass: 'a b' }, says: 'NodeClass' },
  { name: 'a class too long', fields: { NodeClass: 'a'.repeat(257) }, says: 'NodeClass' },
  { name: 'an address with an escape sequence', fields: { HTTPAddr: ESCAPE }, says: 'HTTPAddr' },
  { name: 'CPU without end', fields: withCpu({ CpuShares: 1e308 }), says: 'CpuShares' },
  { name: 'infinite CPU', fields: withCpu({ CpuShares: Infinity }), says: 'CpuShares' },
  { name: 'negative CPU', fields: withCpu({ CpuShares: -5 }), says: 'CpuShares' },
  {
    name: 'CPU past the limit',
    fields: withCpu({ CpuShares: LIMITS.nodeCpuMHzMax + 1 }),
    says: `must be a whole number from 0 to ${LIMITS.nodeCpuMHzMax}`,
  },
  {
    name: 'memory past the limit',
    fields: withHas({ Memory: { MemoryMB: LIMITS.nodeMemoryMBMax + 1 } }),
    says: 'MemoryMB',
  },
  {
    name: 'disk past the limit',
    fields: withHas({ Disk: { DiskMB: LIMITS.nodeDiskMBMax + 1 } }),
    says: 'DiskMB',
  },
  {
    name: 'a core past the limit',
    fields: withCpu({ ReservableCpuCores: [LIMITS.nodeCoresMax] }),
    says: 'ReservableCpuCores',
  },
  { name: 'a port past the last', fields: withHas({ MaxDynamicPort: 65_536 }), says: 'Port' },
  {
    name: 'negative memory kept for itself',
    fields: { ReservedResources: { ...kept, Memory: { MemoryMB: -1 } } },
    says: 'ReservedResources.Memory',
  },
  {
    name: 'ports that are none',
    fields: { ReservedResources: { ...kept, Networks: { ReservedHostPorts: 'x' } } },
    says: 'must name ports',
  },
  {
    name: 'too many device instances',
    fields: withHas({ Devices: devices(1, 4_097) }),
    says: 'at most 256 kinds and 4096 instances',
  },
  { name: 'too many attributes', fields: { Attributes: aMap(1_001) }, says: 'Attributes' },
  { name: 'too much meta', fields: { Meta: aMap(257) }, says: 'Meta' },
  { name: 'a key too long', fields: { Meta: { ['k'.repeat(257)]: '' } }, says: 'Meta' },
  { name: 'an empty key', fields: { Meta: { '': 'x' } }, says: 'Meta must have no empty name' },
  { name: 'a value too long', fields: { Meta: { a: 'x'.repeat(4_097) } }, says: 'Meta' },
  { name: 'a value with an escape sequence', fields: { Meta: { a: ESCAPE } }, says: 'Meta' },
  { name: 'too many drivers', fields: { Drivers: drivers(65) }, says: 'Drivers' },
  {
    name: 'a driver with an odd name',
    fields: { Drivers: { 'a b': drivers(1)['driver0'] ?? assert.fail() } },
    says: 'name of a driver',
  },
  { name: 'too many kinds of devices', fields: withHas({ Devices: devices(257, 0) }), says: 'Dev' },
  { name: 'too many devices', fields: withHas({ Devices: devices(1, 4_097) }), says: 'Devices' },
  { name: 'a volume with a path as its name', fields: volumes('../etc'), says: 'host volume' },
  { name: 'too many networks', fields: networks(257), says: 'networks' },
  {
    name: 'a network with a control character',
    fields: networks(1, { Device: '\u0007' }),
    says: 'N',
  },
  {
    name: 'more in all than is allowed',
    fields: {
      Attributes: Object.fromEntries(
        Array.from({ length: 100 }, (_, i) => [`k${i}`, 'x'.repeat(4_000)]),
      ),
    },
    says: `at most ${LIMITS.nodeRegistrationBytesMax} are allowed`,
  },
]
for (const { name, fields, says } of invalid)
  test(`registration: ${name} may not register`, () => {
    const problem = registrationProblem({ ...node, ...fields }) ?? ''
    assert.ok(problem.startsWith('this node may not register: '), problem)
    assert.ok(problem.includes(says), problem)
    assert.ok(!/\p{Cc}/u.test(problem), 'the text repeats nothing that could move a cursor')
  })

test('registration: names of nodes and pools', () => {
  assert.deepEqual(['web-1', 'a', '9.b_c'].map(isNodeName), [true, true, true])
  assert.deepEqual(['', '-a', 'a b', 'ä'].map(isNodeName), [false, false, false, false])
  assert.deepEqual(['default', 'all2', '_'].map(isNodePoolName), [true, true, true])
  assert.deepEqual(['', 'all', '*', 'a.b'].map(isNodePoolName), [false, false, false, false])
})
