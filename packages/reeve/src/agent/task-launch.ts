/**
 * Names one start of one task so that it can be found again. Made and saved by the agent before the
 * start.
 */
export interface TaskHandle {
  readonly driver: string
  /** Unique for each start: allocation, task and attempt. */
  readonly id: string
  readonly allocationId: string
  readonly task: string
  /**
   * A directory for the driver's own records of this start; the driver makes it, `forget` removes
   * it.
   */
  readonly dir: string
  /** The boot of the machine during which it was started; no task outlives that. */
  readonly bootId: string
}

/** What the task belongs to and where it runs, as the servers say: no task can change it. */
export interface TaskAbout {
  readonly namespace: string
  readonly jobId: string
  readonly jobName: string
  readonly group: string
  readonly nodeId: string
  readonly nodeName: string
}

/** Everything a driver is told about one start of one task. */
export interface TaskLaunch {
  readonly handle: TaskHandle
  readonly about: TaskAbout
  /** The task's `Config`, interpolated. The driver checks it. */
  readonly config: Readonly<Record<string, unknown>>
  /** The whole environment: the driver adds nothing of the agent's own. */
  readonly env: Readonly<Record<string, string>>
  /** Empty: the driver's own default. */
  readonly user: string
  /** The four directories of a task, as the machine names them. */
  readonly taskDir: string
  readonly allocDir: string
  readonly localDir: string
  readonly secretsDir: string
  readonly resources: TaskResources
  /** Undefined discards the output. */
  readonly logs: LogFiles | undefined
  /** Volumes, beside the task's own directories. */
  readonly mounts: readonly TaskMount[]
  readonly network: TaskNetwork
}

/** What the task was given of the machine. */
export interface TaskResources {
  /** A weight against the other tasks of the node; a limit only where the task asks for one. */
  readonly cpuMHz: number
  /** The same as a part of all the node has: 0.25 is a quarter. */
  readonly cpuFraction: number
  /** Cores that are this task's alone; empty: any. */
  readonly cores: readonly number[]
  /** Where it has none: the cores that no other task has for itself; empty: any. */
  readonly sharedCores?: readonly number[]
  /** What it was promised, and the limit where there is no `memoryMaxMB`. */
  readonly memoryMB: number
  /** The limit, above what was promised; 0: none of its own. */
  readonly memoryMaxMB: number
}

/**
 * `<prefix>.<n>`, the newest has the largest n, a new start appends to it. A file that is full is
 * followed by the next; only the newest `maxFiles` stay.
 */
export interface LogFiles {
  readonly stdoutPrefix: string
  readonly stderrPrefix: string
  readonly maxFiles: number
  readonly maxFileBytes: number
}

export interface TaskMount {
  readonly hostPath: string
  /** Absolute, as the task sees it. */
  readonly taskPath: string
  readonly readOnly: boolean
  /** Which later mounts below it are seen on the other side; absent: none. */
  readonly propagation?: MountPropagation
}

/** `host-to-task`: those of the host by the task; `bidirectional`: those of the task as well. */
export type MountPropagation = 'host-to-task' | 'bidirectional'

export interface TaskNetwork {
  /** `host`: the machine's own; `none`: loopback alone; any other: that of the allocation. */
  readonly mode: string
  /** The allocation's network namespace; undefined where there is none. */
  readonly namespacePath: string | undefined
  /** The name the task finds itself under; empty: the machine's. */
  readonly hostname: string
  /** Further lines of the task's `/etc/hosts`. */
  readonly hosts: readonly HostEntry[]
  /** Undefined: as the machine resolves. */
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
  /** What the program listens on inside; 0: the same number. */
  readonly to: number
}

/** Of a start that belongs to no job: a trial of a driver. */
export const NO_JOB: TaskAbout = {
  namespace: '',
  jobId: '',
  jobName: '',
  group: '',
  nodeId: '',
  nodeName: '',
}

/** What a launch on the machine's own network says about it. */
export const HOST_NETWORK: TaskNetwork = {
  mode: 'host',
  namespacePath: undefined,
  hostname: '',
  hosts: [],
  dns: undefined,
  ports: [],
}
