import { spawn } from 'node:child_process'
import { watch, type FSWatcher } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { constants } from 'node:os'
import {
  findSignal,
  sleep,
  withTimeout,
  type ExecRequest,
  type ExecSession,
  type RunningTask,
  type StopRequest,
  type TaskExit,
  type TaskHandle,
  type TaskUsage,
  isMissing,
  type HostUser,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ChildExecSession } from '../child-exec-session.ts'
import { ProcessTree, signalProcess, usageOfProcesses } from '../proc/process-tree.ts'
import {
  mayBeAlive,
  NEVER,
  UNKNOWN_STATUS,
  type ProcessId,
  type ProcessTable,
} from '../proc/processes.ts'
import { findCommand } from './raw-exec-config.ts'
import type { ShellExitRecord, ShimRecords } from './shim.ts'

/** Default stop signal. */
const DEFAULT_SIGNAL = 'SIGINT'

/** Poll interval for a task that is not a child process, in addition to file notifications. */
const POLL_INTERVAL_MS = 1_000

/** Timeout for the shim to exit after its task. */
const SHIM_EXIT_TIMEOUT_MS = 5_000

interface ShellTaskOptions {
  readonly handle: TaskHandle
  readonly shim: ProcessId
  readonly isSessionKnown: boolean
  readonly records: ShimRecords
  readonly table: ProcessTable
  readonly clock: Clock
  /** The shim as a child process; undefined if an earlier agent started it. */
  readonly child: ShimChild | undefined
}

export interface ShimChild {
  readonly pid: number | undefined
  /** Resolves when the shim has exited, with its status; undefined if a signal ended the shim. */
  readonly ended: Promise<number | undefined>
  hasEnded(): boolean
  /** Lets the agent's process end before the shim does. */
  release(): void
  kill(): void
}

/** A task under its shim, started by this or an earlier agent. */
export class ShellTask implements RunningTask {
  readonly handle: TaskHandle
  readonly address = undefined
  readonly exited: Promise<TaskExit>
  readonly #options: ShellTaskOptions
  readonly #processTree: ProcessTree
  readonly #detached = new AbortController()
  #hasExited = false

