import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAssignment,
  aTask,
  type AssignmentFields,
} from '../../../test/build/agent.ts'
import type { AgentTask } from '../assignment.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { NodeInfo } from '../node-info.ts'
import { taskPaths } from '../store/workspace.ts'
import { buildEnvironment, formatRanges, type TaskEnvironment } from './environment.ts'

const node: NodeInfo = {
  ID: 'node-id',
  Name: 'node-1',
  Region: 'global',
  Datacenter: 'dc1',
  NodePool: 'default',
  NodeClass: 'big',
  Attributes: { 'kernel.name': 'linux' },
  Meta: { rack: 'r1' },
}

function environment(task: Partial<AgentTask>, fields: AssignmentFields = {}): TaskEnvironment {
  const full = aTask(task)
  const assignment = anAssignment({ ...fields, tasks: [full] })
  const place = { allocationId: assignment.allocation.ID, task: full.Name }
  const paths = taskPaths('/data/alloc', place)
  return buildEnvironment({ assignment, task: full, node, hostPaths: paths, isolation: 'none' })
}

test('the environment identifies task and node, without variables of the agent', () => {
  const dir = `/data/alloc/${allocationId(1)}`
  assert.deepEqual(environment({}).env, {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    REEVE_ALLOC_DIR: `${dir}/alloc`,
    REEVE_TASK_DIR: `${dir}/web/local`,
    REEVE_SECRETS_DIR: `${dir}/web/secrets`,
    REEVE_ALLOC_ID: allocationId(1),
    REEVE_SHORT_ALLOC_ID: allocationId(1).slice(0, 8),
    REEVE_ALLOC_NAME: 'job.group[0]',
    REEVE_ALLOC_INDEX: '0',
    REEVE_TASK_NAME: 'web',
    REEVE_GROUP_NAME: 'group',
    REEVE_JOB_ID: 'job',
    REEVE_JOB_NAME: 'job',
    REEVE_NAMESPACE: 'default',
    REEVE_REGION: 'global',
    REEVE_DC: 'dc1',
    REEVE_NODE_ID: 'node-id',
    REEVE_NODE_NAME: 'node-1',
    REEVE_CPU_LIMIT: '100',
    REEVE_MEMORY_LIMIT: '300',
  })
})

test('env and meta have together as many entries as a task may have variables, and no more', () => {
  const most = AGENT_LIMITS.environmentVariablesMax
  const entries = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, '']))
  const Meta = entries(10)
  assert.ok('k9' in environment({ Env: entries(most - 10), Meta }).env)
  assert.throws(() => environment({ Env: entries(most - 9), Meta }), {
    kind: 'task-invalid',
    message: `env and meta of the task have ${most + 1} entries; at most ${most} can be variables`,
  })
})

test('the environment contains the parent cgroup, if there is one', () => {
  const assignment = anAssignment()
  const [task = assert.fail()] = assignment.group.Tasks
  const paths = taskPaths('/data/alloc', { allocationId: allocationId(1), task: task.Name })
  const given = (CgroupParent: string): string | undefined => {
    const facts = { ...node, CgroupParent }
    const input = { assignment, task, node: facts, hostPaths: paths, isolation: 'none' } as const
    return buildEnvironment(input).env['REEVE_PARENT_CGROUP']
  }
  assert.equal(given('reeve'), 'reeve')
  assert.equal(given(''), undefined)
})

test('assigned resources override requested ones', () => {
  const granted = {
    Cpu: { CpuShares: 500, ReservedCores: [7, 0, 1, 2] },
    Memory: { MemoryMB: 64, MemoryMaxMB: 128 },
    Networks: null,
    Devices: null,
  }
  const Shared = { Networks: null, DiskMB: 1, Ports: null }
  const AllocatedResources = { Tasks: { web: granted }, TaskLifecycles: {}, Shared }
  const { env } = environment({}, { allocation: { AllocatedResources } })
  assert.equal(env['REEVE_CPU_LIMIT'], '500')
  assert.equal(env['REEVE_CPU_CORES'], '0-2,7')
  assert.equal(env['REEVE_MEMORY_LIMIT'], '64')
  assert.equal(env['REEVE_MEMORY_MAX_LIMIT'], '128')
})

