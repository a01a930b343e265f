import type { TaskLaunch, TaskMount, TaskPort } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { DEFAULT_CAPS, grantedCaps } from '../settings/capabilities.ts'
import type { DockerConfig, LoggingConfig, MountConfig } from './docker-config.ts'
import type { DockerPolicy } from './docker-policy.ts'
import type { DockerSettings } from './docker-settings.ts'
import { localName } from './image-reference.ts'
import { networkFiles, rejectOwnNetworkSettings } from './network-files.ts'
import { withLabel } from './volume.ts'

/** By these a container is known to be ours, whoever looks. */
export const START_LABEL = 'reeve.start'
export const ALLOCATION_LABEL = 'reeve.alloc'
const TASK_LABEL = 'reeve.task'
/** Which agent it belongs to: several may use one engine. */
export const AGENT_LABEL = 'reeve.agent'
/** The allocation whose network a pause container holds. */
export const NETWORK_LABEL = 'reeve.network'
const LABEL_PREFIX = 'reeve.'

const BYTES_PER_MB = 1024 * 1024
const CPU_PERIOD_US = 100_000
/** The kernel takes no smaller quota. */
const CPU_QUOTA_US_MIN = 1_000
const CPU_SHARES_MIN = 2
const CPU_SHARES_MAX = 262_144

export interface ContainerInput {
  readonly launch: TaskLaunch
  readonly config: DockerConfig
  readonly policy: DockerPolicy
  readonly settings: DockerSettings
  /** Of the machine. */
  readonly coreCount: number
  /** `host:container[:options]`, checked. */
  readonly binds: readonly string[]
  /** The names of the engine's runtimes. */
  readonly runtimes: readonly string[]
  /**
   * The container through which the network of the allocation is joined; undefined: the engine
   * joins namespaces by their path.
   */
  readonly networkContainer: string | undefined
  /** Of this agent, among those that use the engine. */
  readonly agentId: string
}

/** The body of the engine's `create`. What the engine checks itself is left to it. */
export function containerSpec(input: ContainerInput): Readonly<Record<string, unknown>> {
  const { launch, config } = input
  const { process, network } = config
  const isShared = sharesNetwork(input)
  if (isShared) rejectOwnNetworkSettings(config)
  const granted = publishedPorts(launch.network.ports, config)
  // Ports of the machine lead to the allocation already.
  const ports = isShared ? [] : granted
  const command = process.command === undefined ? process.args : [process.command, ...process.args]
  return {
    Image: localName(config.image),
    ...(process.entrypoint === undefined ? {} : { Entrypoint: process.entrypoint }),
    ...(command.length === 0 ? {} : { Cmd: command }),
    Env: Object.entries(launch.env).map(([name, value]) => `${name}=${value}`),
    User: launch.user,
    ...(process.workDir === undefined ? {} : { WorkingDir: process.workDir }),
    ...(isShared ? {} : hostnameOf(input)),
    ...(network.mac === undefined ? {} : { MacAddress: network.mac }),
    Tty: process.tty,
    OpenStdin: process.interactive,
    Labels: {
      ...config.labels,
      ...extraLabels(launch, input.settings.extraLabels),
      [START_LABEL]: launch.handle.id,
      [ALLOCATION_LABEL]: launch.handle.allocationId,
      [TASK_LABEL]: launch.handle.task,
      [AGENT_LABEL]: input.agentId,
    },
    ExposedPorts: Object.fromEntries(ports.map(({ inside }) => [inside, {}])),
    ...(config.isHealthcheckDisabled ? { Healthcheck: { Test: ['NONE'] } } : {}),
    HostConfig: hostConfig(input, ports),
    ...endpointsOf(input),
  }
}

/** What the node adds for tools that read labels; a task cannot claim another job's. */
function extraLabels(
  { handle, about }: TaskLaunch,
  patterns: readonly string[],
): Readonly<Record<string, string>> {
  const known: Readonly<Record<string, string>> = {
    job_id: about.jobId,
    job_name: about.jobName,
    task_group_name: about.group,
    task_name: handle.task,
    namespace: about.namespace,
    node_id: about.nodeId,
    node_name: about.nodeName,
    short_alloc_id: handle.allocationId.slice(0, 8),
  }
  const wanted = Object.entries(known).filter(([name]) => {
    return patterns.some((pattern) => matchGlob(pattern, name))
  })
  return Object.fromEntries(wanted.map(([name, value]) => [`${LABEL_PREFIX}${name}`, value]))
}

