import type { TaskLaunch, TaskMount, TaskPort } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { DEFAULT_CAPS, grantedCapabilities } from '../capabilities.ts'
import type { DockerConfig, LoggingConfig, MountConfig } from './docker-config.ts'
import type { DockerPolicy, DockerSettings } from './docker-policy.ts'
import { canonicalImageName } from './image-reference.ts'
import { buildNetworkFiles, rejectContainerNetworkSettings } from './network-files.ts'
import { addSelinuxLabel } from './container-mounts.ts'

/** Labels that identify containers of this program. */
export const HANDLE_LABEL = 'reeve.start'
export const ALLOCATION_LABEL = 'reeve.alloc'
const TASK_LABEL = 'reeve.task'
/** Identifies the agent: several may share one engine. */
export const AGENT_LABEL = 'reeve.agent'
/** The allocation whose network a pause container holds. */
export const NETWORK_LABEL = 'reeve.network'
const LABEL_PREFIX = 'reeve.'

const BYTES_PER_MB = 1024 * 1024
const CPU_PERIOD_US = 100_000
/** Minimum quota of the kernel. */
const CPU_QUOTA_US_MIN = 1_000
const CPU_SHARES_MIN = 2
const CPU_SHARES_MAX = 262_144

export interface ContainerInput {
  readonly launch: TaskLaunch
  readonly config: DockerConfig
  readonly policy: DockerPolicy
  readonly settings: DockerSettings
  /** Number of cores of the machine. */
  readonly coreCount: number
  /** `host:container[:options]`, checked. */
  readonly binds: readonly string[]
  /** Names of the runtimes of the engine. */
  readonly runtimes: readonly string[]
  /**
   * Container through which the allocation network is joined; undefined: the engine joins
   * namespaces by path.
   */
  readonly networkContainer: string | undefined
  /** ID of this agent at the engine. */
  readonly agentId: string
}

/** Body of the engine's `create` call. The engine validates the rest. */
export function containerSpec(input: ContainerInput): Readonly<Record<string, unknown>> {
  const { launch, config } = input
  const { process, network } = config
  const isShared = sharesNetwork(input)
  if (isShared) rejectContainerNetworkSettings(config)
  const requestedPorts = publishedPorts(launch.network.ports, config)
  // Ports of the machine are already forwarded to the allocation.
  const ports = isShared ? [] : requestedPorts
  const command = process.command === undefined ? process.args : [process.command, ...process.args]
  return {
    Image: canonicalImageName(config.image),
    ...(process.entrypoint === undefined ? {} : { Entrypoint: process.entrypoint }),
    ...(command.length === 0 ? {} : { Cmd: command }),
    Env: Object.entries(launch.env).map(([name, value]) => `${name}=${value}`),
    User: launch.user,
    ...(process.workDir === undefined ? {} : { WorkingDir: process.workDir }),
    ...(isShared ? {} : hostnameField(input)),
    ...(network.mac === undefined ? {} : { MacAddress: network.mac }),
    Tty: process.tty,
    OpenStdin: process.interactive,
    Labels: {
      ...config.labels,
      ...optionalLabels(launch, input.settings.extraLabels),
      [HANDLE_LABEL]: launch.handle.id,
      [ALLOCATION_LABEL]: launch.handle.allocationId,
      [TASK_LABEL]: launch.handle.task,
      [AGENT_LABEL]: input.agentId,
    },
    ExposedPorts: Object.fromEntries(ports.map(({ containerPort }) => [containerPort, {}])),
    ...(config.isHealthcheckDisabled ? { Healthcheck: { Test: ['NONE'] } } : {}),
    HostConfig: hostConfig(input, ports),
    ...networkingConfig(input),
  }
}

/** Optional labels of the node settings; a task cannot set labels of another job. */
function optionalLabels(
  { handle, identity }: TaskLaunch,
  patterns: readonly string[],
): Readonly<Record<string, string>> {
  const values: Readonly<Record<string, string>> = {
    job_id: identity.jobId,
    job_name: identity.jobName,
    task_group_name: identity.group,
    task_name: handle.task,
    namespace: identity.namespace,
    node_id: identity.nodeId,
    node_name: identity.nodeName,
    short_alloc_id: handle.allocationId.slice(0, 8),
  }
  const selected = Object.entries(values).filter(([name]) => {
    return patterns.some((pattern) => matchGlob(pattern, name))
  })
  return Object.fromEntries(selected.map(([name, value]) => [`${LABEL_PREFIX}${name}`, value]))
}

