import { type ConfigFieldDocs, ConfigReader } from '../config-reader.ts'
import { parseImageReference, type ImageReference } from './image-reference.ts'

/** A task's `Config` for containers. */
export interface DockerConfig {
  readonly image: ImageReference
  readonly process: ProcessConfig
  readonly pull: PullConfig
  readonly network: NetworkConfig
  readonly storage: StorageConfig
  readonly limits: LimitConfig
  readonly rights: PrivilegeConfig
  readonly labels: Readonly<Record<string, string>>
  /** The engine's own log settings, in place of ours. */
  readonly logging: LoggingConfig | undefined
  readonly isHealthcheckDisabled: boolean
}

export interface LoggingConfig {
  /** The name of a log driver of the engine. */
  readonly type: string
  readonly config: Readonly<Record<string, string>>
}

interface ProcessConfig {
  readonly entrypoint: readonly string[] | undefined
  readonly command: string | undefined
  readonly args: readonly string[]
  readonly workDir: string | undefined
  readonly hostname: string | undefined
  readonly init: boolean
  readonly interactive: boolean
  readonly tty: boolean
  readonly groupAdd: readonly string[]
}

interface PullConfig {
  /** A tar archive in the task's directory that holds the image. */
  readonly load: string | undefined
  readonly isForced: boolean
  readonly timeoutMs: number
  readonly auth: RegistryAuth | undefined
  /** A refused login is followed by a try without one. */
  readonly isAuthSoft: boolean
}

export interface RegistryAuth {
  readonly username: string
  readonly password: string
  readonly email: string
  readonly serverAddress: string
  /** In place of name and password, for registries that gave one out; empty: none. */
  readonly identityToken: string
}

interface NetworkConfig {
  readonly mode: string | undefined
  readonly ports: readonly string[]
  /** The older form: ports inside, by label. */
  readonly portMap: Readonly<Record<string, string>>
  readonly aliases: readonly string[]
  readonly ipv4: string | undefined
  readonly ipv6: string | undefined
  readonly mac: string | undefined
  readonly isIpv6Advertised: boolean
  readonly extraHosts: readonly string[]
  readonly dnsServers: readonly string[] | undefined
  readonly dnsSearches: readonly string[] | undefined
  readonly dnsOptions: readonly string[] | undefined
}

interface StorageConfig {
  readonly volumes: readonly string[]
  readonly volumeDriver: string | undefined
  readonly mounts: readonly MountConfig[]
  readonly devices: readonly DeviceConfig[]
  readonly shmBytes: number | undefined
  readonly options: Readonly<Record<string, string>>
}

export interface MountConfig {
  readonly type: 'bind' | 'volume' | 'tmpfs'
  readonly target: string
  readonly source: string
  readonly readOnly: boolean
  readonly propagation: string | undefined
  readonly tmpfsBytes: number | undefined
  readonly tmpfsMode: number | undefined
  readonly volume: {
    readonly noCopy: boolean
    readonly labels: Readonly<Record<string, string>>
    readonly driver: string
    readonly driverOptions: Readonly<Record<string, string>>
  }
}

interface DeviceConfig {
  readonly hostPath: string
  readonly containerPath: string
  readonly permissions: string
}

interface LimitConfig {
  readonly hasHardCpuLimit: boolean
  readonly cpuPeriodUs: number | undefined
  readonly cpuset: string | undefined
  readonly memoryHardMB: number | undefined
  readonly pidsMax: number | undefined
  readonly oomScoreAdj: number | undefined
  readonly ulimits: Readonly<Record<string, string>>
  readonly sysctls: Readonly<Record<string, string>>
}

interface PrivilegeConfig {
  readonly capAdd: readonly string[]
  readonly capDrop: readonly string[]
  readonly isPrivileged: boolean
  readonly isRootFilesystemReadOnly: boolean
  readonly securityOptions: readonly string[]
  readonly runtime: string | undefined
  readonly namespaces: Readonly<
    Record<'ipc' | 'pid' | 'uts' | 'userns' | 'cgroupns', string | undefined>
  >
}