function hostnameOf({ launch, config }: ContainerInput): { readonly Hostname?: string } {
  const name = config.process.hostname ?? launch.network.hostname
  return name === '' ? {} : { Hostname: name }
}

function hostConfig(
  input: ContainerInput,
  ports: readonly PublishedPort[],
): Readonly<Record<string, unknown>> {
  const { config, policy } = input
  const { rights, storage, limits } = config
  const { namespaces } = rights
  const caps = grantedCaps({
    base: DEFAULT_CAPS,
    add: rights.capAdd,
    drop: rights.capDrop,
    allowed: policy.allowCaps,
  })
  return {
    NetworkMode: networkMode(input),
    PortBindings: portBindings(ports),
    ...(sharesNetwork(input) ? {} : nameService(input)),
    ...memoryOf(input),
    ...cpuOf(input),
    // Engines differ in what 0 means.
    PidsLimit: (limits.pids ?? policy.pidsMax) || -1,
    ...(limits.oomScoreAdj === undefined ? {} : { OomScoreAdj: limits.oomScoreAdj }),
    Ulimits: ulimitsOf(limits.ulimits),
    Sysctls: limits.sysctls,
    Privileged: rights.isPrivileged,
    ReadonlyRootfs: rights.isRootReadOnly,
    ...(rights.isPrivileged
      ? {}
      : { CapDrop: ['ALL'], CapAdd: caps.map((name) => `CAP_${name.toUpperCase()}`) }),
    SecurityOpt: securityOptions(input),
    Init: config.process.init,
    GroupAdd: config.process.groupAdd,
    ...optional('Runtime', runtimeOf(input)),
    ...optional('IpcMode', namespaces.ipc),
    ...optional('PidMode', namespaces.pid),
    ...optional('UTSMode', namespaces.uts),
    ...optional('UsernsMode', namespaces.userns),
    ...optional('CgroupnsMode', namespaces.cgroupns),
    Binds: bindsOf(input),
    Mounts: storage.mounts.map(mountBody),
    Devices: storage.devices.map((device) => ({
      PathOnHost: device.hostPath,
      PathInContainer: device.containerPath,
      CgroupPermissions: device.permissions,
    })),
    ...(storage.shmBytes === undefined ? {} : { ShmSize: storage.shmBytes }),
    ...optional('VolumeDriver', storage.volumeDriver),
    ...(Object.keys(storage.options).length === 0 ? {} : { StorageOpt: storage.options }),
    LogConfig: logConfig(input),
    // The restart policy is the agent's business.
    RestartPolicy: { Name: 'no' },
  }
}

function optional(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === '' ? {} : { [name]: value }
}

/** The NVIDIA runtime reads this variable; these values of it mean no device. */
const NVIDIA_VARIABLE = 'NVIDIA_VISIBLE_DEVICES'
const NO_NVIDIA: ReadonlySet<string> = new Set(['', 'none', 'void'])

function runtimeOf({ launch, config, settings, runtimes }: ContainerInput): string | undefined {
  const { runtime } = config.rights
  if (runtime !== undefined && runtime !== '') return runtime
  if (NO_NVIDIA.has(launch.env[NVIDIA_VARIABLE] ?? '')) return undefined
  const { nvidiaRuntime } = settings
  if (runtimes.includes(nvidiaRuntime)) return nvidiaRuntime
  throw new Fault(
    'task-unstartable',
    `${NVIDIA_VARIABLE} asks for devices, and the container engine has no runtime ` +
      `${JSON.stringify(nvidiaRuntime)} (nvidia_runtime)`,
  )
}

/** The node's label goes on the files of the allocation; host volumes are the operator's own. */
function bindsOf(input: ContainerInput): readonly string[] {
  const { launch, config, settings, binds } = input
  const files = sharesNetwork(input) ? networkFiles(launch, config) : []
  const named = files.map(({ path, target }) => bind(path, target, false))
  const labelled = [...taskBinds(launch), ...named, ...binds].map((one) => {
    return withLabel(one, settings.selinuxLabel)
  })
  return [...labelled, ...launch.mounts.map(bindVolume)]
}

/** The three directories of the task at their usual places. */
function taskBinds({ allocDir, localDir, secretsDir }: TaskLaunch): readonly string[] {
  return [
    bind(allocDir, '/alloc', false),
    bind(localDir, '/local', false),
    bind(secretsDir, '/secrets', false),
  ]
}