function hostnameField({ launch, config }: ContainerInput): { readonly Hostname?: string } {
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
  const caps = grantedCapabilities({
    defaults: DEFAULT_CAPS,
    add: rights.capAdd,
    drop: rights.capDrop,
    allowed: policy.allowCaps,
  })
  return {
    NetworkMode: networkModeOf(input),
    PortBindings: portBindings(ports),
    ...(sharesNetwork(input) ? {} : dnsFields(input)),
    ...memoryFields(input),
    ...cpuFields(input),
    // Engines differ in the meaning of 0.
    PidsLimit: (limits.pidsMax ?? policy.pidsMax) || -1,
    ...(limits.oomScoreAdj === undefined ? {} : { OomScoreAdj: limits.oomScoreAdj }),
    Ulimits: parseUlimits(limits.ulimits),
    Sysctls: limits.sysctls,
    Privileged: rights.isPrivileged,
    ReadonlyRootfs: rights.isRootFilesystemReadOnly,
    ...(rights.isPrivileged
      ? {}
      : { CapDrop: ['ALL'], CapAdd: caps.map((name) => `CAP_${name.toUpperCase()}`) }),
    SecurityOpt: securityOptions(input),
    Init: config.process.init,
    GroupAdd: config.process.groupAdd,
    ...stringFieldIfSet('Runtime', runtimeOf(input)),
    ...stringFieldIfSet('IpcMode', namespaces.ipc),
    ...stringFieldIfSet('PidMode', namespaces.pid),
    ...stringFieldIfSet('UTSMode', namespaces.uts),
    ...stringFieldIfSet('UsernsMode', namespaces.userns),
    ...stringFieldIfSet('CgroupnsMode', namespaces.cgroupns),
    Binds: bindMountsOf(input),
    Mounts: storage.mounts.map(toMountBody),
    Devices: storage.devices.map((device) => ({
      PathOnHost: device.hostPath,
      PathInContainer: device.containerPath,
      CgroupPermissions: device.permissions,
    })),
    ...(storage.shmBytes === undefined ? {} : { ShmSize: storage.shmBytes }),
    ...stringFieldIfSet('VolumeDriver', storage.volumeDriver),
    ...(Object.keys(storage.options).length === 0 ? {} : { StorageOpt: storage.options }),
    LogConfig: logConfigOf(input),
    // The agent implements the restart policy.
    RestartPolicy: { Name: 'no' },
  }
}

function stringFieldIfSet(
  name: string,
  value: string | undefined,
): Readonly<Record<string, string>> {
  return value === undefined || value === '' ? {} : { [name]: value }
}

/** Variable of the NVIDIA runtime, and its values that select no device. */
const NVIDIA_VARIABLE = 'NVIDIA_VISIBLE_DEVICES'
const NO_DEVICE_VALUES: ReadonlySet<string> = new Set(['', 'none', 'void'])

function runtimeOf({ launch, config, settings, runtimes }: ContainerInput): string | undefined {
  const { runtime } = config.rights
  if (runtime !== undefined && runtime !== '') return runtime
  if (NO_DEVICE_VALUES.has(launch.env[NVIDIA_VARIABLE] ?? '')) return undefined
  const { nvidiaRuntime } = settings
  if (runtimes.includes(nvidiaRuntime)) return nvidiaRuntime
  throw new Fault(
    'task-unstartable',
    `${NVIDIA_VARIABLE} asks for devices, and the container engine has no runtime ` +
      `${JSON.stringify(nvidiaRuntime)} (nvidia_runtime)`,
  )
}

/**
 * The SELinux label of the node applies to files of the allocation; host volumes belong to the
 * operator.
 */
function bindMountsOf(input: ContainerInput): readonly string[] {
  const { launch, config, settings, binds } = input
  const files = sharesNetwork(input) ? buildNetworkFiles(launch, config) : []
  const named = files.map(({ path, target }) => formatBind(path, target, false))
  const labelled = [...taskDirectoryBinds(launch), ...named, ...binds].map((bindMount) => {
    return addSelinuxLabel(bindMount, settings.selinuxLabel)
  })
  return [...labelled, ...launch.mounts.map(formatVolumeBind)]
}