const DEFAULT_PULL_TIMEOUT_MS = 5 * 60_000
const DEFAULT_LOG_DRIVER = 'json-file'
const MEMORY_HARD_LIMIT_MAX_MB = 2 ** 30
const EXISTS_ATTEMPTS_MAX = 100

/** Fault `task-config` names what is wrong. What the node allows is decided elsewhere. */
export function readDockerConfig(config: Readonly<Record<string, unknown>>): DockerConfig {
  const reader = new ConfigReader(config, {
    owner: 'docker',
    known: Object.keys(CONTAINER_SETTINGS),
  })
  if (reader.string('isolation') !== undefined) {
    throw reader.fault('isolation', 'is for another operating system')
  }
  // Names are made anew for each start, so an old container is never in the way; accepted for
  // jobs that were written for engines where it was.
  reader.integer('container_exists_attempts', { min: 0, max: EXISTS_ATTEMPTS_MAX })
  const logging = reader.block('logging', ['type', 'driver', 'config'])
  const health = reader.block('healthchecks', ['disable'])
  return {
    image: parseImageReference(reader.requiredString('image')),
    process: readProcess(reader),
    pull: readPull(reader),
    network: readNetwork(reader),
    storage: readStorage(reader),
    limits: readLimits(reader),
    rights: readPrivileges(reader),
    labels: reader.map('labels'),
    logging:
      logging === undefined
        ? undefined
        : {
            type: logging.string('type') || logging.string('driver') || DEFAULT_LOG_DRIVER,
            config: logging.map('config'),
          },
    isHealthcheckDisabled: health?.bool('disable') ?? false,
  }
}

function readProcess(reader: ConfigReader): ProcessConfig {
  return {
    entrypoint: reader.strings('entrypoint'),
    command: reader.string('command'),
    args: reader.strings('args') ?? [],
    workDir: reader.string('work_dir'),
    hostname: reader.string('hostname'),
    init: reader.bool('init') ?? false,
    interactive: reader.bool('interactive') ?? false,
    tty: reader.bool('tty') ?? false,
    groupAdd: reader.strings('group_add') ?? [],
  }
}

function readPull(reader: ConfigReader): PullConfig {
  const auth = reader.block('auth', ['username', 'password', 'email', 'server_address'])
  return {
    load: reader.string('load'),
    isForced: reader.bool('force_pull') ?? false,
    timeoutMs: reader.durationMs('image_pull_timeout') ?? DEFAULT_PULL_TIMEOUT_MS,
    auth:
      auth === undefined
        ? undefined
        : {
            username: auth.string('username') ?? '',
            password: auth.string('password') ?? '',
            email: auth.string('email') ?? '',
            serverAddress: auth.string('server_address') ?? '',
            identityToken: '',
          },
    isAuthSoft: reader.bool('auth_soft_fail') ?? false,
  }
}

function readNetwork(reader: ConfigReader): NetworkConfig {
  return {
    mode: reader.string('network_mode'),
    ports: reader.strings('ports') ?? [],
    portMap: reader.map('port_map'),
    aliases: reader.strings('network_aliases') ?? [],
    ipv4: reader.string('ipv4_address'),
    ipv6: reader.string('ipv6_address'),
    mac: reader.string('mac_address'),
    isIpv6Advertised: reader.bool('advertise_ipv6_address') ?? false,
    extraHosts: reader.strings('extra_hosts') ?? [],
    dnsServers: reader.strings('dns_servers'),
    dnsSearches: reader.strings('dns_search_domains'),
    dnsOptions: reader.strings('dns_options'),
  }
}

const MOUNT_FIELDS = 'type target source readonly bind_options tmpfs_options volume_options'.split(
  ' ',
)

