/**
 * Identifies one start of one task so that it can be found again. Created and saved by the agent
 * before the start.
 */
export interface TaskHandle {
  readonly driver: string
  /** Unique for each start: allocation, task and attempt. */
  readonly id: string
  readonly allocationId: string
  readonly task: string
  /**
   * Directory for the driver's records of this start; the driver creates it, `destroyRecords`
   * removes it.
   */
  readonly dir: string
  /** Boot ID of the machine at the start; no task survives a reboot. */
  readonly bootId: string
}

/** Identity of the task from the servers, which the task cannot change. */
export interface TaskIdentity {
  readonly namespace: string
  readonly jobId: string
  readonly jobName: string
  readonly group: string
  readonly nodeId: string
  readonly nodeName: string
}

/** Everything a driver needs for one start of one task. */
export interface TaskLaunch {
  readonly handle: TaskHandle
  readonly identity: TaskIdentity
  /** `Config` of the task, interpolated. The driver validates it. */
  readonly config: Readonly<Record<string, unknown>>
  /** The complete environment: the driver adds nothing from the agent's own. */
  readonly env: Readonly<Record<string, string>>
  /** Empty: the default user of the driver. */
  readonly user: string
  /** Host paths of the four directories of the task. */
  readonly taskDir: string
  readonly allocDir: string
  readonly localDir: string
  readonly secretsDir: string
  readonly resources: TaskResources
  /** Undefined: the output is discarded. */
  readonly logs: TaskLogFiles | undefined
  /** Volumes to mount, in addition to the task's directories. */
  readonly mounts: readonly TaskMount[]
  readonly network: TaskNetwork
}

/** Resources assigned to the task. */
export interface TaskResources {
  /** CPU weight relative to the other tasks of the node; a limit only if the task asks for one. */
  readonly cpuMHz: number
  /** The same as a fraction of the node: 0.25 is a quarter. */
  readonly cpuFraction: number
  /** Cores reserved for this task; empty means any. */
  readonly cores: readonly number[]
  /** Cores that no other task has reserved, for tasks without reserved cores; empty means any. */
  readonly sharedCores?: readonly number[]
  /** Reserved memory, and the limit if there is no `memoryMaxMB`. */
  readonly memoryMB: number
  /** Memory limit above the reservation; 0 means none. */
  readonly memoryMaxMB: number
}

/**
 * Rotated log files `<prefix>.<n>`: the newest has the largest n, and a new start appends to it. A
 * full file is followed by the next one; only the newest `maxFiles` are kept.
 */
export interface TaskLogFiles {
  readonly stdoutPrefix: string
  readonly stderrPrefix: string
  readonly maxFiles: number
  readonly maxFileBytes: number
}

export interface TaskMount {
  readonly hostPath: string
  /** Absolute path in the task. */
  readonly taskPath: string
  readonly readOnly: boolean
  /** Propagation of mounts below this one; absent means none. */
  readonly propagation?: MountPropagation
}

/**
 * `host-to-task`: the task sees new mounts of the host; `bidirectional`: and the host those of the
 * task.
 */
export type MountPropagation = 'host-to-task' | 'bidirectional'

export interface TaskNetwork {
  /**
   * `host`: the network of the machine; `none`: loopback only; otherwise that of the allocation.
   */
  readonly mode: string
  /** Network namespace of the allocation; undefined if it has none. */
  readonly namespacePath: string | undefined
  /** Host name of the task; empty: that of the machine. */
  readonly hostname: string
  /** Additional lines of `/etc/hosts`. */
  readonly hosts: readonly HostEntry[]
  /** Undefined: the resolver settings of the machine. */
  readonly dns: DnsSettings | undefined
  readonly ports: readonly TaskPort[]
}

export interface HostEntry {
  readonly address: string
  readonly names: readonly string[]
}

export interface DnsSettings {
  readonly servers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

export interface TaskPort {
  readonly label: string
  readonly hostIp: string
  readonly hostPort: number
  /** Port inside the task; 0 means the host port. */
  readonly to: number
}

/** Identity of a start without a job, such as a trial task of a driver. */
export const NO_IDENTITY: TaskIdentity = {
  namespace: '',
  jobId: '',
  jobName: '',
  group: '',
  nodeId: '',
  nodeName: '',
}

/** Network of a launch that uses the host network. */
export const HOST_NETWORK: TaskNetwork = {
  mode: 'host',
  namespacePath: undefined,
  hostname: '',
  hosts: [],
  dns: undefined,
  ports: [],
}
