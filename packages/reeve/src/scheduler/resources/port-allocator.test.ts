import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, NetworkResource, Port } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { aNode } from '../../../test/build/node.ts'
import { seededRandom } from '../../../test/build/ids.ts'
import { NO_USAGE } from '../../model/index.ts'
import {
  assignPorts,
  nodePorts,
  parsePorts,
  portConflict,
  type PortRequest,
  portRequests,
} from './port-allocator.ts'

function asks(network: Input<NetworkResource>): readonly PortRequest[] {
  const [group] = aJob({ groups: [aGroup({ Networks: [network] })] }).TaskGroups
  assert.ok(group)
  return portRequests(group)
}

function fixed(...ports: readonly Input<Port>[]): readonly PortRequest[] {
  return asks({ ReservedPorts: ports })
}

const usage = { ...NO_USAGE, ports: new Map([['10.0.0.1:8080', 1]]) }
const node = aNode()
const keeping = aNode({
  ReservedResources: {
    ...node.ReservedResources,
    Networks: { ReservedHostPorts: '22,8500-8600' },
  },
})

const cases = [
  { name: 'a free one', ports: fixed({ Label: 'a', Value: 80 }), want: undefined },
  {
    name: 'one that is held',
    ports: fixed({ Label: 'a', Value: 8080 }),
    want: 'network: reserved port collision a=8080',
  },
  {
    name: 'one that may collide',
    ports: fixed({ Label: 'a', Value: 8080, IgnoreCollision: true }),
    want: undefined,
  },
  {
    name: 'one that the node keeps',
    ports: fixed({ Label: 'a', Value: 8555 }),
    want: 'network: reserved port collision a=8555',
  },
  {
    name: 'one of a host network that the node lacks',
    ports: fixed({ Label: 'a', Value: 80, HostNetwork: 'public' }),
    want: 'network: no address in host network public',
  },
]
for (const { name, ports, want } of cases)
  test(`static ports: ${name}`, () => {
    assert.equal(portConflict(ports, nodePorts(keeping), usage), want)
  })

const narrow = aNode({
  NodeResources: { ...node.NodeResources, MinDynamicPort: 100, MaxDynamicPort: 103 },
})

test('dynamic ports: whole range is assigned before a rejection', () => {
  const three = asks({ DynamicPorts: [{ Label: 'a' }, { Label: 'b' }, { Label: 'c' }] })
  const table = nodePorts(narrow)
  assert.equal(portConflict(three, table, NO_USAGE), undefined)
  const given = assignPorts(three, { table, usage: NO_USAGE, random: seededRandom(1) })
  assert.deepEqual(
    given.map(({ value }) => value).toSorted((a, b) => a - b),
    [100, 101, 102],
  )
  const taken = { ...NO_USAGE, ports: new Map([['10.0.0.1:101', 1]]) }
  assert.equal(portConflict(three, table, taken), 'network: dynamic port selection failed')
})

test('dynamic ports: ports of other addresses do not count', () => {
  const two = asks({ DynamicPorts: [{ Label: 'a' }, { Label: 'b' }] })
  const elsewhere = new Map([
    ['10.0.0.9:100', 1],
    ['10.0.0.9:101', 1],
    ['10.0.0.1:102', 1],
  ])
  assert.equal(portConflict(two, nodePorts(narrow), { ...NO_USAGE, ports: elsewhere }), undefined)
})

test('dynamic ports: static port in the range is skipped', () => {
  const both = asks({
    DynamicPorts: [{ Label: 'a' }, { Label: 'b' }],
    ReservedPorts: [{ Label: 'c', Value: 101 }],
  })
  const table = nodePorts(narrow)
  for (let seed = 0; seed < 20; seed++) {
    const given = assignPorts(both, { table, usage: NO_USAGE, random: seededRandom(seed) })
    assert.deepEqual(
      given.map(({ value }) => value).toSorted((a, b) => a - b),
      [100, 101, 102],
    )
  }
})

test('dynamic ports: constant random source tries each port once', () => {
  let looks = 0
  class Watched extends Map<string, number> {
    override has(key: string): boolean {
      looks += 1
      return super.has(key)
    }
  }
  const many = asks({ DynamicPorts: Array.from({ length: 5_000 }, (_, i) => ({ Label: `p${i}` })) })
  const held = { ...NO_USAGE, ports: new Watched() }
  const given = assignPorts(many, {
    table: nodePorts(node),
    usage: held,
    random: { next: () => 0 },
  })
  assert.equal(new Set(given.map(({ value }) => value)).size, 5_000)
  assert.ok(looks < 3 * many.length, `${looks} looks`)
})

test('ports: group and task ports together, static ones first', () => {
  const job = aJob({
    groups: [
      aGroup({
        Networks: [{ DynamicPorts: [{ Label: 'g' }] }, { DynamicPorts: [{ Label: 'ignored' }] }],
        Tasks: [
          aTask({
            Resources: {
              Networks: [{ ReservedPorts: [{ Label: 't', Value: 9, HostNetwork: 'x' }] }],
            },
          }),
        ],
      }),
    ],
  })
  const [group] = job.TaskGroups
  assert.ok(group)
  const found = portRequests(group).map(({ Label, task, HostNetwork }) => [
    Label,
    task,
    HostNetwork,
  ])
  assert.deepEqual(found, [
    ['t', 'main', 'default'],
    ['g', undefined, 'default'],
  ])
})

test('port lists: numbers and ranges; invalid parts are skipped', () => {
  assert.deepEqual(parsePorts('22, 80,8500-8502,x,9-,70000'), [22, 80, 8500, 8501, 8502])
  assert.equal(parsePorts('0-99999,'.repeat(5_000)).length, 65_536)
  assert.deepEqual(parsePorts(''), [])
})