function readStorage(reader: ConfigReader): StorageConfig {
  const devices = reader.blocks('devices', ['host_path', 'container_path', 'cgroup_permissions'])
  const mounts = [...reader.blocks('mount', MOUNT_FIELDS), ...reader.blocks('mounts', MOUNT_FIELDS)]
  return {
    volumes: reader.strings('volumes') ?? [],
    volumeDriver: reader.string('volume_driver'),
    mounts: mounts.map(readMount),
    devices: devices.map((device) => {
      const hostPath = device.requiredString('host_path')
      return {
        hostPath,
        containerPath: device.string('container_path') ?? hostPath,
        permissions: device.string('cgroup_permissions') ?? 'rwm',
      }
    }),
    shmBytes: reader.integer('shm_size', { min: 1, max: 2 ** 50 }),
    options: reader.map('storage_opt'),
  }
}

function readMount(mount: ConfigReader): MountConfig {
  const bind = mount.block('bind_options', ['propagation'])
  const tmpfs = mount.block('tmpfs_options', ['size', 'mode'])
  const volume = mount.block('volume_options', ['no_copy', 'labels', 'driver_config'])
  const driver = volume?.block('driver_config', ['name', 'options'])
  return {
    type: mount.oneOf('type', ['bind', 'volume', 'tmpfs']) ?? 'volume',
    target: mount.requiredString('target'),
    source: mount.string('source') ?? '',
    readOnly: mount.bool('readonly') ?? false,
    propagation: bind?.oneOf('propagation', [
      'private',
      'rprivate',
      'slave',
      'rslave',
      'shared',
      'rshared',
    ]),
    tmpfsBytes: tmpfs?.integer('size', { min: 0, max: 2 ** 50 }),
    tmpfsMode: tmpfs?.integer('mode', { min: 0, max: 0o7777 }),
    volume: {
      noCopy: volume?.bool('no_copy') ?? false,
      labels: volume?.map('labels') ?? {},
      driver: driver?.string('name') ?? '',
      driverOptions: driver?.map('options') ?? {},
    },
  }
}

function readLimits(reader: ConfigReader): LimitConfig {
  return {
    hasHardCpuLimit: reader.bool('cpu_hard_limit') ?? false,
    // The kernel's own bounds.
    cpuPeriodUs: reader.integer('cpu_cfs_period', { min: 1_000, max: 1_000_000 }),
    cpuset: reader.string('cpuset_cpus'),
    memoryHardMB: reader.integer('memory_hard_limit', { min: 0, max: MEMORY_HARD_LIMIT_MAX_MB }),
    pidsMax: reader.integer('pids_limit', { min: 0, max: 2 ** 22 }),
    oomScoreAdj: reader.integer('oom_score_adj', { min: 0, max: 1_000 }),
    ulimits: reader.map('ulimit'),
    sysctls: reader.map('sysctl'),
  }
}

function readPrivileges(reader: ConfigReader): PrivilegeConfig {
  return {
    capAdd: reader.strings('cap_add') ?? [],
    capDrop: reader.strings('cap_drop') ?? [],
    isPrivileged: reader.bool('privileged') ?? false,
    isRootFilesystemReadOnly: reader.bool('readonly_rootfs') ?? false,
    securityOptions: reader.strings('security_opt') ?? [],
    runtime: reader.string('runtime'),
    namespaces: {
      ipc: reader.string('ipc_mode'),
      pid: reader.string('pid_mode'),
      uts: reader.string('uts_mode'),
      userns: reader.string('userns_mode'),
      cgroupns: reader.oneOf('cgroupns', ['host', 'private']),
    },
  }
}