/** Engines know the two kinds of propagation under the names of the kernel. */
function bindVolume({ hostPath, taskPath, readOnly, propagation }: TaskMount): string {
  const bound = bind(hostPath, taskPath, readOnly)
  if (propagation === undefined) return bound
  return `${bound}${readOnly ? ',' : ':'}${propagation === 'bidirectional' ? 'rshared' : 'rslave'}`
}

function bind(hostPath: string, taskPath: string, readOnly: boolean): string {
  if (hostPath.includes(':') || taskPath.includes(':')) {
    throw new Fault('task-unstartable', `${hostPath} holds a colon, which engines cannot mount`)
  }
  return `${hostPath}:${taskPath}${readOnly ? ':ro' : ''}`
}

/** Whether the task is in the network of its allocation: nothing else was asked for. */
export function isInAllocationNetwork(
  { network }: TaskLaunch,
  { network: { mode } }: DockerConfig,
): boolean {
  return (mode ?? '') === '' && network.mode !== 'none' && network.namespacePath !== undefined
}

/** Engines accept no names, servers and ports for a container in the network of another. */
function sharesNetwork({ launch, config, networkContainer }: ContainerInput): boolean {
  return networkContainer !== undefined && isInAllocationNetwork(launch, config)
}

function networkMode(input: ContainerInput): string {
  const { launch, config, networkContainer } = input
  const { mode } = config.network
  if (mode !== undefined && mode !== '') return mode
  const { network } = launch
  if (network.mode === 'none') return 'none'
  if (network.namespacePath === undefined) return 'bridge'
  if (networkContainer !== undefined) return `container:${networkContainer}`
  return `ns:${network.namespacePath}`
}

interface PublishedPort {
  /** `8080/tcp`. */
  readonly inside: string
  readonly hostIp: string
  readonly hostPort: number
}

function publishedPorts(granted: readonly TaskPort[], config: DockerConfig): PublishedPort[] {
  const { ports, portMap } = config.network
  const wanted = [
    ...ports.map((label) => ({ label, inside: undefined })),
    ...Object.entries(portMap).map(([label, inside]) => ({ label, inside: portNumber(inside) })),
  ]
  return wanted.flatMap(({ label, inside }) => {
    const port = granted.find((one) => one.label === label)
    if (port === undefined) {
      throw new Fault('task-config', `ports: no port ${JSON.stringify(label)} was granted`)
    }
    const number = inside ?? (port.to > 0 ? port.to : port.hostPort)
    const { hostIp, hostPort } = port
    return ['tcp', 'udp'].map((protocol) => ({ inside: `${number}/${protocol}`, hostIp, hostPort }))
  })
}

function portNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw new Fault('task-config', `port_map: ${JSON.stringify(text)} is not a port`)
}

function portBindings(ports: readonly PublishedPort[]): Readonly<Record<string, unknown>> {
  const byInside = Map.groupBy(ports, ({ inside }) => inside)
  return Object.fromEntries(
    [...byInside].map(([inside, bound]) => [
      inside,
      bound.map(({ hostIp, hostPort }) => ({ HostIp: hostIp, HostPort: String(hostPort) })),
    ]),
  )
}

function nameService({ launch, config }: ContainerInput): Readonly<Record<string, unknown>> {
  const { dns, hosts } = launch.network
  const { network } = config
  return {
    Dns: network.dnsServers ?? dns?.servers ?? [],
    DnsSearch: network.dnsSearches ?? dns?.searches ?? [],
    DnsOptions: network.dnsOptions ?? dns?.options ?? [],
    ExtraHosts: [
      ...hosts.flatMap(({ address, names }) => names.map((name) => `${name}:${address}`)),
      ...network.extraHosts,
    ],
  }
}

/** The larger value limits, the smaller is a reservation. */
function memoryOf({ launch, config }: ContainerInput): Readonly<Record<string, unknown>> {
  const { memoryMB, memoryMaxMB } = launch.resources
  const hardMB = Math.max(config.limits.memoryHardMB ?? 0, memoryMaxMB)
  const limit = Math.max(hardMB, memoryMB) * BYTES_PER_MB
  return {
    Memory: limit,
    // The same value: no swap.
    MemorySwap: limit,
    ...(hardMB > memoryMB ? { MemoryReservation: memoryMB * BYTES_PER_MB } : {}),
  }
}

