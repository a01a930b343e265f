import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile, stat, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { getuid } from 'node:process'
import {
  getHostUser,
  sleep,
  withTimeout,
  type DriverHealth,
  type HostUser,
  type TaskLogFiles,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { listLogNumbers, openLogFile } from '../rotating-log.ts'
import { findCommand, readRawExecConfig, withoutDeniedVariables } from './raw-exec-config.ts'
import { ProcessTree } from '../proc/process-tree.ts'
import {
  isAlive,
  ProcessTable,
  readBootId,
  readProcFile,
  type ProcessId,
} from '../proc/processes.ts'
import {
  type LaunchRecord,
  loadLaunchRecord,
  removeLaunchRecord,
  saveLaunchRecord,
  ShellTask,
  type ShimChild,
} from './shell-task.ts'
import { buildShimCall, isShimCommandLine, SHELL, ShimRecords } from './shim.ts'

/** Timeout for the shim to start and execute the command. */
const START_TIMEOUT_MS = 10_000
const START_POLL_INTERVAL_MIN_MS = 1
const START_POLL_INTERVAL_MAX_MS = 50

/**
 * Fallback without the native helper: no limits, terminals or log rotation. The program runs under
 * a shim in its own session (shim.ts) and writes to its log files directly, so it needs no running
 * agent.
 */
export class ShellFallbackDriver implements TaskDriver {
  readonly name = 'raw_exec'
  readonly isolation = 'none'
  readonly #clock: Clock
  readonly #processTable = new ProcessTable()
  #hasProbed = false

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock
  }

  async fingerprint(): Promise<DriverHealth> {
    try {
      await access(SHELL, constants.X_OK)
      await readFile('/proc/self/stat')
      // A real start as a probe, only once.
      if (!this.#hasProbed) await this.#probe()
      this.#hasProbed = true
    } catch (thrown) {
      return { detected: false, healthy: false, description: errorMessage(thrown), attributes: {} }
    }
    const attributes = { 'driver.raw_exec': '1' }
    return { detected: true, healthy: true, description: 'Healthy', attributes }
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const { handle, taskDir } = launch
    const config = readRawExecConfig(launch.config)
    if (launch.network.namespacePath !== undefined) {
      const message = 'a network of its own needs the native helper, which this node has not'
      throw new Fault('task-unstartable', message)
    }
    const env = withoutDeniedVariables(launch.env, config.deniedVariables)
    const user = launch.user === '' ? undefined : await resolveTaskUser(launch.user)
    const file = await findCommand(config.command, { taskDir, path: env['PATH'] ?? '' })
    const cwd = await resolveWorkDirectory(taskDir, config.workDir)
    const records = new ShimRecords(handle.dir)
    await records.create(user)
    await saveLaunchRecord(handle, { env, taskDir, cwd, user })
    const call = buildShimCall({ recordsDir: handle.dir, file, args: config.args, env })
    const logs = await openOutputFiles(launch.logs, user)
    try {
      const child = await spawnShim({ call, cwd, user, logs })
      return await this.#awaitStarted(child, { handle, records, file })
    } catch (thrown) {
      await records.remove()
      await removeLaunchRecord(handle)
      throw thrown
    } finally {
      await Promise.all([logs.stdout?.close(), logs.stderr?.close()])
    }
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const bootId = await readBootId()
    if (handle.bootId !== bootId) return { kind: 'lost', reason: 'the machine was restarted' }
    const records = new ShimRecords(handle.dir)
    const claim = await this.#awaitClaim(records)
    switch (claim.kind) {
      case 'withdrawn':
        return { kind: 'never-started' }
      case 'unsaid':
        return { kind: 'lost', reason: 'its supervisor left no readable record' }
      case 'begun':
        return this.#attach(handle, records, claim.shim)
    }
  }

  /** Waits until a shim that has claimed the start has written its line. */
  async #awaitClaim(
    records: ShimRecords,
  ): Promise<Awaited<ReturnType<ShimRecords['cancelStart']>>> {
    const deadlineMs = this.#clock.monotonicMs() + START_TIMEOUT_MS
    let claim = await records.cancelStart()
    while (claim.kind === 'unsaid' && this.#clock.monotonicMs() < deadlineMs) {
      await sleep(this.#clock, START_POLL_INTERVAL_MAX_MS)
      claim = await records.cancelStart()
    }
    return claim
  }

  async #attach(
    handle: TaskHandle,
    records: ShimRecords,
    claimedShim: ProcessId,
  ): Promise<Recovery> {
    // The task can write this record: only a process of the task's user is accepted.
    const isTrusted =
      !isAlive(claimedShim) || (await isOwnedBy(claimedShim.pid, await loadLaunchRecord(handle)))
    const shim = isTrusted ? claimedShim : NO_PROCESS
    const isSessionKnown = isAlive(shim)
    // Read after checking the shim, which writes it before it exits.
    const record = await records.exitRecord()
    const { clock, table } = { clock: this.#clock, table: this.#processTable }
    if (isSessionKnown || record !== undefined) {
      const options = { handle, shim, isSessionKnown, records, table, clock, child: undefined }
      return { kind: 'attached', task: new ShellTask(options) }
    }
    await new ProcessTree({
      shim,
      isSessionIdValid: isSessionKnown,
      handle,
      table,
      clock,
    }).killAll()
    return { kind: 'lost', reason: 'its supervisor ended without a record' }
  }

  /** Resolves when the shell has executed the command; rejects if it could not. */
  async #awaitStarted(
    child: ShimChild,
    start: { readonly handle: TaskHandle; readonly records: ShimRecords; readonly file: string },
  ): Promise<RunningTask> {
    const { handle, records, file } = start
    const deadlineMs = this.#clock.monotonicMs() + START_TIMEOUT_MS
    let pollMs = START_POLL_INTERVAL_MIN_MS
    for (;;) {
      const hasShimEnded = child.hasEnded()
      const reportedShim = await records.shimProcess()
      const shim = reportedShim?.pid === child.pid ? reportedShim : undefined
      if (shim !== undefined && (hasShimEnded || (await hasExecedCommand(records)))) {
        if (await records.hasExecFailed()) {
          // The shim still writes its record; wait before the directory is removed.
          await this.#awaitShimExit(child)
          throw new Fault(
            'task-unstartable',
            `command ${JSON.stringify(file)} could not be executed`,
          )
        }
        const common = { handle, shim, records, table: this.#processTable, clock: this.#clock }
        return new ShellTask({ ...common, isSessionKnown: true, child })
      }
      if (hasShimEnded) throw new Fault('task-start', 'the supervisor of the task could not begin')
      if (this.#clock.monotonicMs() >= deadlineMs) {
        await this.#abortStart(child, handle, shim)
        throw new Fault('task-start', `the task did not begin within ${START_TIMEOUT_MS} ms`)
      }
      await sleep(this.#clock, pollMs)
      pollMs = Math.min(pollMs * 2, START_POLL_INTERVAL_MAX_MS)
    }
  }

  async #abortStart(child: ShimChild, handle: TaskHandle, shim?: ProcessId): Promise<void> {
    child.kill()
    await this.#awaitShimExit(child)
    if (shim === undefined) return
    const { clock, table } = { clock: this.#clock, table: this.#processTable }
    await new ProcessTree({ shim, isSessionIdValid: true, handle, table, clock }).killAll()
  }

  async #awaitShimExit(child: ShimChild): Promise<void> {
    const deadline = {
      clock: this.#clock,
      timeoutMs: START_TIMEOUT_MS,
      operation: 'the end of the supervisor',
    }
    await withTimeout(child.ended, deadline)
  }

  async #probe(): Promise<void> {
    const child = spawn(SHELL, ['-c', 'read -r line </proc/self/stat && exit 7'], {
      stdio: 'ignore',
      env: {},
    })
    const { promise, resolve: settle, reject } = Promise.withResolvers<number | null>()
    child.once('error', reject)
    child.once('exit', settle)
    const deadline = {
      clock: this.#clock,
      timeoutMs: START_TIMEOUT_MS,
      operation: `starting ${SHELL}`,
    }
    const status = await withTimeout(promise, deadline)
    if (status !== 7) throw new Fault('task-start', `${SHELL} does not run programs here`)
  }
}

