import { CONTAINER_SETTINGS } from './container-settings.ts'
import { TaskSettings } from '../settings/task-settings.ts'
import { parseImageReference, type ImageReference } from './image-reference.ts'

/** A task's `Config` for containers. */
export interface DockerConfig {
  readonly image: ImageReference
  readonly process: ProcessConfig
  readonly pull: PullConfig
  readonly network: NetworkConfig
  readonly storage: StorageConfig
  readonly limits: LimitConfig
  readonly rights: RightsConfig
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
  readonly isCpuHard: boolean
  readonly cpuPeriodUs: number | undefined
  readonly cpuset: string | undefined
  readonly memoryHardMB: number | undefined
  readonly pids: number | undefined
  readonly oomScoreAdj: number | undefined
  readonly ulimits: Readonly<Record<string, string>>
  readonly sysctls: Readonly<Record<string, string>>
}

interface RightsConfig {
  readonly capAdd: readonly string[]
  readonly capDrop: readonly string[]
  readonly isPrivileged: boolean
  readonly isRootReadOnly: boolean
  readonly securityOptions: readonly string[]
  readonly runtime: string | undefined
  readonly namespaces: Readonly<
    Record<'ipc' | 'pid' | 'uts' | 'userns' | 'cgroupns', string | undefined>
  >
}

const PULL_MS = 5 * 60_000
const DEFAULT_LOG_DRIVER = 'json-file'
const MEMORY_MB_MAX = 2 ** 30
const TIMES_MAX = 100

/** Fault `task-config` names what is wrong. What the node allows is decided elsewhere. */
export function readDockerConfig(config: Readonly<Record<string, unknown>>): DockerConfig {
  const settings = new TaskSettings(config, {
    of: 'docker',
    known: Object.keys(CONTAINER_SETTINGS),
  })
  if (settings.text('isolation') !== undefined) {
    throw settings.refuse('isolation', 'is for another operating system')
  }
  // Names are made anew for each start, so an old container is never in the way; accepted for
  // jobs that were written for engines where it was.
  settings.integer('container_exists_attempts', { min: 0, max: TIMES_MAX })
  const logging = settings.block('logging', ['type', 'driver', 'config'])
  const health = settings.block('healthchecks', ['disable'])
  return {
    image: parseImageReference(settings.requiredText('image')),
    process: readProcess(settings),
    pull: readPull(settings),
    network: readNetwork(settings),
    storage: readStorage(settings),
    limits: readLimits(settings),
    rights: readRights(settings),
    labels: settings.map('labels'),
    logging:
      logging === undefined
        ? undefined
        : {
            type: logging.text('type') || logging.text('driver') || DEFAULT_LOG_DRIVER,
            config: logging.map('config'),
          },
    isHealthcheckDisabled: health?.bool('disable') ?? false,
  }
}

function readProcess(settings: TaskSettings): ProcessConfig {
  return {
    entrypoint: settings.texts('entrypoint'),
    command: settings.text('command'),
    args: settings.texts('args') ?? [],
    workDir: settings.text('work_dir'),
    hostname: settings.text('hostname'),
    init: settings.bool('init') ?? false,
    interactive: settings.bool('interactive') ?? false,
    tty: settings.bool('tty') ?? false,
    groupAdd: settings.texts('group_add') ?? [],
  }
}

function readPull(settings: TaskSettings): PullConfig {
  const auth = settings.block('auth', ['username', 'password', 'email', 'server_address'])
  return {
    load: settings.text('load'),
    isForced: settings.bool('force_pull') ?? false,
    timeoutMs: settings.durationMs('image_pull_timeout') ?? PULL_MS,
    auth:
      auth === undefined
        ? undefined
        : {
            username: auth.text('username') ?? '',
            password: auth.text('password') ?? '',
            email: auth.text('email') ?? '',
            serverAddress: auth.text('server_address') ?? '',
            identityToken: '',
          },
    isAuthSoft: settings.bool('auth_soft_fail') ?? false,
  }
}