  constructor(options: ShellTaskOptions) {
    this.#options = options
    this.handle = options.handle
    const { shim, table, clock, handle, isSessionKnown } = options
    this.#processTree = new ProcessTree({
      shim,
      isSessionIdValid: isSessionKnown,
      handle,
      table,
      clock,
    })
    this.exited = this.#awaitExit()
  }

  async signal(name: string): Promise<void> {
    const number = findSignal(name)?.number
    if (number === undefined)
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    const task = this.#hasExited ? undefined : await this.#findTaskProcess()
    if (task === undefined || !signalProcess(task, number)) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  /** The task can write the record itself: only a process of its own tree is accepted. */
  async #findTaskProcess(): Promise<ProcessId | undefined> {
    const task = await this.#options.records.taskProcess()
    if (task === undefined) return undefined
    const { pid, startTime } = task
    const members = await this.#processTree.findProcesses()
    return members.find((candidate) => candidate.pid === pid && candidate.startTime === startTime)
  }

  async stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.#hasExited) return
    // An invalid signal must not keep the task alive.
    const number = findSignal(signal)?.number ?? constants.signals[DEFAULT_SIGNAL]
    await this.#processTree.signalGroup(await this.#options.records.taskProcess(), number)
    const cancelTimeout = new AbortController()
    const timeout = sleep(this.#options.clock, timeoutMs, cancelTimeout.signal).then(
      () => undefined,
    )
    const exit = await Promise.race([this.exited, timeout])
    cancelTimeout.abort()
    if (exit !== undefined) return
    await this.#processTree.killAll()
    await this.#endShim()
  }

  /** Waits for the shim to exit; kills it if it was stopped or cannot write. */
  async #endShim(): Promise<void> {
    const { clock, shim } = this.#options
    const cancelTimeout = new AbortController()
    void sleep(clock, SHIM_EXIT_TIMEOUT_MS, cancelTimeout.signal).then((passed) => {
      return passed && signalProcess(shim, constants.signals.SIGKILL)
    })
    const deadline = {
      clock,
      timeoutMs: 2 * SHIM_EXIT_TIMEOUT_MS,
      operation: 'the end of the supervisor',
    }
    await withTimeout(this.exited, deadline)
    cancelTimeout.abort()
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const launch = await loadLaunchRecord(this.handle)
    if (this.#hasExited) throw new Fault('task-gone', 'the task is not running')
    if (launch === undefined) {
      throw new Fault('task-config', 'the task was started by an agent that could not do this')
    }
    return execInShellTask(request, { launch, clock: this.#options.clock })
  }

  async usage(): Promise<TaskUsage | undefined> {
    if (this.#hasExited) return undefined
    return usageOfProcesses(await this.#processTree.findProcesses(), this.#options.clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
    this.#options.child?.release()
  }

  async destroyRecords(): Promise<void> {
    await this.#options.records.remove()
    await removeLaunchRecord(this.handle)
  }

  /** Waits for the end of the shim, kills remaining processes, and returns the exit. */
  async #awaitExit(): Promise<TaskExit> {
    const { child } = this.#options
    const childStatus = child === undefined ? await this.#pollUntilExited() : await child.ended
    if (this.#detached.signal.aborted) return NEVER
    const record = await this.#readExitRecord()
    let message = ''
    try {
      await this.#processTree.killAll()
    } catch (thrown) {
      message = errorMessage(thrown)
    }
    this.#hasExited = true
    return this.#exitOf(record, childStatus, message)
  }

  #exitOf(
    record: ShellExitRecord | undefined,
    childStatus: number | undefined,
    killProblem: string,
  ): TaskExit {
    const atMs = record?.atMs ?? this.#options.clock.nowMs()
    // On a full disk the record is missing, but the shim still returns the status.
    const status = record?.status ?? childStatus
    if (status === undefined) {
      const message =
        killProblem || 'the supervisor of the task ended without saying how the task did'
      return { exitCode: UNKNOWN_STATUS, signal: 0, oomKilled: false, message, atMs }
    }
    const failed = record?.hasExecFailed === true ? 'the command could not be executed' : ''
    const signal = signalOfStatus(status)
    return { exitCode: status, signal, oomKilled: false, message: killProblem || failed, atMs }
  }

  /** The exit record; undefined if it cannot be read. */
  async #readExitRecord(): Promise<ShellExitRecord | undefined> {
    return this.#options.records.exitRecord().catch(() => undefined)
  }

  /** Waits for a shim that is not a child process, by file notifications and polling. */
  async #pollUntilExited(): Promise<undefined> {
    const { shim, records, clock } = this.#options
    const { signal } = this.#detached
    let wake = new AbortController()
    const watcher = watchDirectory(records.dir, () => wake.abort())
    const stopPolling = (): void => wake.abort()
    signal.addEventListener('abort', stopPolling, { once: true })
    try {
      while (!signal.aborted && mayBeAlive(shim)) {
        // The shim exits right after it has written its record.
        if ((await this.#readExitRecord()) !== undefined) break
        await sleep(clock, POLL_INTERVAL_MS, wake.signal)
        if (wake.signal.aborted) wake = new AbortController()
      }
    } finally {
      watcher?.close()
      signal.removeEventListener('abort', stopPolling)
    }
    return undefined
  }
}

function watchDirectory(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    // No inotify watches left: polling is sufficient.
    return undefined
  }
}

/** Shells report death by signal n as status 128 + n. */
function signalOfStatus(status: number): number {
  const signal = status - 128
  return signal > 0 && signal <= SIGNAL_MAX ? signal : 0
}

const SIGNAL_MAX = 64

interface ShellExecOptions {
  readonly launch: LaunchRecord
  readonly clock: Clock
}

/**
 * Runs a command in the environment of the task, without a terminal, which only the native helper
 * supports. The command has the identifying environment variables of the task, so it is killed with
 * the task.
 */
async function execInShellTask(
  request: ExecRequest,
  { launch, clock }: ShellExecOptions,
): Promise<ExecSession> {
  const [program, ...args] = request.command
  if (program === undefined || program === '') {
    throw new Fault('task-config', 'the command is empty')
  }
  if (request.tty !== undefined) {
    throw new Fault('task-config', 'this node cannot make terminals: its native helper is missing')
  }
  const { env, taskDir, cwd, user } = launch
  const path = env['PATH'] ?? ''
  const file = await findCommand(program, { taskDir, path }).catch((thrown: unknown) => {
    throw new Fault('task-config', errorMessage(thrown), { cause: thrown })
  })
  const { promise, resolve, reject } = Promise.withResolvers<ExecSession>()
  const child = spawn(file, args, {
    argv0: program,
    cwd,
    env: { ...env },
    detached: true,
    stdio: 'pipe',
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  })
  const session = new ChildExecSession({ child, clock, resize: () => undefined })
  child.once('spawn', () => resolve(session))
  child.once('error', (error) => {
    reject(new Fault('task-config', `the command cannot be started: ${errorMessage(error)}`))
  })
  return promise
}

/** How the task was started, for further commands in it. */
export interface LaunchRecord {
  readonly env: Readonly<Record<string, string>>
  readonly taskDir: string
  readonly cwd: string
  /** Undefined: the user of the agent. */
  readonly user: HostUser | undefined
}

/**
 * Stored next to the record directory of the shim, not in it: that directory belongs to the task's
 * user, who must not be able to change the user of commands.
 */
function launchRecordPath(handle: TaskHandle): string {
  return `${handle.dir}.launch`
}

export async function saveLaunchRecord(handle: TaskHandle, launch: LaunchRecord): Promise<void> {
  const file = await open(launchRecordPath(handle), 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(launch))
  } finally {
    await file.close()
  }
}

/** Returns undefined if the task was started by an older agent. */
export async function loadLaunchRecord(handle: TaskHandle): Promise<LaunchRecord | undefined> {
  try {
    // Written by saveLaunchRecord, in a directory that only the agent's user can write to.
    return JSON.parse(await readFile(launchRecordPath(handle), 'utf8')) as LaunchRecord
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

export async function removeLaunchRecord(handle: TaskHandle): Promise<void> {
  await rm(launchRecordPath(handle), { force: true })
}