/** No process: only processes with the task's environment keys belong to it then. */
const NO_PROCESS: ProcessId = { pid: -1, startTime: 0 }

async function isOwnedBy(pid: number, launch: LaunchRecord | undefined): Promise<boolean> {
  // Without another user the task has the rights of the agent anyway.
  if (launch?.user === undefined) return true
  const found = await stat(`/proc/${pid}`).catch(() => undefined)
  return found?.uid === launch.user.uid
}

/** Whether the process of the task has executed its command, or has already ended. */
async function hasExecedCommand(records: ShimRecords): Promise<boolean> {
  const task = await records.taskProcess()
  if (task === undefined) return false
  // A zombie's command line is empty, an ended process has none: both have started.
  const cmdline = readProcFile(task.pid, 'cmdline')
  return cmdline === undefined || !isShimCommandLine(cmdline)
}

interface OutputFiles {
  readonly stdout: FileHandle | undefined
  readonly stderr: FileHandle | undefined
}

/** Opens the log files; output goes directly to them and not through the agent. */
async function openOutputFiles(
  logs: TaskLogFiles | undefined,
  user: HostUser | undefined,
): Promise<OutputFiles> {
  if (logs === undefined) return { stdout: undefined, stderr: undefined }
  const stdout = await openOutputFile(logs.stdoutPrefix, user)
  try {
    return { stdout, stderr: await openOutputFile(logs.stderrPrefix, user) }
  } catch (thrown) {
    await stdout.close()
    throw thrown
  }
}

