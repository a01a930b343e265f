import type { Readable, Writable } from 'node:stream'
import { Fault } from '@reeve/kit/fault.ts'

/**
 * The interface between the agent and the drivers that run tasks. One suite
 * (test/suites/task-driver.ts) tests every implementation against these comments.
 */
export interface TaskDriver {
  /** The name that jobs use: `raw_exec`. */
  readonly name: string

  /**
   * How a task sees its directories. `none`: by their host paths; `chroot` and `image`: as
   * `/alloc`, `/local` and `/secrets` of its own root, which for `image` comes from an image.
   */
  readonly isolation: TaskIsolation

  /** User of tasks that name none; undefined: the user of the agent or of the image. */
  readonly defaultUser?: string

  /** Probes whether tasks can run here. Never throws: problems are part of the result. */
  fingerprint(): Promise<DriverHealth>

  /** Announces that a start may follow within milliseconds, so that the driver can warm up. */
  prewarm?(): void

  /**
   * Fetches what the start needs, such as an image. May take minutes and runs in parallel with
   * other calls. Rejects like `start`, and soon after the signal is aborted. Leaves nothing
   * running. A `start` without it fetches by itself.
   */
  prepare?(launch: TaskLaunch, context: DriverContext): Promise<void>

  /**
   * Restricts tasks without reserved cores, running and future ones, to these cores; empty means
   * all cores. Resolves when they have moved. A driver without this method starts tasks on
   * `sharedCores` and never moves them.
   */
  shareCores?(cores: readonly number[]): Promise<void>

  /**
   * Removes what the driver created for its tasks to join the network of the allocation, after that
   * network was removed. Idempotent. A failure is only logged: `reconcile` removes the rest later.
   */
  leaveNetwork?(allocationId: string): Promise<void>

  /**
   * Starts the task; resolves when it runs. The caller has stored `launch.handle` before and never
   * reuses a handle. Rejects with a Fault whose kind says whether a retry may help
   * (`isRecoverable`): `task-config` names the field, `task-unstartable` what is missing,
   * `task-start` is anything else. After a rejection nothing of the task runs.
   */
  start(launch: TaskLaunch, context?: DriverContext): Promise<RunningTask>

  /**
   * Returns what became of a start whose handle was saved, after a restart of the agent. The result
   * is final: a `never-started` task will not start later, and nothing of a `lost` task still runs.
   * Rejects with a Fault `driver-away` while the result cannot be determined: the agent keeps the
   * handle and retries.
   */
  recover(handle: TaskHandle, context?: DriverContext): Promise<Recovery>
}

/** Services of the agent for a driver during a start, a recovery, and the lifetime of the task. */
export interface DriverContext {
  /** Adds an event to the task, for what its state does not show. */
  report(message: string): void
  /** Aborted when a start is no longer needed: the task is being killed or the agent stops. */
  readonly signal: AbortSignal
}

/** Fault kind for a temporary condition: the engine or supervisor of the tasks is unreachable. */
export const DRIVER_UNAVAILABLE = 'driver-away'

/** A driver that can find the tasks it started without any record of them. */
export interface OrphanKillingDriver extends TaskDriver {
  /**
   * Kills and removes the tasks of this data directory whose handle is not in `known`. Called
   * before any task is started. Does nothing if the driver is unavailable.
   */
  killOrphans(knownHandleIds: ReadonlySet<string>): Promise<void>
}

export function killsOrphans(driver: TaskDriver): driver is OrphanKillingDriver {
  return 'sweep' in driver
}

/** A driver that shares its engine with others and leaves objects such as images in it. */
export interface ReconcilingDriver extends TaskDriver {
  /** Interval between two calls of `reconcile`. */
  readonly reconcileIntervalMs: number
  /**
   * Removes objects of this agent from the engine that no task of the node needs. Calls never
   * overlap. A failure is retried at the next interval.
   */
  reconcile(tasks: LiveTasks): Promise<Reconciliation>
}

export function isReconcilingDriver(driver: TaskDriver): driver is ReconcilingDriver {
  return 'reconcile' in driver
}

/** What a driver must not remove. */
export interface LiveTasks {
  /** Handle IDs of all starts that are in progress or running. */
  readonly handleIds: ReadonlySet<string>
  /** IDs of allocations with a task that runs or may still start. */
  readonly allocationIds: ReadonlySet<string>
  /** `Config` of every task that runs or may still start, before interpolation. */
  readonly configs: readonly Readonly<Record<string, unknown>>[]
}

/** The removed objects, by their name in the engine. */
export interface Reconciliation {
  readonly removedContainers: readonly string[]
  readonly removedImages: readonly string[]
  /** Dry run: the containers were only listed. */
  readonly isDryRun: boolean
}

