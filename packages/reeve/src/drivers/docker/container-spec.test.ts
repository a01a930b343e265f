import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aLaunch } from '../../../test/build/launch.ts'
import { HOST_NETWORK, type TaskLaunch } from '../../agent/index.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { containerSpec, isLogCollected } from './container-spec.ts'
import { readDockerConfig } from './docker-config.ts'
import { DEFAULT_DOCKER_SETTINGS, type DockerSettings } from './docker-policy.ts'
import { getPath } from './engine-client.ts'
import { toEngineSignal } from './docker-task.ts'

const MB = 1024 * 1024

interface Given {
  readonly config?: Readonly<Record<string, unknown>>
  readonly launch?: Partial<TaskLaunch>
  readonly settings?: Partial<DockerSettings>
  readonly networkContainer?: string
}

function specOf({ config = {}, launch = {}, settings = {}, networkContainer }: Given): unknown {
  return containerSpec({
    launch: aLaunch(launch),
    config: readDockerConfig({ image: 'box:1', ...config }),
    policy: {
      allowPrivileged: false,
      allowVolumes: true,
      allowHostNamespaces: false,
      allowCaps: DEFAULT_CAPS,
      pidsMax: 4_096,
    },
    settings: { ...DEFAULT_DOCKER_SETTINGS, ...settings },
    coreCount: 4,
    binds: [],
    runtimes: ['runc', 'nvidia-cdi'],
    networkContainer,
    agentId: 'agent-1',
  })
}

const port = { label: 'http', hostIp: '10.0.0.9', hostPort: 20_123, to: 8_080 }
const resources = { cpuMHz: 500, cpuFraction: 0.25, cores: [], memoryMB: 64, memoryMaxMB: 0 }
const bridge = { ...HOST_NETWORK, mode: 'bridge', namespacePath: '/run/netns/x' }

const SHARED_FIELDS = [
  ['Hostname'],
  ['ExposedPorts'],
  ['HostConfig', 'PortBindings'],
  ['HostConfig', 'Dns'],
  ['HostConfig', 'ExtraHosts'],
] as const