function readNetwork(settings: TaskSettings): NetworkConfig {
  return {
    mode: settings.text('network_mode'),
    ports: settings.texts('ports') ?? [],
    portMap: settings.map('port_map'),
    aliases: settings.texts('network_aliases') ?? [],
    ipv4: settings.text('ipv4_address'),
    ipv6: settings.text('ipv6_address'),
    mac: settings.text('mac_address'),
    isIpv6Advertised: settings.bool('advertise_ipv6_address') ?? false,
    extraHosts: settings.texts('extra_hosts') ?? [],
    dnsServers: settings.texts('dns_servers'),
    dnsSearches: settings.texts('dns_search_domains'),
    dnsOptions: settings.texts('dns_options'),
  }
}

const MOUNT_FIELDS = 'type target source readonly bind_options tmpfs_options volume_options'.split(
  ' ',
)

function readStorage(settings: TaskSettings): StorageConfig {
  const devices = settings.blocks('devices', ['host_path', 'container_path', 'cgroup_permissions'])
  const mounts = [
    ...settings.blocks('mount', MOUNT_FIELDS),
    ...settings.blocks('mounts', MOUNT_FIELDS),
  ]
  return {
    volumes: settings.texts('volumes') ?? [],
    volumeDriver: settings.text('volume_driver'),
    mounts: mounts.map(readMount),
    devices: devices.map((device) => {
      const hostPath = device.requiredText('host_path')
      return {
        hostPath,
        containerPath: device.text('container_path') ?? hostPath,
        permissions: device.text('cgroup_permissions') ?? 'rwm',
      }
    }),
    shmBytes: settings.integer('shm_size', { min: 1, max: 2 ** 50 }),
    options: settings.map('storage_opt'),
  }
}

function readMount(mount: TaskSettings): MountConfig {
  const bind = mount.block('bind_options', ['propagation'])
  const tmpfs = mount.block('tmpfs_options', ['size', 'mode'])
  const volume = mount.block('volume_options', ['no_copy', 'labels', 'driver_config'])
  const driver = volume?.block('driver_config', ['name', 'options'])
  return {
    type: mount.oneOf('type', ['bind', 'volume', 'tmpfs']) ?? 'volume',
    target: mount.requiredText('target'),
    source: mount.text('source') ?? '',
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
      driver: driver?.text('name') ?? '',
      driverOptions: driver?.map('options') ?? {},
    },
  }
}

function readLimits(settings: TaskSettings): LimitConfig {
  return {
    isCpuHard: settings.bool('cpu_hard_limit') ?? false,
    // The kernel's own bounds.
    cpuPeriodUs: settings.integer('cpu_cfs_period', { min: 1_000, max: 1_000_000 }),
    cpuset: settings.text('cpuset_cpus'),
    memoryHardMB: settings.integer('memory_hard_limit', { min: 0, max: MEMORY_MB_MAX }),
    pids: settings.integer('pids_limit', { min: 0, max: 2 ** 22 }),
    oomScoreAdj: settings.integer('oom_score_adj', { min: 0, max: 1_000 }),
    ulimits: settings.map('ulimit'),
    sysctls: settings.map('sysctl'),
  }
}

function readRights(settings: TaskSettings): RightsConfig {
  return {
    capAdd: settings.texts('cap_add') ?? [],
    capDrop: settings.texts('cap_drop') ?? [],
    isPrivileged: settings.bool('privileged') ?? false,
    isRootReadOnly: settings.bool('readonly_rootfs') ?? false,
    securityOptions: settings.texts('security_opt') ?? [],
    runtime: settings.text('runtime'),
    namespaces: {
      ipc: settings.text('ipc_mode'),
      pid: settings.text('pid_mode'),
      uts: settings.text('uts_mode'),
      userns: settings.text('userns_mode'),
      cgroupns: settings.oneOf('cgroupns', ['host', 'private']),
    },
  }
}
