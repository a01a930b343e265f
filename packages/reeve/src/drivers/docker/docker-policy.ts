import { Fault } from '@reeve/kit/fault.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import type { DockerConfig, LoggingConfig } from './docker-config.ts'

/** Permissions and limits of containers on this node. */
export interface DockerPolicy {
  /** Privileged containers, raw devices, and disabled protections. */
  readonly allowPrivileged: boolean
  /** Host paths outside the allocation, and volumes of the engine. */
  readonly allowVolumes: boolean
  /** PID and other namespaces of the host, or the network of another container. */
  readonly allowHostNamespaces: boolean
  /** Linux capabilities that tasks may have; `all` allows any. */
  readonly allowCaps: readonly string[]
  /** Maximum number of processes; 0 for no limit. */
  readonly pidsMax: number
}

/** What the driver removes from the engine after its last use. */
export interface DockerGc {
  /** Images that tasks of this agent used, if no allocation of the node needs them. */
  readonly removesImages: boolean
  readonly imageDelayMs: number
  /** Containers of ended tasks. */
  readonly removesContainers: boolean
  /** Containers of this agent without an allocation. */
  readonly dangling: {
    readonly isEnabled: boolean
    /** Only log the containers, without removing them. */
    readonly isDryRun: boolean
    readonly periodMs: number
    /** Minimum age of removed containers. */
    readonly graceMs: number
  }
}

export const DEFAULT_GC: DockerGc = {
  removesImages: true,
  imageDelayMs: 3 * 60_000,
  removesContainers: true,
  dangling: { isEnabled: true, isDryRun: false, periodMs: 5 * 60_000, graceMs: 5 * 60_000 },
}

interface PolicyRequirement {
  readonly field: string
  readonly isRequested: boolean
  readonly isAllowed: boolean
}

/**
 * Checks settings that would give a container control over the host. Fault `task-config` names the
 * first one that the node does not allow.
 */
export function requireAllowedByPolicy(
  config: DockerConfig,
  policy: DockerPolicy,
  settings: DockerSettings,
): void {
  const requirements = [
    ...privilegeRequirements(config, policy, settings),
    ...namespaceRequirements(config, policy),
  ]
  const denied = requirements.find(
    (requirement) => requirement.isRequested && !requirement.isAllowed,
  )
  const isHostNetworkDenied = config.network.mode === 'host' && !settings.allowHostNetwork
  const field = isHostNetworkDenied ? 'network_mode "host"' : denied?.field
  if (field !== undefined) throw new Fault('task-config', `${field} is not allowed on this node`)
}

function privilegeRequirements(
  { rights, storage, limits }: DockerConfig,
  { allowPrivileged, allowVolumes, pidsMax }: DockerPolicy,
  { allowRuntimes, noNewPrivileges }: DockerSettings,
): PolicyRequirement[] {
  return [
    { field: 'privileged', isRequested: rights.isPrivileged, isAllowed: allowPrivileged },
    { field: 'devices', isRequested: storage.devices.length > 0, isAllowed: allowPrivileged },
    {
      field: 'security_opt',
      isRequested: rights.securityOptions.some((option) => {
        return (
          !enablesNoNewPrivileges(option) && (noNewPrivileges || !isNoNewPrivilegesOption(option))
        )
      }),
      isAllowed: allowPrivileged,
    },
    {
      field: 'volume_driver',
      isRequested: storage.volumeDriver !== undefined,
      isAllowed: allowVolumes,
    },
    {
      field: 'mount of the type volume',
      isRequested: storage.mounts.some((mount) => mount.type === 'volume'),
      isAllowed: allowVolumes,
    },
    {
      field: `runtime ${JSON.stringify(rights.runtime ?? '')} (allow_runtimes)`,
      isRequested: rights.runtime !== undefined && rights.runtime !== '',
      isAllowed: allowRuntimes.some((pattern) => matchGlob(pattern, rights.runtime ?? '')),
    },
    {
      field: `pids_limit over ${pidsMax}`,
      isRequested:
        limits.pidsMax !== undefined && (limits.pidsMax > pidsMax || limits.pidsMax === 0),
      isAllowed: pidsMax === 0,
    },
  ]
}

