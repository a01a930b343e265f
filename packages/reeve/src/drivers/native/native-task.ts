import { rm } from 'node:fs/promises'
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
import { readUsage } from './cgroup-usage.ts'
import type { ExitWatch } from './exit-watch.ts'
import { execInTask } from './native-session.ts'
import type { Launcher } from './launcher.ts'
import type { ExitRecord, HandleRecord } from './records.ts'
import type { TaskSpec } from './task-spec.ts'

/** What a task is told when its job names no signal. */
const DEFAULT_SIGNAL = 'SIGINT'

/** How long processes may take to disappear after SIGKILL. */
const GONE_MS_MAX = 10_000

/** Says that the status of a task is not known; no program can end with it. */
const UNKNOWN_STATUS = -1

interface NativeTaskOptions {
  readonly handle: TaskHandle
  readonly record: HandleRecord
  readonly spec: TaskSpec
  readonly program: string
  readonly launcher: Launcher
  readonly exits: ExitWatch
  readonly clock: Clock
}

/** A task under the helper's shim, whoever started it. */
export class NativeTask implements RunningTask {
  readonly handle: TaskHandle
  readonly address = undefined
  readonly exited: Promise<TaskExit>
  readonly #options: NativeTaskOptions
  readonly #detached = new AbortController()
  #hasExited = false

  constructor(options: NativeTaskOptions) {
    this.#options = options
    this.handle = options.handle
    this.exited = this.#watch()
  }

  async signal(name: string): Promise<void> {
    const number = findSignal(name)?.number
    if (number === undefined) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    if (this.#hasExited || !(await this.#send(number))) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  async stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.#hasExited) return
    const { clock } = this.#options
    // A misspelt signal must not keep the task alive.
    await this.#send(findSignal(signal)?.number ?? constants.signals[DEFAULT_SIGNAL])
    const inTime = new AbortController()
    const late = pause(clock, timeoutMs, inTime.signal).then(() => undefined)
    const exit = await Promise.race([this.exited, late])
    inTime.abort()
    if (exit !== undefined) return
    await killTree(this.#options.launcher, this.#options.record).catch((thrown: unknown) => {
      throw new Fault('task-unkillable', errorMessage(thrown), { cause: thrown })
    })
    this.#options.exits.look(this.handle.id)
    const deadline = { clock, ms: GONE_MS_MAX, what: 'the record of the end' }
    await withDeadline(this.exited, deadline)
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    if (this.#hasExited) throw new Fault('task-gone', 'the task is not running')
    const [command] = request.command
    if (command === undefined || command === '') {
      throw new Fault('task-config', 'the command is empty')
    }
    return execInTask(request, this.#options)
  }

  async usage(): Promise<TaskUsage | undefined> {
    if (this.#hasExited) return undefined
    return readUsage(this.#options.record.cgroups, this.#options.clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
  }

  /** The exit file goes last: while it is there, the next agent knows how the task ended. */
  async forget(): Promise<void> {
    await rm(this.handle.dir, { recursive: true, force: true })
    await rm(this.#options.exits.pathOf(this.handle.id), { force: true })
  }

  /** False when the task is gone. */
  async #send(signal: number): Promise<boolean> {
    const { pid, startTime } = this.#options.record.task
    try {
      await this.#options.launcher.ask('kill', { pid, startTime, signal })
      return true
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'helper-gone') return false
      throw new Fault('task-signal', errorMessage(thrown), { cause: thrown })
    }
  }

  async #watch(): Promise<TaskExit> {
    const { exits, record, launcher } = this.#options
    const { signal } = this.#detached
    const exit = await exits.wait(this.handle.id, record.shim, signal)
    let trouble = ''
    if (exit === undefined) {
      trouble = await killTree(launcher, record).then(() => '', errorMessage)
    }
    await removeCgroups(launcher, record)
    this.#hasExited = true
    if (signal.aborted) return NEVER
    return exit === undefined ? this.#lost(trouble) : exitOf(exit)
  }

  #lost(trouble: string): TaskExit {
    const message = `the supervisor of the task ended without saying how the task did ${trouble}`
    return {
      exitCode: UNKNOWN_STATUS,
      signal: 0,
      oomKilled: false,
      message: message.trim(),
      atMs: this.#options.clock.nowMs(),
    }
  }
}

const NEVER = new Promise<never>(() => undefined)

function exitOf(record: ExitRecord): TaskExit {
  const { code, signal, isOom, left, atMs } = record
  const message = left === 0 ? '' : `${left} processes of the task survived SIGKILL`
  return { exitCode: code, signal, oomKilled: isOom, message, atMs }
}

/** Ends everything of a task by force; resolves when nothing is left. */
export async function killTree(launcher: Launcher, record: HandleRecord): Promise<void> {
  const { entry, task, shim, killCgroup } = record
  await launcher.ask(
    'killTree',
    {
      shimPid: shim.pid,
      shimStartTime: shim.startTime,
      pid: entry.pid,
      startTime: entry.startTime,
      taskPid: task.pid,
      taskStartTime: task.startTime,
      ...(killCgroup === '' ? {} : { killCgroup }),
      timeoutMs: GONE_MS_MAX,
    },
    3 * GONE_MS_MAX,
  )
}

/** Left-over groups cost a little memory, no more: a failure is not the task's. */
export async function removeCgroups(launcher: Launcher, record: HandleRecord): Promise<void> {
  if (record.cgroups.length === 0) return
  await launcher.ask('removeCgroups', { paths: record.cgroups }).catch(() => undefined)
}