/** The three directories of the task at their usual places. */
function taskDirectoryBinds({ allocDir, localDir, secretsDir }: TaskLaunch): readonly string[] {
  return [
    formatBind(allocDir, '/alloc', false),
    formatBind(localDir, '/local', false),
    formatBind(secretsDir, '/secrets', false),
  ]
}

/** Propagation under the kernel's names. */
function formatVolumeBind({ hostPath, taskPath, readOnly, propagation }: TaskMount): string {
  const bound = formatBind(hostPath, taskPath, readOnly)
  if (propagation === undefined) return bound
  return `${bound}${readOnly ? ',' : ':'}${propagation === 'bidirectional' ? 'rshared' : 'rslave'}`
}

function formatBind(hostPath: string, taskPath: string, readOnly: boolean): string {
  if (hostPath.includes(':') || taskPath.includes(':')) {
    throw new Fault('task-unstartable', `${hostPath} holds a colon, which engines cannot mount`)
  }
  return `${hostPath}:${taskPath}${readOnly ? ':ro' : ''}`
}

/** Whether the task uses the network of its allocation: no other mode was requested. */
export function isInAllocationNetwork(
  { network }: TaskLaunch,
  { network: { mode } }: DockerConfig,
): boolean {
  return (mode ?? '') === '' && network.mode !== 'none' && network.namespacePath !== undefined
}

/** Engines reject names, resolvers and ports for a container in the network of another. */
function sharesNetwork({ launch, config, networkContainer }: ContainerInput): boolean {
  return networkContainer !== undefined && isInAllocationNetwork(launch, config)
}

function networkModeOf(input: ContainerInput): string {
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
  readonly containerPort: string
  readonly hostIp: string
  readonly hostPort: number
}

function publishedPorts(assignedPorts: readonly TaskPort[], config: DockerConfig): PublishedPort[] {
  const { ports, portMap } = config.network
  const requested = [
    ...ports.map((label) => ({ label, inside: undefined })),
    ...Object.entries(portMap).map(([label, inside]) => ({ label, inside: parsePort(inside) })),
  ]
  return requested.flatMap(({ label, inside }) => {
    const port = assignedPorts.find((assigned) => assigned.label === label)
    if (port === undefined) {
      throw new Fault('task-config', `ports: no port ${JSON.stringify(label)} was granted`)
    }
    const number = inside ?? (port.to > 0 ? port.to : port.hostPort)
    const { hostIp, hostPort } = port
    return ['tcp', 'udp'].map((protocol) => ({
      containerPort: `${number}/${protocol}`,
      hostIp,
      hostPort,
    }))
  })
}

function parsePort(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw new Fault('task-config', `port_map: ${JSON.stringify(text)} is not a port`)
}

function portBindings(ports: readonly PublishedPort[]): Readonly<Record<string, unknown>> {
  const byInside = Map.groupBy(ports, ({ containerPort }) => containerPort)
  return Object.fromEntries(
    [...byInside].map(([inside, bound]) => [
      inside,
      bound.map(({ hostIp, hostPort }) => ({ HostIp: hostIp, HostPort: String(hostPort) })),
    ]),
  )
}