test('meta of task, group and job are merged in that order, also in capitals', () => {
  const { env } = environment(
    { Meta: { own: 't', 'a-b.c': 'd' } },
    { group: { Meta: { own: 'g', shared: 'g' } }, job: { Meta: { shared: 'j', base: 'j' } } },
  )
  assert.equal(env['REEVE_META_own'], 't')
  assert.equal(env['REEVE_META_OWN'], 't')
  assert.equal(env['REEVE_META_shared'], 'g')
  assert.equal(env['REEVE_META_base'], 'j')
  assert.equal(env['REEVE_META_a_b.c'], 'd')
  assert.equal(env['REEVE_META_A_B.C'], 'd')
})

test('optional meta missing in a dispatch is empty', () => {
  const ParameterizedJob = { MetaOptional: ['given', 'c-d', 'grouped'] }
  const { env } = environment(
    {},
    { group: { Meta: { grouped: 'g' } }, job: { Meta: { given: '1' }, ParameterizedJob } },
  )
  assert.equal(env['REEVE_META_given'], '1')
  assert.equal(env['REEVE_META_grouped'], 'g')
  assert.equal(env['REEVE_META_c_d'], '')
  assert.equal(env['REEVE_META_C_D'], '')
})

test('ports are given as address, host port and the port to listen on', () => {
  const Ports = [
    { Label: 'http', Value: 25_000, To: 8_080, HostIP: '10.0.0.1' },
    { Label: 'admin-ui', Value: 25_001, To: 0, HostIP: 'fd00::1' },
  ]
  const Shared = { Networks: null, DiskMB: 1, Ports }
  const AllocatedResources = { Tasks: {}, TaskLifecycles: {}, Shared }
  const { env } = environment({}, { allocation: { AllocatedResources } })
  assert.equal(env['REEVE_IP_http'], '10.0.0.1')
  assert.equal(env['REEVE_PORT_http'], '8080')
  assert.equal(env['REEVE_ADDR_http'], '10.0.0.1:25000')
  assert.equal(env['REEVE_HOST_PORT_http'], '25000')
  assert.equal(env['REEVE_ALLOC_PORT_http'], '8080')
  assert.equal(env['REEVE_PORT_admin_ui'], '25001')
  assert.equal(env['REEVE_HOST_ADDR_admin_ui'], '[fd00::1]:25001')
})

test('in its own network a task gets its inner addresses', () => {
  const Ports = [{ Label: 'http', Value: 25_000, To: 8_080, HostIP: '10.0.0.1' }]
  const AllocatedResources = {
    Tasks: {},
    TaskLifecycles: {},
    Shared: { Networks: null, DiskMB: 1, Ports },
  }
  const assignment = anAssignment({ allocation: { AllocatedResources } })
  const { env } = buildEnvironment({
    assignment,
    task: aTask(),
    node,
    hostPaths: taskPaths('/data/alloc', { allocationId: allocationId(1), task: 'web' }),
    isolation: 'none',
    network: {
      namespacePath: '/run/netns/x',
      address: '172.30.64.2',
      addressIPv6: '',
      interfaceName: 'eth0',
    },
  })
  assert.equal(env['REEVE_ADDR_http'], '10.0.0.1:25000')
  assert.equal(env['REEVE_ALLOC_IP_http'], '172.30.64.2')
  assert.equal(env['REEVE_ALLOC_ADDR_http'], '172.30.64.2:8080')
  assert.equal(env['REEVE_ALLOC_INTERFACE_http'], 'eth0')
})