/** What `config` of a container may have. */
export const CONTAINER_SETTINGS = {
  image: ['string', 'Required. The image, such as `registry.example/shop:1.4`.'],
  command: ['string', 'Command of the container, in place of that of the image.'],
  args: ['list(string)', 'Arguments of the command.'],
  entrypoint: ['list(string)', 'Entrypoint, in place of that of the image.'],
  work_dir: ['string', 'Working directory, in place of that of the image.'],
  hostname: ['string', 'Host name inside the container.'],
  init: ['bool', 'Runs an init process that reaps children.'],
  interactive: ['bool', 'Keeps standard input open.'],
  tty: ['bool', 'Allocates a terminal.'],
  group_add: ['list(string)', 'Supplementary groups.'],
  load: ['string', 'Image archive (tar) in the task directory, in place of a registry.'],
  force_pull: ['bool', 'Pulls the image even if the node has it.'],
  image_pull_timeout: ['duration', 'Timeout of the whole pull. Defaults to `5m`.'],
  auth: [
    'block',
    'Credentials of the registry: `username`, `password`, `email`, `server_address`.',
  ],
  auth_soft_fail: ['bool', 'Pulls anonymously after a rejected login.'],
  network_mode: ['string', 'Network of the container, in place of that of the group.'],
  ports: ['list(string)', 'Labels of ports of the group that are published.'],
  port_map: ['map(string)', 'Ports inside the container by label. Use `to` of `port` instead.'],
  network_aliases: ['list(string)', 'Further names in a network of the engine.'],
  ipv4_address: ['string', 'Address in a network of the engine.'],
  ipv6_address: ['string', 'IPv6 address in a network of the engine.'],
  mac_address: ['string', 'MAC address.'],
  advertise_ipv6_address: ['bool', 'Registers services with the IPv6 address.'],
  extra_hosts: ['list(string)', 'Lines of `/etc/hosts` as `name:address`.'],
  dns_servers: ['list(string)', 'Name servers.'],
  dns_options: ['list(string)', 'Options of the resolver.'],
  dns_search_domains: ['list(string)', 'Search domains.'],
  volumes: ['list(string)', 'Mounts as `source:target:options`, see [volumes](#volumes).'],
  volume_driver: ['string', 'Driver of the engine for named volumes.'],
  mount: [
    'block',
    'A mount: `type` (`bind`, `volume`, `tmpfs`), `target`, `source`, `readonly`, and the blocks ' +
      '`bind_options` (`propagation`), `tmpfs_options` (`size`, `mode`) and `volume_options` ' +
      '(`no_copy`, `labels`, `driver_config`). Repeatable.',
  ],
  mounts: ['list(object)', 'The same as a list.'],
  devices: [
    'list(object)',
    'Devices of the node: `host_path`, `container_path`, `cgroup_permissions`.',
  ],
  shm_size: ['number', 'Size of `/dev/shm` in bytes.'],
  storage_opt: ['map(string)', 'Options of the storage driver.'],
  cpu_hard_limit: ['bool', 'Limits the CPU time to `resources.cpu`.'],
  cpu_cfs_period: ['number', 'Period of that limit in microseconds.'],
  cpuset_cpus: ['string', 'Cores, such as `0-3`.'],
  memory_hard_limit: ['number', 'Memory limit in MB; `resources.memory` is then what is reserved.'],
  pids_limit: ['number', 'Processes and threads.'],
  oom_score_adj: ['number', 'Preference of the kernel when memory runs out, from 0 to 1000.'],
  ulimit: ['map(string)', 'Resource limits as `soft:hard`, such as `nofile = "2048:4096"`.'],
  sysctl: ['map(string)', 'Kernel parameters of the container.'],
  cap_add: ['list(string)', 'Capabilities to add, limited by `allow_caps` of the node.'],
  cap_drop: ['list(string)', 'Capabilities to drop.'],
  privileged: ['bool', 'All rights on the node, if the node allows it.'],
  readonly_rootfs: ['bool', 'Makes the root file system read-only.'],
  security_opt: ['list(string)', 'Security options of the engine.'],
  runtime: ['string', 'Runtime, one of `allow_runtimes` of the node.'],
  ipc_mode: ['string', 'IPC namespace.'],
  pid_mode: ['string', 'PID namespace.'],
  uts_mode: ['string', 'UTS namespace.'],
  userns_mode: ['string', 'User namespace.'],
  cgroupns: ['string', 'Control group namespace: `host` or `private`.'],
  labels: ['map(string)', 'Labels of the container.'],
  logging: [
    'block',
    'Log driver of the engine: `type` and `config`, see [container logs](#container-logs).',
  ],
  healthchecks: ['block', '`disable` turns off the health check of the image.'],
  isolation: ['string', 'Rejected: it is for another operating system.'],
  container_exists_attempts: ['number', 'Accepted and ignored: names are never reused.'],
} as const satisfies ConfigFieldDocs
