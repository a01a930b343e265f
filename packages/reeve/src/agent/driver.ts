import { Fault } from '@reeve/kit/fault.ts'
import type { TaskHandle, TaskLaunch } from './task-launch.ts'
import type { ExecRequest, ExecSession, TaskUsage } from './task-session.ts'

export type { TaskHandle, TaskLaunch } from './task-launch.ts'

/**
 * The seam between the agent and whatever runs tasks. One shared suite (test/suites/task-driver.ts)
 * holds every implementation to these comments.
 */
export interface TaskDriver {
  /** The name that jobs use: `raw_exec`. */
  readonly name: string

  /**
   * How the task sees its directories. `none`: as the machine names them; `chroot` and `image`: as
   * `/alloc`, `/local` and `/secrets` of a root of its own, which an image fills in the last case.
   */
  readonly isolation: TaskIsolation

  /** Who a task runs as that names no user; undefined: the agent's own, or what its image says. */
  readonly defaultUser?: string

  /**
   * Probes for real whether tasks could run here. Does not throw: what is wrong is in the answer.
   */
  fingerprint(): Promise<DriverHealth>

  /** A start is coming, in milliseconds or never: what can be made ready for it may be. */
  expectStart?(): void

  /**
   * Fetches what the start needs and the node may lack, such as an image. May take minutes, beside
   * any number of others. Rejects like `start`, and soon after the signal is aborted. Nothing of
   * the task runs afterwards; a start without it fetches by itself.
   */
  prepare?(launch: TaskLaunch, context: DriverContext): Promise<void>

  /**
   * Keeps tasks without cores of their own, those that run and those to come, on these; empty: any.
   * Resolves when they are. A driver without it starts tasks where `sharedCores` says and leaves
   * them there.
   */
  shareCores?(cores: readonly number[]): Promise<void>

  /**
   * The network of the allocation was removed: whatever the driver keeps for its tasks to join it
   * is removed too. Safe to repeat. A rejection is for the log: `reconcile` removes it later.
   */
  leaveNetwork?(allocationId: string): Promise<void>

  /**
   * Starts the task; resolves when it really runs. The caller has made `launch.handle` durable
   * before, and never uses one handle twice. Rejects with a Fault whose kind says whether another
   * try may help (`isRecoverable`): `task-config` names the field, `task-unstartable` what is
   * missing, `task-start` is the rest. After a rejection nothing of the task runs.
   */
  start(launch: TaskLaunch, context?: DriverContext): Promise<RunningTask>

  /**
   * Finds out what became of a start whose handle was saved, after the agent itself ended in
   * between. The answer is final: a task said to be `never-started` will not start later by itself,
   * and nothing of a `lost` one runs any more. Rejects with a Fault `driver-away` while it cannot
   * be found out: the agent keeps the handle and asks again.
   */
  recover(handle: TaskHandle, context?: DriverContext): Promise<Recovery>
}

/** What the agent offers a driver during a start or a recovery, and as long as the task runs. */
export interface DriverContext {
  /** Adds an event to the task: what its owner should know and no state tells. */
  report(message: string): void
  /** Fires when a start need not go on: the task is to end, or the agent stops. */
  readonly signal: AbortSignal
}

/** The kind of a fault that passes: what runs the tasks cannot be asked now. */
export const DRIVER_AWAY = 'driver-away'

/** A driver that finds what it started even where every record of it is gone. */
export interface SweepingDriver extends TaskDriver {
  /**
   * Ends and removes what is left of starts for this data directory that have none of these
   * handles' ids. Called before any task is started; does nothing where the driver does not work.
   */
  sweep(known: ReadonlySet<string>): Promise<void>
}

export function canSweep(driver: TaskDriver): driver is SweepingDriver {
  return 'sweep' in driver
}

/** A driver that shares its engine with others, and leaves things there for later starts. */
export interface ReconcilingDriver extends TaskDriver {
  /** How often `reconcile` is due. */
  readonly reconcileMs: number
  /**
   * Removes from the engine what starts of this agent left there and no task of the node needs.
   * Never called twice at once. A rejection is tried again at the next turn.
   */
  reconcile(tasks: NodeTasks): Promise<Reconciliation>
}

export function canReconcile(driver: TaskDriver): driver is ReconcilingDriver {
  return 'reconcile' in driver
}

/** What a driver must keep. */
export interface NodeTasks {
  /** Ids of the handles of all starts that are under way or run. */
  readonly starts: ReadonlySet<string>
  /** Ids of the allocations of which a task runs or may still start. */
  readonly allocations: ReadonlySet<string>
  /** `Config` of every task that runs or may still start, with its references unresolved. */
  readonly configs: readonly Readonly<Record<string, unknown>>[]
}

/** What was removed, by its name in the engine. */
export interface Reconciliation {
  readonly containers: readonly string[]
  readonly images: readonly string[]
  /** True: the containers are only named, and were left as they are. */
  readonly isDryRun: boolean
}

export type TaskIsolation = 'none' | 'chroot' | 'image'

export interface DriverHealth {
  readonly detected: boolean
  readonly healthy: boolean
  /** A sentence: why it is not detected or not healthy, else `Healthy`. */
  readonly description: string
  /** Node attributes: `driver.raw_exec` = `1`. */
  readonly attributes: Readonly<Record<string, string>>
}

/** A task that was started. Stays usable after the task has ended. */
export interface RunningTask {
  readonly handle: TaskHandle

  /** Settles once, when the task has ended and nothing it started is left. Never rejects. */
  readonly exited: Promise<TaskExit>

  /** Where others reach the task, when the driver gave it an address of its own. */
  readonly address: DriverAddress | undefined

  /**
   * Sends a signal to the task itself. Fault `task-signal`: no such signal; `task-gone`: it has
   * ended.
   */
  signal(name: string): Promise<void>

  /**
   * Ends the task: the signal, then after the timeout force. Resolves when nothing of it is left,
   * at once if it has ended; may be called again. Fault `task-unkillable` when something survives
   * even force.
   */
  stop(request: StopRequest): Promise<void>

  /**
   * Runs a further command in the world of the task; resolves when it runs. Fault `task-gone`: the
   * task has ended; `task-config`: there is no such command, or no terminal is to be had here.
   */
  exec(request: ExecRequest): Promise<ExecSession>

  /** What the task uses now; undefined once it has ended or where nothing can be told. */
  usage(): Promise<TaskUsage | undefined>

  /**
   * The agent goes, the task stays: ends all watching. `exited` then never settles unless it
   * already has.
   */
  detach(): void

  /** Removes the driver's records. Called once the exit has been saved; safe to repeat. */
  forget(): Promise<void>
}

/** What services with the address mode `driver` announce. */
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
  /** What the driver has to say about it; empty when the code says all. */
  readonly message: string
  readonly atMs: number
}

export type Recovery =
  /** It runs, or it ran and its exit is known: `exited` tells. */
  | { readonly kind: 'attached'; readonly task: RunningTask }
  | { readonly kind: 'never-started' }
  | { readonly kind: 'lost'; readonly reason: string }

/** The task cannot run as it is written, on this node: another try would end the same way. */
const FINAL_KINDS: ReadonlySet<string> = new Set([
  'task-invalid',
  'task-config',
  'task-unstartable',
])

/** Whether another try may succeed; the restart policy bounds how many there are. */
export function isRecoverable(thrown: unknown): boolean {
  return !(thrown instanceof Fault && FINAL_KINDS.has(thrown.kind))
}