function dnsFields({ launch, config }: ContainerInput): Readonly<Record<string, unknown>> {
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

/** The larger value is the limit, the smaller the reservation. */
function memoryFields({ launch, config }: ContainerInput): Readonly<Record<string, unknown>> {
  const { memoryMB, memoryMaxMB } = launch.resources
  const hardLimitMB = Math.max(config.limits.memoryHardMB ?? 0, memoryMaxMB)
  const limitBytes = Math.max(hardLimitMB, memoryMB) * BYTES_PER_MB
  return {
    Memory: limitBytes,
    // Equal to the memory limit: no swap.
    MemorySwap: limitBytes,
    ...(hardLimitMB > memoryMB ? { MemoryReservation: memoryMB * BYTES_PER_MB } : {}),
  }
}

function cpuFields({
  launch,
  config,
  coreCount,
}: ContainerInput): Readonly<Record<string, unknown>> {
  const { cpuMHz, cpuFraction, cores, sharedCores = [] } = launch.resources
  const { hasHardCpuLimit, cpuPeriodUs, cpuset } = config.limits
  const period = cpuPeriodUs ?? CPU_PERIOD_US
  const quota = Math.max(CPU_QUOTA_US_MIN, Math.round(cpuFraction * coreCount * period))
  return {
    CpuShares: Math.min(CPU_SHARES_MAX, Math.max(CPU_SHARES_MIN, Math.round(cpuMHz))),
    ...(hasHardCpuLimit ? { CpuPeriod: period, CpuQuota: quota } : {}),
    ...stringFieldIfSet('CpusetCpus', cpuset ?? (cores.length > 0 ? cores : sharedCores).join(',')),
  }
}

/** Parses `nofile = "1024:4096"`: soft and hard limit; one number sets both. */
function parseUlimits(limits: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(limits).map(([name, limit]) => {
    const match = /^(-?\d{1,15})(?::(-?\d{1,15}))?$/.exec(limit)
    if (match === null) {
      throw new Fault('task-config', `ulimit ${name}: ${JSON.stringify(limit)} is not soft:hard`)
    }
    return { Name: name, Soft: Number(match[1]), Hard: Number(match[2] ?? match[1]) }
  })
}

function securityOptions({ config, settings }: ContainerInput): readonly string[] {
  const { securityOptions: requested, isPrivileged } = config.rights
  const isSetByTask = requested.some((option) => option.startsWith('no-new-privileges'))
  const isUnchanged = isSetByTask || isPrivileged || !settings.noNewPrivileges
  return isUnchanged ? requested : [...requested, 'no-new-privileges']
}

function toMountBody(mount: MountConfig): Readonly<Record<string, unknown>> {
  const { volume } = mount
  const base = {
    Type: mount.type,
    Target: mount.target,
    Source: mount.source,
    ReadOnly: mount.readOnly,
  }
  switch (mount.type) {
    case 'bind':
      return { ...base, BindOptions: { ...stringFieldIfSet('Propagation', mount.propagation) } }
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
 * Minimum size of the engine's own log, for the time without a reading agent. Some engines rotate
 * at the limit even if the log was not read, so it is generous.
 */
const ENGINE_LOG_BYTES_MIN = 32 * BYTES_PER_MB

function logConfigOf({
  launch,
  config,
  settings,
}: ContainerInput): Readonly<Record<string, unknown>> {
  const logging = effectiveLogging(config, settings)
  if (logging !== undefined) return { Type: logging.type, Config: logging.config }
  if (launch.logs === undefined) return { Type: 'none', Config: {} }
  const size = String(Math.max(ENGINE_LOG_BYTES_MIN, 2 * launch.logs.maxFileBytes))
  return { Type: 'json-file', Config: { 'max-size': size, 'max-file': '2' } }
}

/** Log settings of the task, otherwise of the node; undefined: the default. */
function effectiveLogging(
  config: DockerConfig,
  settings: DockerSettings,
): LoggingConfig | undefined {
  return config.logging ?? settings.logging
}

/** Log drivers whose output can be read back from every engine. */
const READABLE_LOG_DRIVERS: ReadonlySet<string> = new Set([
  'json-file',
  'k8s-file',
  'local',
  'journald',
])

/** Whether the agent reads the output; other log drivers send it elsewhere. */
export function isLogCollected(config: DockerConfig, settings: DockerSettings): boolean {
  const logging = effectiveLogging(config, settings)
  return settings.collectsLogs && (logging === undefined || READABLE_LOG_DRIVERS.has(logging.type))
}

/** Aliases and addresses in a user-defined network. */
function networkingConfig(input: ContainerInput): Readonly<Record<string, unknown>> {
  const { aliases, ipv4, ipv6, mode } = input.config.network
  if (aliases.length === 0 && ipv4 === undefined && ipv6 === undefined) return {}
  const address = {
    ...stringFieldIfSet('IPv4Address', ipv4),
    ...stringFieldIfSet('IPv6Address', ipv6),
  }
  const endpoint = {
    Aliases: aliases,
    ...(Object.keys(address).length === 0 ? {} : { IPAMConfig: address }),
  }
  return { NetworkingConfig: { EndpointsConfig: { [mode ?? 'bridge']: endpoint } } }
}