for (const isolation of ['chroot', 'image'] as const) {
  test(`a task with a root of its own (${isolation}) sees its directories there`, () => {
    const { env } = buildEnvironment({
      assignment: anAssignment(),
      task: aTask(),
      node,
      hostPaths: taskPaths('/data/alloc', { allocationId: allocationId(1), task: 'web' }),
      isolation,
    })
    assert.deepEqual(
      ['ALLOC', 'TASK', 'SECRETS'].map((name) => env[`REEVE_${name}_DIR`]),
      ['/alloc', '/local', '/secrets'],
    )
  })
}

for (const [isolation, path] of [
  ['chroot', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  ['image', undefined],
] as const) {
  test(`the PATH of a task (${isolation}) is ${path === undefined ? 'its image’s' : 'the usual'}`, () => {
    const input = {
      assignment: anAssignment(),
      node,
      hostPaths: taskPaths('/data/alloc', { allocationId: allocationId(1), task: 'web' }),
      isolation,
    }
    assert.equal(buildEnvironment({ ...input, task: aTask() }).env['PATH'], path)
    const own = buildEnvironment({ ...input, task: aTask({ Env: { PATH: '/opt/bin' } }) })
    assert.equal(own.env['PATH'], '/opt/bin')
  })
}

test("the task's own variables win, with references resolved, but cannot hide whose it is", () => {
  const { env } = environment({
    Env: {
      PATH: '/opt/bin',
      WHERE: '${node.datacenter}/${attr.kernel.name}/${meta.rack}/${node.class}',
      DATA: '${REEVE_ALLOC_DIR}/data',
      REEVE_ALLOC_ID: 'forged',
    },
  })
  assert.equal(env['PATH'], '/opt/bin')
  assert.equal(env['WHERE'], 'dc1/linux/r1/big')
  assert.equal(env['DATA'], `/data/alloc/${allocationId(1)}/alloc/data`)
  assert.equal(env['REEVE_ALLOC_ID'], allocationId(1))
})

test('texts of the task see its own variables', () => {
  const { interpolator } = environment({ Env: { GREETING: 'hello' } })
  assert.equal(interpolator.resolve('${GREETING} ${node.unique.name}', 'args[0]'), 'hello node-1')
})

for (const name of ['', 'A=B', 'A\0B']) {
  test(`a variable named ${JSON.stringify(name)} is refused`, () => {
    assert.throws(() => environment({ Env: { [name]: 'x' } }), { kind: 'task-invalid' })
  })
}

const ranges = [
  { numbers: [3], text: '3' },
  { numbers: [2, 0, 1], text: '0-2' },
  { numbers: [0, 2, 3, 9], text: '0,2-3,9' },
]
for (const c of ranges) {
  test(`rangesOf: ${c.numbers.join(' ')} is ${c.text}`, () => {
    assert.equal(formatRanges(c.numbers), c.text)
  })
}

test('product variables exist under every configured prefix', () => {
  const aliases = {
    environmentPrefixes: ['OTHER_'],
    templateFunctions: {},
    variableDirectories: {},
    nodeAttributes: {},
  }
  const task = aTask({ Env: { A: '${OTHER_TASK_NAME} ${REEVE_TASK_NAME}', OTHER_DC: 'mine' } })
  const assignment = anAssignment({ tasks: [task] })
  const paths = taskPaths('/data/alloc', { allocationId: assignment.allocation.ID, task: 'web' })
  const own = { assignment, task, hostPaths: paths, isolation: 'none' } as const
  const { env, interpolator } = buildEnvironment({ ...own, node: { ...node, aliases } })
  assert.equal(env['A'], 'web web')
  assert.deepEqual([env['OTHER_DC'], env['REEVE_DC']], ['mine', 'dc1'])
  assert.equal(interpolator.resolve('${OTHER_ALLOC_ID}', 'x'), env['REEVE_ALLOC_ID'])
  const names = Object.keys(env).filter((name) => name.startsWith('REEVE_'))
  for (const name of names) assert.ok(name.replace('REEVE_', 'OTHER_') in env, name)
})
