import type { LoggingConfig } from './docker-config.ts'

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