const cases: readonly (Given & {
  readonly name: string
  readonly at: readonly string[]
  readonly want: unknown
})[] = [
  {
    name: 'a command and its arguments',
    config: { command: 'a', args: ['b'] },
    at: ['Cmd'],
    want: ['a', 'b'],
  },
  { name: 'no command: the image’s own', at: ['Cmd'], want: undefined },
  { name: 'arguments alone', config: { args: ['b'] }, at: ['Cmd'], want: ['b'] },
  { name: 'an entrypoint', config: { entrypoint: ['x'] }, at: ['Entrypoint'], want: ['x'] },
  { name: 'the environment', launch: { env: { A: 'x=y' } }, at: ['Env'], want: ['A=x=y'] },
  {
    name: 'memory without swap',
    launch: { resources },
    at: ['HostConfig', 'MemorySwap'],
    want: 64 * MB,
  },
  {
    name: 'a larger limit of memory',
    config: { memory_hard_limit: 256 },
    launch: { resources },
    at: ['HostConfig', 'Memory'],
    want: 256 * MB,
  },
  {
    name: 'the smaller one is then reserved',
    launch: { resources: { ...resources, memoryMaxMB: 128 } },
    at: ['HostConfig', 'MemoryReservation'],
    want: 64 * MB,
  },
  { name: 'a weight', launch: { resources }, at: ['HostConfig', 'CpuShares'], want: 500 },
  {
    name: 'no limit of processors',
    launch: { resources },
    at: ['HostConfig', 'CpuQuota'],
    want: undefined,
  },
  {
    name: 'a quarter of four cores as a limit',
    config: { cpu_hard_limit: true },
    launch: { resources },
    at: ['HostConfig', 'CpuQuota'],
    want: 100_000,
  },
  {
    name: 'cores of its own',
    launch: { resources: { ...resources, cores: [1, 3] } },
    at: ['HostConfig', 'CpusetCpus'],
    want: '1,3',
  },
  { name: 'no capability but the usual', at: ['HostConfig', 'CapDrop'], want: ['ALL'] },
  {
    name: 'dropped ones',
    config: { cap_drop: ['all'], cap_add: ['CAP_CHOWN'] },
    at: ['HostConfig', 'CapAdd'],
    want: ['CAP_CHOWN'],
  },
  { name: 'no new privileges', at: ['HostConfig', 'SecurityOpt'], want: ['no-new-privileges'] },
  { name: 'the engine’s own network', at: ['HostConfig', 'NetworkMode'], want: 'bridge' },
  {
    name: 'no network',
    launch: { network: { ...HOST_NETWORK, mode: 'none' } },
    at: ['HostConfig', 'NetworkMode'],
    want: 'none',
  },
  {
    name: 'the allocation’s network, by its path',
    launch: { network: bridge },
    at: ['HostConfig', 'NetworkMode'],
    want: 'ns:/run/netns/x',
  },
  {
    name: 'the allocation’s network, through a container',
    launch: { network: bridge },
    networkContainer: 'c1',
    at: ['HostConfig', 'NetworkMode'],
    want: 'container:c1',
  },
  {
    name: 'the network of the task, though its allocation has one',
    config: { network_mode: 'own' },
    launch: { network: bridge },
    networkContainer: 'c1',
    at: ['HostConfig', 'NetworkMode'],
    want: 'own',
  },
  ...SHARED_FIELDS.map((at) => ({
    name: `nothing of ${at.join('.')} that belongs to the container that is joined`,
    config: { ports: ['http'], extra_hosts: ['a:10.0.0.1'], dns_servers: ['10.0.0.53'] },
    launch: { network: { ...bridge, hostname: 'web', ports: [port] } },
    networkContainer: 'c1',
    at,
    want: at.at(-1)?.includes('Port') === true ? {} : undefined,
  })),
  {
    name: 'a port by its label',
    config: { ports: ['http'] },
    launch: { network: { ...HOST_NETWORK, ports: [port] } },
    at: ['HostConfig', 'PortBindings', '8080/tcp'],
    want: [{ HostIp: '10.0.0.9', HostPort: '20123' }],
  },
  {
    name: 'a port in the older form',
    config: { port_map: [{ http: 80 }] },
    launch: { network: { ...HOST_NETWORK, ports: [port] } },
    at: ['HostConfig', 'PortBindings', '80/udp'],
    want: [{ HostIp: '10.0.0.9', HostPort: '20123' }],
  },
  {
    name: 'limits of the shell',
    config: { ulimit: { nofile: '10:20', nproc: '5' } },
    at: ['HostConfig', 'Ulimits'],
    want: [
      { Name: 'nofile', Soft: 10, Hard: 20 },
      { Name: 'nproc', Soft: 5, Hard: 5 },
    ],
  },
  {
    name: 'a tmpfs',
    config: { mount: [{ type: 'tmpfs', target: '/x', tmpfs_options: [{ size: 100 }] }] },
    at: ['HostConfig', 'Mounts'],
    want: [{ Type: 'tmpfs', Target: '/x', ReadOnly: false, TmpfsOptions: { SizeBytes: 100 } }],
  },
  {
    name: 'the directories of the task, and volumes',
    launch: { taskDir: '/t', mounts: [{ hostPath: '/v', taskPath: '/data', readOnly: true }] },
    at: ['HostConfig', 'Binds'],
    want: ['/t/alloc:/alloc', '/t/local:/local', '/t/secrets:/secrets', '/v:/data:ro'],
  },
  { name: 'no log where none is wanted', at: ['HostConfig', 'LogConfig', 'Type'], want: 'none' },
  {
    name: 'a log driver of the engine',
    config: { logging: [{ type: 'syslog', config: [{ tag: 'x' }] }] },
    at: ['HostConfig', 'LogConfig'],
    want: { Type: 'syslog', Config: { tag: 'x' } },
  },
  {
    name: 'further hosts',
    config: { extra_hosts: ['a:10.0.0.1'] },
    launch: { network: { ...HOST_NETWORK, hosts: [{ address: '10.0.0.2', names: ['b'] }] } },
    at: ['HostConfig', 'ExtraHosts'],
    want: ['b:10.0.0.2', 'a:10.0.0.1'],
  },
  {
    name: 'an address in a network of its own',
    config: { network_mode: 'lan', ipv4_address: '10.5.0.9', network_aliases: ['db'] },
    at: ['NetworkingConfig', 'EndpointsConfig', 'lan'],
    want: { Aliases: ['db'], IPAMConfig: { IPv4Address: '10.5.0.9' } },
  },
  {
    name: 'no health check of the image',
    config: { healthchecks: [{ disable: true }] },
    at: ['Healthcheck', 'Test'],
    want: ['NONE'],
  },
  {
    name: 'shared memory',
    config: { shm_size: 1_000 },
    at: ['HostConfig', 'ShmSize'],
    want: 1_000,
  },
  {
    name: 'kernel settings',
    config: { sysctl: { 'net.core.somaxconn': 9 } },
    at: ['HostConfig', 'Sysctls'],
    want: { 'net.core.somaxconn': '9' },
  },
  { name: 'a limit of processes', at: ['HostConfig', 'PidsLimit'], want: 4_096 },
  {
    name: 'labels that nobody can take for ours',
    config: { labels: { 'reeve.start': 'x' } },
    at: ['Labels', 'reeve.start'],
    want: 'start-1',
  },
  {
    name: 'the agent that the container belongs to',
    config: { labels: { 'reeve.agent': 'x' } },
    at: ['Labels', 'reeve.agent'],
    want: 'agent-1',
  },
  {
    name: 'labels of the node, which a task cannot claim',
    config: { labels: { 'reeve.job_id': 'bank', team: 'a' } },
    settings: { extraLabels: ['job_*', 'short_alloc_id'] },
    at: ['Labels'],
    want: {
      team: 'a',
      'reeve.job_id': 'shop',
      'reeve.job_name': 'shop',
      'reeve.short_alloc_id': aLaunch().handle.allocationId.slice(0, 8),
      'reeve.start': 'start-1',
      'reeve.agent': 'agent-1',
      'reeve.alloc': aLaunch().handle.allocationId,
      'reeve.task': 'web',
    },
  },
  {
    name: 'the log driver of the node',
    settings: { logging: { type: 'journald', config: { tag: 'x' } } },
    at: ['HostConfig', 'LogConfig'],
    want: { Type: 'journald', Config: { tag: 'x' } },
  },
  {
    name: 'the log driver of the task before that of the node',
    config: { logging: [{ config: [{ 'max-size': '1m' }] }] },
    settings: { logging: { type: 'journald', config: {} } },
    at: ['HostConfig', 'LogConfig'],
    want: { Type: 'json-file', Config: { 'max-size': '1m' } },
  },
  {
    name: 'the runtime of NVIDIA devices',
    launch: { env: { NVIDIA_VISIBLE_DEVICES: 'all' } },
    settings: { nvidiaRuntime: 'nvidia-cdi' },
    at: ['HostConfig', 'Runtime'],
    want: 'nvidia-cdi',
  },
  {
    name: 'no runtime where no device is wanted',
    launch: { env: { NVIDIA_VISIBLE_DEVICES: 'void' } },
    at: ['HostConfig', 'Runtime'],
    want: undefined,
  },
  {
    name: 'new privileges where the node allows them',
    settings: { noNewPrivileges: false },
    at: ['HostConfig', 'SecurityOpt'],
    want: [],
  },
  {
    name: 'a label of SELinux on the files of the allocation, not on host volumes',
    launch: { taskDir: '/t', mounts: [{ hostPath: '/v', taskPath: '/data', readOnly: true }] },
    settings: { selinuxLabel: 'z' },
    at: ['HostConfig', 'Binds'],
    want: ['/t/alloc:/alloc:z', '/t/local:/local:z', '/t/secrets:/secrets:z', '/v:/data:ro'],
  },
  { name: 'no restart by the engine', at: ['HostConfig', 'RestartPolicy'], want: { Name: 'no' } },
]
for (const c of cases) {
  test(`container: ${c.name}`, () => {
    assert.deepEqual(getPath(specOf(c), ...c.at), c.want)
  })
}