function cpuOf({ launch, config, coreCount }: ContainerInput): Readonly<Record<string, unknown>> {
  const { cpuMHz, cpuFraction, cores, sharedCores = [] } = launch.resources
  const { isCpuHard, cpuPeriodUs, cpuset } = config.limits
  const period = cpuPeriodUs ?? CPU_PERIOD_US
  const quota = Math.max(CPU_QUOTA_US_MIN, Math.round(cpuFraction * coreCount * period))
  return {
    CpuShares: Math.min(CPU_SHARES_MAX, Math.max(CPU_SHARES_MIN, Math.round(cpuMHz))),
    ...(isCpuHard ? { CpuPeriod: period, CpuQuota: quota } : {}),
    ...optional('CpusetCpus', cpuset ?? (cores.length > 0 ? cores : sharedCores).join(',')),
  }
}

/** `nofile = "1024:4096"`: soft and hard; one number is both. */
function ulimitsOf(limits: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(limits).map(([name, text]) => {
    const match = /^(-?\d{1,15})(?::(-?\d{1,15}))?$/.exec(text)
    if (match === null) {
      throw new Fault('task-config', `ulimit ${name}: ${JSON.stringify(text)} is not soft:hard`)
    }
    return { Name: name, Soft: Number(match[1]), Hard: Number(match[2] ?? match[1]) }
  })
}

function securityOptions({ config, settings }: ContainerInput): readonly string[] {
  const { securityOptions: asked, isPrivileged } = config.rights
  const isSaid = asked.some((option) => option.startsWith('no-new-privileges'))
  const isLeft = isSaid || isPrivileged || !settings.noNewPrivileges
  return isLeft ? asked : [...asked, 'no-new-privileges']
}

function mountBody(mount: MountConfig): Readonly<Record<string, unknown>> {
  const { volume } = mount
  const base = {
    Type: mount.type,
    Target: mount.target,
    Source: mount.source,
    ReadOnly: mount.readOnly,
  }
  switch (mount.type) {
    case 'bind':
      return { ...base, BindOptions: { ...optional('Propagation', mount.propagation) } }
    case 'tmpfs':
      return {
        Type: mount.type,
        Target: mount.target,
        ReadOnly: mount.readOnly,
        TmpfsOptions: {
          ...(mount.tmpfsBytes === undefined ? {} : { SizeBytes: mount.tmpfsBytes }),
          ...(mount.tmpfsMode === undefined ? {} : { Mode: mount.tmpfsMode }),
        },
      }
    case 'volume':
      return {
        ...base,
        VolumeOptions: {
          NoCopy: volume.noCopy,
          Labels: volume.labels,
          ...(volume.driver === ''
            ? {}
            : { DriverConfig: { Name: volume.driver, Options: volume.driverOptions } }),
        },
      }
  }
}

/**
 * What the engine keeps for the time in which no agent reads it. Some engines begin anew at the
 * limit, with a reader or without, so it is never tight.
 */
const ENGINE_LOG_BYTES_MIN = 32 * BYTES_PER_MB

function logConfig({
  launch,
  config,
  settings,
}: ContainerInput): Readonly<Record<string, unknown>> {
  const logging = loggingOf(config, settings)
  if (logging !== undefined) return { Type: logging.type, Config: logging.config }
  if (launch.logs === undefined) return { Type: 'none', Config: {} }
  const size = String(Math.max(ENGINE_LOG_BYTES_MIN, 2 * launch.logs.maxFileBytes))
  return { Type: 'json-file', Config: { 'max-size': size, 'max-file': '2' } }
}

/** The task's own log settings, else the node's; undefined: ours. */
function loggingOf(config: DockerConfig, settings: DockerSettings): LoggingConfig | undefined {
  return config.logging ?? settings.logging
}

/** Log drivers whose output every engine gives back to whoever follows a container. */
const READABLE_LOGS: ReadonlySet<string> = new Set(['json-file', 'k8s-file', 'local', 'journald'])

/** Whether the agent follows the output; other log drivers keep it where they are told to. */
export function isLogCollected(config: DockerConfig, settings: DockerSettings): boolean {
  const logging = loggingOf(config, settings)
  return settings.collectsLogs && (logging === undefined || READABLE_LOGS.has(logging.type))
}

/** Names and addresses of its own, in a network that was made for them. */
function endpointsOf(input: ContainerInput): Readonly<Record<string, unknown>> {
  const { aliases, ipv4, ipv6, mode } = input.config.network
  if (aliases.length === 0 && ipv4 === undefined && ipv6 === undefined) return {}
  const address = { ...optional('IPv4Address', ipv4), ...optional('IPv6Address', ipv6) }
  const endpoint = {
    Aliases: aliases,
    ...(Object.keys(address).length === 0 ? {} : { IPAMConfig: address }),
  }
  return { NetworkingConfig: { EndpointsConfig: { [mode ?? 'bridge']: endpoint } } }
}
