import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { NodeInfo } from '../../src/agent/node-info.ts'
import { taskPaths } from '../../src/agent/store/workspace.ts'
import { buildEnvironment } from '../../src/agent/task/environment.ts'
import { anAssignment, aTask } from '../build/agent.ts'

const PAGE = join(import.meta.dirname, '../../../../docs/reference/drivers.md')

const node: NodeInfo = {
  ID: 'node-id',
  Name: 'node-1',
  Region: 'global',
  Datacenter: 'dc1',
  NodePool: 'default',
  NodeClass: '',
  CgroupParent: 'reeve',
  Attributes: {},
  Meta: {},
}

const PORT = {
  Label: 'http',
  Value: 25_000,
  To: 0,
  HostNetwork: 'default',
  IgnoreCollision: false,
}

/** With ports that belong to one task. */
const OLDER_NETWORK = {
  Mode: '',
  Device: '',
  CIDR: '',
  IP: '10.0.0.1',
  Hostname: '',
  MBits: 0,
  DNS: null,
  ReservedPorts: null,
  DynamicPorts: [PORT],
  CNI: null,
}

const GRANTED = {
  Cpu: { CpuShares: 500, ReservedCores: [0, 1] },
  Memory: { MemoryMB: 64, MemoryMaxMB: 128 },
  Networks: [OLDER_NETWORK],
  Devices: null,
}

/** What a task gets that has everything for which there is a variable. */
function environment(): readonly string[] {
  const task = aTask({ Name: 'web', Meta: { owner: 'ops' } })
  const Ports = [{ Label: 'http', Value: 25_000, To: 8_080, HostIP: '10.0.0.1' }]
  const Shared = { Networks: null, DiskMB: 1, Ports }
  const AllocatedResources = { Tasks: { web: GRANTED }, TaskLifecycles: {}, Shared }
  const assignment = anAssignment({
    allocation: { AllocatedResources },
    job: { ParentID: 'parent' },
    tasks: [task],
  })
  const { env } = buildEnvironment({
    assignment,
    task,
    node,
    hostPaths: taskPaths('/data', { allocationId: assignment.allocation.ID, task: 'web' }),
    isolation: 'none',
    network: {
      address: '172.26.0.2',
      addressIPv6: '',
      interfaceName: 'eth0',
      namespacePath: '/run/netns/x',
    },
  })
  return Object.keys(env).filter((name) => name !== 'PATH')
}

const PLACES = { '<label>': 'http', '<task>': 'web', '<key>': 'owner', '<KEY>': 'OWNER' }

test('docs/reference/drivers.md: every variable that a task gets is there, and no other', async () => {
  const page = await readFile(PAGE, 'utf8')
  const table = page.split('\n\n').find((part) => part.startsWith('| Variable | Value |')) ?? ''
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '')
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w[^`]*)`/g)].map(([, name]) => name))
  const names = named.map((name = '') =>
    Object.entries(PLACES).reduce((text, [place, value]) => text.replace(place, value), name),
  )
  assert.deepEqual(names.toSorted(), [...environment()].toSorted())
})
