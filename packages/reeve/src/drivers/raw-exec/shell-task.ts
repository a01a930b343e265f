import { watch, type FSWatcher } from 'node:fs'
import { constants } from 'node:os'
import {
  findSignal,
  pause,
  withDeadline,
  type ExecRequest,
  type ExecSession,
  type RunningTask,
  type StopRequest,
  type TaskExit,
  type TaskHandle,
  type TaskUsage,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ProcessTree, sendSignal } from './process-tree.ts'
import { mayBeAlive, type ProcessRef, type ProcessTable } from './processes.ts'
import { usageOf } from './process-usage.ts'
import type { ExitRecord, ShimRecords } from './records.ts'
import { runBeside } from './run-beside.ts'
import { loadLaunch, removeLaunch } from './saved-launch.ts'

/** What a task is told when its job names no signal. */
const DEFAULT_SIGNAL = 'SIGINT'

/**
 * How often a task that is not our child is looked at, beside the kernel's notice that a record was
 * written.
 */
const LOOK_MS = 1_000

/** How long a shim may take to end once its task is gone. */
const SHIM_END_MS_MAX = 5_000

interface ShellTaskOptions {
  readonly handle: TaskHandle
  readonly shim: ProcessRef
  readonly isSessionKnown: boolean
  readonly records: ShimRecords
  readonly table: ProcessTable
  readonly clock: Clock
  /** The shim when it is our child; undefined for one that an agent before this started. */
  readonly child: ShimChild | undefined
}

export interface ShimChild {
  readonly pid: number | undefined
  /**
   * Settles when the kernel says it ended, with the status it passes on; undefined when a signal
   * ended the shim itself.
   */
  readonly ended: Promise<number | undefined>
  hasEnded(): boolean
  /** Lets the agent's process end before the shim does. */
  release(): void
  kill(): void
}

/** A task under its shim, whoever started it. */
export class ShellTask implements RunningTask {
  readonly handle: TaskHandle
  readonly address = undefined
  readonly exited: Promise<TaskExit>
  readonly #options: ShellTaskOptions
  readonly #tree: ProcessTree
  readonly #detached = new AbortController()
  #hasExited = false

  constructor(options: ShellTaskOptions) {
    this.#options = options
    this.handle = options.handle
    const { shim, table, clock, handle, isSessionKnown } = options
    this.#tree = new ProcessTree({ shim, isSessionKnown, handle, table, clock })
    this.exited = this.#watch()
  }

  async signal(name: string): Promise<void> {
    const number = findSignal(name)?.number
    if (number === undefined)
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    const task = this.#hasExited ? undefined : await this.#ownTask()
    if (task === undefined || !sendSignal(task, number)) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  /** The task may write the record itself: a process that is none of its own is not meant. */
  async #ownTask(): Promise<ProcessRef | undefined> {
    const task = await this.#options.records.task()
    if (task === undefined) return undefined
    const { pid, startTime } = task
    const members = await this.#tree.members()
    return members.find((one) => one.pid === pid && one.startTime === startTime)
  }

  async stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.#hasExited) return
    // A misspelt signal must not keep the task alive.
    const number = findSignal(signal)?.number ?? constants.signals[DEFAULT_SIGNAL]
    await this.#tree.signalGroup(await this.#options.records.task(), number)
    const inTime = new AbortController()
    const late = pause(this.#options.clock, timeoutMs, inTime.signal).then(() => undefined)
    const exit = await Promise.race([this.exited, late])
    inTime.abort()
    if (exit !== undefined) return
    await this.#tree.kill()
    await this.#endShim()
  }

  /** With its task gone the shim ends by itself, unless it was stopped or cannot write. */
  async #endShim(): Promise<void> {
    const { clock, shim } = this.#options
    const inTime = new AbortController()
    void pause(clock, SHIM_END_MS_MAX, inTime.signal).then((passed) => {
      return passed && sendSignal(shim, constants.signals.SIGKILL)
    })
    const deadline = { clock, ms: 2 * SHIM_END_MS_MAX, what: 'the end of the supervisor' }
    await withDeadline(this.exited, deadline)
    inTime.abort()
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const launch = await loadLaunch(this.handle)
    if (this.#hasExited) throw new Fault('task-gone', 'the task is not running')
    if (launch === undefined) {
      throw new Fault('task-config', 'the task was started by an agent that could not do this')
    }
    return runBeside(request, { launch, clock: this.#options.clock })
  }

  async usage(): Promise<TaskUsage | undefined> {
    if (this.#hasExited) return undefined
    return usageOf(await this.#tree.members(), this.#options.clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
    this.#options.child?.release()
  }

  async forget(): Promise<void> {
    await this.#options.records.remove()
    await removeLaunch(this.handle)
  }

  /** Waits for the end of the shim, ends what the task left behind, and says how it went. */
  async #watch(): Promise<TaskExit> {
    const { child } = this.#options
    const childStatus = child === undefined ? await this.#lookUntilGone() : await child.ended
    if (this.#detached.signal.aborted) return NEVER
    const record = await this.#finalRecord()
    let message = ''
    try {
      await this.#tree.kill()
    } catch (thrown) {
      message = errorMessage(thrown)
    }
    this.#hasExited = true
    return this.#exitOf(record, childStatus, message)
  }

  #exitOf(
    record: ExitRecord | undefined,
    childStatus: number | undefined,
    trouble: string,
  ): TaskExit {
    const atMs = record?.atMs ?? this.#options.clock.nowMs()
    // A full disk keeps the record from being written, not the shim from passing the status on.
    const status = record?.status ?? childStatus
    if (status === undefined) {
      const message = trouble || 'the supervisor of the task ended without saying how the task did'
      return { exitCode: UNKNOWN_STATUS, signal: 0, oomKilled: false, message, atMs }
    }
    const failed = record?.isFailedExec === true ? 'the command could not be executed' : ''
    const signal = signalOfStatus(status)
    return { exitCode: status, signal, oomKilled: false, message: trouble || failed, atMs }
  }

  /** A record that cannot be read any more counts as none. */
  async #finalRecord(): Promise<ExitRecord | undefined> {
    return this.#options.records.exit().catch(() => undefined)
  }

  /**
   * The shim is not our child: the kernel tells when something is written beside it, and a look now
   * and then finds the rest.
   */
  async #lookUntilGone(): Promise<undefined> {
    const { shim, records, clock } = this.#options
    const { signal } = this.#detached
    let wake = new AbortController()
    const watcher = watchDirectory(records.dir, () => wake.abort())
    const stopLooking = (): void => wake.abort()
    signal.addEventListener('abort', stopLooking, { once: true })
    try {
      while (!signal.aborted && mayBeAlive(shim)) {
        // The shim ends right after its record is written; it need not be waited for.
        if ((await this.#finalRecord()) !== undefined) break
        await pause(clock, LOOK_MS, wake.signal)
        if (wake.signal.aborted) wake = new AbortController()
      }
    } finally {
      watcher?.close()
      signal.removeEventListener('abort', stopLooking)
    }
    return undefined
  }
}

/** Says that the status of a task is not known; no program can end with it. */
const UNKNOWN_STATUS = -1

/** What a detached task answers: nothing. */
const NEVER = new Promise<never>(() => undefined)

function watchDirectory(path: string, notice: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, notice)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    // No watches left on this machine: looking now and then suffices.
    return undefined
  }
}

/** A shell tells of death by signal n with the status 128 + n. */
function signalOfStatus(status: number): number {
  const signal = status - 128
  return signal > 0 && signal <= SIGNAL_MAX ? signal : 0
}

const SIGNAL_MAX = 64