export type TaskIsolation = 'none' | 'chroot' | 'image'

export interface DriverHealth {
  readonly detected: boolean
  readonly healthy: boolean
  /** Why the driver is not detected or not healthy, otherwise `Healthy`. */
  readonly description: string
  /** Node attributes: `driver.raw_exec` = `1`. */
  readonly attributes: Readonly<Record<string, string>>
}

/** A started task. The object stays usable after the task has ended. */
export interface RunningTask {
  readonly handle: TaskHandle

  /** Resolves once, when the task and all its processes have ended. Never rejects. */
  readonly exited: Promise<TaskExit>

  /** Address of the task, if the driver assigned one. */
  readonly address: DriverAddress | undefined

  /**
   * Sends a signal to the main process of the task. Fault `task-signal`: unknown signal;
   * `task-gone`: the task has ended.
   */
  signal(name: string): Promise<void>

  /**
   * Stops the task: sends the signal, and kills it after the timeout. Resolves when nothing of it
   * is left, immediately if it has ended. May be called again. Fault `task-unkillable` if a process
   * survives SIGKILL.
   */
  stop(request: StopRequest): Promise<void>

  /**
   * Runs another command in the environment of the task; resolves when it runs. Fault `task-gone`:
   * the task has ended; `task-config`: the command does not exist, or no terminal is available.
   */
  exec(request: ExecRequest): Promise<ExecSession>

  /** Current resource usage; undefined if the task has ended or usage is not available. */
  usage(): Promise<TaskUsage | undefined>

  /**
   * Stops all watching because the agent stops while the task continues. `exited` then never
   * settles unless it already has.
   */
  detach(): void

  /** Deletes the records of the driver. Called after the exit was saved. Idempotent. */
  destroyRecords(): Promise<void>
}

/** Address that services with `address_mode = "driver"` register. */
export interface DriverAddress {
  readonly ip: string
  /** Ports inside, by label. */
  readonly ports: Readonly<Record<string, number>>
}

export interface StopRequest {
  /** `SIGINT` and the like; empty: the driver's own default. */
  readonly signal: string
  readonly timeoutMs: number
}

export interface TaskExit {
  readonly exitCode: number
  /** 0 unless a signal ended it. */
  readonly signal: number
  readonly oomKilled: boolean
  /** Explanation from the driver; empty if the exit code is sufficient. */
  readonly message: string
  readonly atMs: number
}

export type Recovery =
  /** The task runs, or it has ended and its exit is known: see `exited`. */
  | { readonly kind: 'attached'; readonly task: RunningTask }
  | { readonly kind: 'never-started' }
  | { readonly kind: 'lost'; readonly reason: string }

/**
 * Fault kinds of tasks that cannot run on this node as they are defined: a retry would fail the
 * same way.
 */
const UNRECOVERABLE_KINDS: ReadonlySet<string> = new Set([
  'task-invalid',
  'task-config',
  'task-unstartable',
])

/** Whether a retry may succeed; the restart policy limits the number of retries. */
export function isRecoverable(thrown: unknown): boolean {
  return !(thrown instanceof Fault && UNRECOVERABLE_KINDS.has(thrown.kind))
}

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
interface TaskIdentity {
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
type MountPropagation = 'host-to-task' | 'bidirectional'

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

interface HostEntry {
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

/** A command to run in the environment of a task: its files, user and limits. */
export interface ExecRequest {
  /** Program and arguments; never empty. */
  readonly command: readonly string[]
  /** Initial size of the terminal; undefined: three plain streams. */
  readonly tty: TerminalSize | undefined
}

export interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** A command running in a task. It ends when the task ends. */
export interface ExecSession {
  /**
   * Closing it closes the input of the command; on a terminal it sends the end-of-file character.
   */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Ends immediately with a terminal, which writes everything to `stdout`. */
  readonly stderr: Readable
  resize(size: TerminalSize): void
  /** Hangs up like a closed terminal window, because the caller has disconnected. */
  hangUp(): void
  /** Resolves once with the exit code, after all output can be read; 128 + n after signal n. */
  readonly exited: Promise<number>
}

/** Current resource usage of a task. Values that are not available are zero. */
export interface TaskUsage {
  readonly atMs: number
  readonly cpu: {
    /** CPU time in nanoseconds since the start. */
    readonly totalNs: number
    readonly userNs: number
    readonly systemNs: number
    readonly throttledPeriods: number
    readonly throttledNs: number
  }
  readonly memory: {
    readonly rssBytes: number
    readonly cacheBytes: number
    readonly swapBytes: number
    readonly usageBytes: number
    readonly maxUsageBytes: number
  }
  readonly pids: number
}
