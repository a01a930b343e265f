import { Fault } from '@reeve/kit/fault.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import type { DockerConfig } from './docker-config.ts'
import type { DockerSettings } from './docker-settings.ts'

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
