import { Fault } from '@reeve/kit/fault.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import type { DockerConfig, LoggingConfig } from './docker-config.ts'

/** What containers may do on this node. */
export interface DockerPolicy {
  /** Containers that are root on the machine, raw devices, switched-off protections. */
  readonly allowPrivileged: boolean
  /** Paths of the machine outside the allocation, and volumes of the engine. */
  readonly allowVolumes: boolean
  /** Joining the machine's process or other namespaces, or the network of another container. */
  readonly allowHostNamespaces: boolean
  /** Capabilities that tasks may have; `all` is any. */
  readonly allowCaps: readonly string[]
  /** 0: any number. */
  readonly pidsMax: number
}

/** What the driver removes from the engine once no task needs it. */
export interface DockerGc {
  /** Images that tasks of this agent ran from, when no allocation of the node needs them. */
  readonly removesImages: boolean
  readonly imageDelayMs: number
  /** The container of a task that has ended. */
  readonly removesContainers: boolean
  /** Containers of this agent that no allocation knows. */
  readonly dangling: {
    readonly isEnabled: boolean
    /** Named in the log of the agent, and left as they are. */
    readonly isDryRun: boolean
    readonly periodMs: number
    /** Younger ones are left alone. */
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
 * What a container could take over the machine with is allowed by the node or not at all. Fault
 * `task-config` names what is not allowed.
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
  // The machine's own network is what tasks of other drivers have too: it has a setting of its own.
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

/** The machine's own, another container's, or any given by path: not what the task was given. */
function isHostOrShared(mode: string | undefined): boolean {
  return mode === 'host' || /^(container|ns):/.test(mode ?? '')
}

function isNoNewPrivilegesOption(option: string): boolean {
  return /^no-new-privileges([:=](true|false))?$/.test(option)
}

function enablesNoNewPrivileges(option: string): boolean {
  return /^no-new-privileges([:=]true)?$/.test(option)
}

/** How the driver works on this node, beside what containers may do (`DockerPolicy`). */
export interface DockerSettings {
  /** A pull of which nothing is received for this long is given up. */
  readonly pullActivityMs: number
  /** `docker-credential-<name>` knows the logins of registries; empty: none does. */
  readonly authHelper: string
  /** Names of further labels of each container; `*` stands for any run of characters. */
  readonly extraLabels: readonly string[]
  /** For tasks that have no log settings of their own. */
  readonly logging: LoggingConfig | undefined
  /** Whether the agent copies the output of containers to the logs of the allocation. */
  readonly collectsLogs: boolean
  /** Whether containers may use the network of the machine, as tasks of other drivers do. */
  readonly allowHostNetwork: boolean
  /** Runtimes that tasks may name; `*` stands for any run of characters. */
  readonly allowRuntimes: readonly string[]
  /** The runtime of tasks that ask for NVIDIA devices. */
  readonly nvidiaRuntime: string
  /** Whether programs of containers can gain no rights by setuid. */
  readonly noNewPrivileges: boolean
  /** How SELinux labels the files of allocations for containers; empty: not at all. */
  readonly selinuxLabel: '' | 'z' | 'Z'
  /** The image of containers that hold the network of an allocation; empty: one of the agent. */
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

/** Every bound and every wait of pulls, registry logins and pause containers. */
export const DOCKER_LIMITS = {
  /** Progress is told in lines of some hundred bytes; a longer one is dropped. */
  progressLineCharsMax: 64 * 1024,
  /** Layers whose progress is counted. Engines take images of at most 127. */
  layersMax: 256,
  /** When a pull is first reported again; each pause after that is twice as long. */
  pullReportInitialDelayMs: 10_000,
  /** The longest pause between two reports: only the newest ten events of a task are kept. */
  pullReportMaxDelayMs: 10 * 60_000,
  /** How long a credential helper may take: some ask a service of the cloud. */
  credentialHelperTimeoutMs: 30_000,
  /** What a credential helper may print; a login is some kilobytes at most. */
  credentialHelperOutputBytesMax: 64 * 1024,
  /** How long an archive may take to be loaded. */
  imageLoadTimeoutMs: 10 * 60_000,
  /** What is shown of a text that a registry or a helper wrote. */
  externalTextCharsMax: 1_000,
  /** A pause container has one process; engines count their own helpers for a moment. */
  pausePidsMax: 16,
  /** How long a pause container may take from its start until it has joined a namespace. */
  pauseJoinTimeoutMs: 10_000,
  pauseJoinPollIntervalMs: 10,
} as const