async function openOutputFile(prefix: string, user: HostUser | undefined): Promise<FileHandle> {
  const newest = (await listLogNumbers(prefix)).at(-1) ?? 0
  const file = await openLogFile(prefix, newest)
  // Programs reopen their output as /dev/stdout.
  if (user !== undefined) await file.chown(user.uid, user.gid)
  return file
}

/** User of the task; only root can switch users. */
async function resolveTaskUser(name: string): Promise<HostUser | undefined> {
  const user = await getHostUser(name)
  const agentUid = getuid?.()
  if (agentUid === user.uid) return undefined
  if (agentUid === 0) return user
  throw new Fault('task-unstartable', `the agent must run as root to run a task as ${name}`)
}

export async function resolveWorkDirectory(
  taskDir: string,
  workDir: string | undefined,
): Promise<string> {
  const path = workDir === undefined ? taskDir : resolve(taskDir, workDir)
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isDirectory() === true) return path
  throw new Fault('task-unstartable', `work_dir ${JSON.stringify(path)} is not a directory`)
}

interface SpawnOptions {
  readonly call: ReturnType<typeof buildShimCall>
  readonly cwd: string
  readonly user: HostUser | undefined
  readonly logs: OutputFiles
}

async function spawnShim({ call, cwd, user, logs }: SpawnOptions): Promise<ShimChild> {
  const { promise, resolve: resolveShim, reject } = Promise.withResolvers<ShimChild>()
  try {
    const child = spawn(SHELL, [...call.args], {
      cwd,
      env: { ...call.env },
      // A separate session: the end of the agent or its terminal does not affect the task.
      detached: true,
      stdio: ['ignore', logs.stdout?.fd ?? 'ignore', logs.stderr?.fd ?? 'ignore'],
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    })
    child.once('error', (error) => reject(spawnFault(error)))
    const shim = toShimChild(child)
    child.once('spawn', () => resolveShim(shim))
  } catch (thrown) {
    reject(spawnFault(thrown))
  }
  return promise
}

/** Too long arguments are permanent; a lack of resources is temporary. */
function spawnFault(thrown: unknown): Fault {
  const message = errorMessage(thrown)
  const kind = message.includes('E2BIG') ? 'task-unstartable' : 'task-start'
  return new Fault(kind, `the task cannot be started: ${message}`, { cause: thrown })
}

/** Registers the listeners immediately: a shim may exit before it is awaited. */
function toShimChild(child: ChildProcess): ShimChild {
  const ended = new Promise<number | undefined>((resolveStatus) => {
    child.once('exit', (code) => resolveStatus(code ?? undefined))
  })
  return {
    pid: child.pid,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    release: () => child.unref(),
    kill: () => child.kill('SIGKILL'),
  }
}