function namespaceRequirements(
  { rights, network }: DockerConfig,
  policy: DockerPolicy,
): PolicyRequirement[] {
  // The host network has a setting of its own, because tasks of other drivers use it too.
  const networkMode = network.mode === 'host' ? undefined : network.mode
  const modes = { network_mode: networkMode, ...namespaceModes(rights.namespaces) }
  return Object.entries(modes).map(([field, mode]) => ({
    field: `${field} ${JSON.stringify(mode ?? '')}`,
    isRequested: isHostOrShared(mode),
    isAllowed: policy.allowHostNamespaces,
  }))
}

function namespaceModes(
  namespaces: DockerConfig['rights']['namespaces'],
): Readonly<Record<string, string | undefined>> {
  const { ipc, pid, uts, userns, cgroupns } = namespaces
  return { ipc_mode: ipc, pid_mode: pid, uts_mode: uts, userns_mode: userns, cgroupns }
}

/** Reports whether a mode joins a namespace of the host, of another container, or by path. */
function isHostOrShared(mode: string | undefined): boolean {
  return mode === 'host' || /^(container|ns):/.test(mode ?? '')
}

function isNoNewPrivilegesOption(option: string): boolean {
  return /^no-new-privileges([:=](true|false))?$/.test(option)
}

function enablesNoNewPrivileges(option: string): boolean {
  return /^no-new-privileges([:=]true)?$/.test(option)
}

/** Settings of the driver on this node, except the permissions of containers (`DockerPolicy`). */
export interface DockerSettings {
  /** Pulls without progress for this long are aborted. */
  readonly pullActivityMs: number
  /** Suffix of the credential helper `docker-credential-<name>`; empty for none. */
  readonly authHelper: string
  /** Names of additional container labels; `*` matches any characters. */
  readonly extraLabels: readonly string[]
  /** Log driver of tasks without log settings. */
  readonly logging: LoggingConfig | undefined
  /** Whether the agent copies the output of containers to the logs of the allocation. */
  readonly collectsLogs: boolean
  /** Whether containers may use the network of the host, as tasks of other drivers do. */
  readonly allowHostNetwork: boolean
  /** Runtimes that tasks may select; `*` matches any characters. */
  readonly allowRuntimes: readonly string[]
  /** Runtime of tasks that request NVIDIA devices. */
  readonly nvidiaRuntime: string
  /** Sets `no_new_privs`: setuid programs gain no privileges. */
  readonly noNewPrivileges: boolean
  /** SELinux label mode (`z` or `Z`) of allocation files; empty for none. */
  readonly selinuxLabel: '' | 'z' | 'Z'
  /** Image of pause containers; empty for the built-in one. */
  readonly infraImage: string
  readonly infraPullTimeoutMs: number
}

export const DEFAULT_DOCKER_SETTINGS: DockerSettings = {
  pullActivityMs: 2 * 60_000,
  authHelper: '',
  extraLabels: [],
  logging: undefined,
  collectsLogs: true,
  allowHostNetwork: true,
  allowRuntimes: ['runc', 'nvidia'],
  nvidiaRuntime: 'nvidia',
  noNewPrivileges: true,
  selinuxLabel: '',
  infraImage: '',
  infraPullTimeoutMs: 5 * 60_000,
}

/** Limits and timeouts of pulls, registry logins and pause containers. */
export const DOCKER_LIMITS = {
  /**
   * Maximum length of a progress line; longer ones are dropped. Usual ones have a few hundred
   * bytes.
   */
  progressLineCharsMax: 64 * 1024,
  /** Maximum number of layers whose progress is tracked. Engines support at most 127. */
  layersMax: 256,
  /** Delay of the second progress report; later delays double. */
  pullReportInitialDelayMs: 10_000,
  /** Maximum delay between progress reports: only the latest ten events of a task are kept. */
  pullReportMaxDelayMs: 10 * 60_000,
  /** Timeout of a credential helper: some call a cloud service. */
  credentialHelperTimeoutMs: 30_000,
  /** Maximum output of a credential helper; a login has a few kilobytes at most. */
  credentialHelperOutputBytesMax: 64 * 1024,
  /** Timeout for loading an archive. */
  imageLoadTimeoutMs: 10 * 60_000,
  /** Maximum length of messages from registries and helpers. */
  externalTextCharsMax: 1_000,
  /** Process limit of a pause container; engines briefly count helpers of their own. */
  pausePidsMax: 16,
  /** Timeout for a pause container to join its namespace. */
  pauseJoinTimeoutMs: 10_000,
  pauseJoinPollIntervalMs: 10,
} as const