test('container: devices of NVIDIA need a runtime that the engine has', () => {
  assert.throws(() => specOf({ launch: { env: { NVIDIA_VISIBLE_DEVICES: 'all' } } }), {
    kind: 'task-unstartable',
    message: /has no runtime "nvidia" \(nvidia_runtime\)$/,
  })
})

const collected = [
  { config: {}, settings: {}, want: true },
  { config: {}, settings: { collectsLogs: false }, want: false },
  { config: { logging: [{ type: 'journald' }] }, settings: {}, want: true },
  { config: { logging: [{ type: 'syslog' }] }, settings: {}, want: false },
  { config: {}, settings: { logging: { type: 'syslog', config: {} } }, want: false },
]
for (const { config, settings, want } of collected) {
  test(`container: logs of ${JSON.stringify({ config, settings })} are collected: ${want}`, () => {
    const read = readDockerConfig({ image: 'box:1', ...config })
    assert.equal(isLogCollected(read, { ...DEFAULT_DOCKER_SETTINGS, ...settings }), want)
  })
}

const signals = [
  { name: 'SIGINT', want: 'SIGINT' },
  { name: 'int', want: 'SIGINT' },
  { name: '3', want: '3' },
  { name: '64', want: '64' },
  { name: '65', want: undefined },
  { name: '0', want: undefined },
  { name: 'RTMIN+3', want: '37' },
  { name: 'SIGRTMAX-14', want: '50' },
  { name: 'SIGRTMIN+16', want: '50' },
  { name: 'RTMIN+31', want: undefined },
  { name: 'NOPE', want: undefined },
  { name: '', want: undefined },
]
for (const { name, want } of signals) {
  test(`signals: the engine receives ${JSON.stringify(name)} as ${want ?? 'nothing'}`, () => {
    assert.equal(toEngineSignal(name), want)
  })
}
