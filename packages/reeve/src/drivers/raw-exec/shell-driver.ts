import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile, stat, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { getuid } from 'node:process'
import {
  findUser,
  pause,
  withDeadline,
  type DriverHealth,
  type HostUser,
  type LogFiles,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { logNumbers, openLogFile } from '../logs/log-sequence.ts'
import { findCommand } from './command.ts'
import { readConfig, withoutDenied } from './config.ts'
import { ProcessTree } from './process-tree.ts'
import { isAlive, ProcessTable, readProc, type ProcessRef } from './processes.ts'
import { ShellTask, type ShimChild } from './shell-task.ts'
import { ShimRecords } from './records.ts'
import { loadLaunch, removeLaunch, saveLaunch, type SavedLaunch } from './saved-launch.ts'
import { isShimCommandLine, SHELL, shimCall } from './shim.ts'

/** How long a shim may take to begin and become the command. */
const BEGIN_MS_MAX = 10_000
const BEGIN_LOOK_MS = 1
const BEGIN_LOOK_MS_MAX = 50

const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/**
 * The way to run plain programs where the native helper cannot run: no limits, no terminals, no
 * rotation of logs. The program stands under a shim of its
 * own session (shim.ts), writes to its log files directly, and so needs the agent neither to run
 * nor to end.
 */
export class ShellRawExecDriver implements TaskDriver {
  readonly name = 'raw_exec'
  readonly isolation = 'none'
  readonly #clock: Clock
  readonly #table = new ProcessTable()
  #wasProbed = false

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock
  }

  async fingerprint(): Promise<DriverHealth> {
    try {
      await access(SHELL, constants.X_OK)
      await readFile('/proc/self/stat')
      // Really starting something is worth a process once, not every half minute.
      if (!this.#wasProbed) await this.#probe()
      this.#wasProbed = true
    } catch (thrown) {
      return { detected: false, healthy: false, description: errorMessage(thrown), attributes: {} }
    }
    const attributes = { 'driver.raw_exec': '1' }
    return { detected: true, healthy: true, description: 'Healthy', attributes }
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const { handle, taskDir } = launch
    const config = readConfig(launch.config)
    if (launch.network.namespacePath !== undefined) {
      const message = 'a network of its own needs the native helper, which this node has not'
      throw new Fault('task-unstartable', message)
    }
    const env = withoutDenied(launch.env, config.deniedVariables)
    const user = launch.user === '' ? undefined : await changeableUser(launch.user)
    const file = await findCommand(config.command, { taskDir, path: env['PATH'] ?? '' })
    const cwd = await workDirectory(taskDir, config.workDir)
    const records = new ShimRecords(handle.dir)
    await records.create(user)
    await saveLaunch(handle, { env, taskDir, cwd, user })
    const call = shimCall({ recordsDir: handle.dir, file, args: config.args, env })
    const logs = await openLogs(launch.logs, user)
    try {
      const child = await spawned({ call, cwd, user, logs })
      return await this.#begun(child, { handle, records, file })
    } catch (thrown) {
      await records.remove()
      await removeLaunch(handle)
      throw thrown
    } finally {
      await Promise.all([logs.stdout?.close(), logs.stderr?.close()])
    }
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const bootId = (await readFile(BOOT_ID, 'utf8')).trim()
    if (handle.bootId !== bootId) return { kind: 'lost', reason: 'the machine was restarted' }
    const records = new ShimRecords(handle.dir)
    const claim = await this.#settledClaim(records)
    switch (claim.kind) {
      case 'withdrawn':
        return { kind: 'never-started' }
      case 'unsaid':
        return { kind: 'lost', reason: 'its supervisor left no readable record' }
      case 'begun':
        return this.#attach(handle, records, claim.shim)
    }
  }

  /** A shim that has just taken its claim says within moments who it is. */
  async #settledClaim(records: ShimRecords): Promise<Awaited<ReturnType<ShimRecords['withdraw']>>> {
    const untilMs = this.#clock.monotonicMs() + BEGIN_MS_MAX
    let claim = await records.withdraw()
    while (claim.kind === 'unsaid' && this.#clock.monotonicMs() < untilMs) {
      await pause(this.#clock, BEGIN_LOOK_MS_MAX)
      claim = await records.withdraw()
    }
    return claim
  }

  async #attach(handle: TaskHandle, records: ShimRecords, said: ProcessRef): Promise<Recovery> {
    // The task can write this record. Whom it names must be one of its user's, and nobody else's.
    const isOwn = !isAlive(said) || (await isOwnedBy(said.pid, await loadLaunch(handle)))
    const shim = isOwn ? said : NOBODY
    const isSessionKnown = isAlive(shim)
    // Read after the look at the shim: it writes before it ends.
    const record = await records.exit()
    const { clock, table } = { clock: this.#clock, table: this.#table }
    if (isSessionKnown || record !== undefined) {
      const options = { handle, shim, isSessionKnown, records, table, clock, child: undefined }
      return { kind: 'attached', task: new ShellTask(options) }
    }
    await new ProcessTree({ shim, isSessionKnown, handle, table, clock }).kill()
    return { kind: 'lost', reason: 'its supervisor ended without a record' }
  }

  /** Resolves when the command has taken the place of the shell; rejects when it could not. */
  async #begun(
    child: ShimChild,
    start: { readonly handle: TaskHandle; readonly records: ShimRecords; readonly file: string },
  ): Promise<RunningTask> {
    const { handle, records, file } = start
    const untilMs = this.#clock.monotonicMs() + BEGIN_MS_MAX
    let lookMs = BEGIN_LOOK_MS
    for (;;) {
      const isOver = child.hasEnded()
      const said = await records.shim()
      const shim = said?.pid === child.pid ? said : undefined
      if (shim !== undefined && (isOver || (await hasBecomeCommand(records)))) {
        if (await records.hasFailedExec()) {
          // It still writes its record; nobody may be at work in the directory that is removed
          // next.
          await this.#endOf(child)
          throw new Fault(
            'task-unstartable',
            `command ${JSON.stringify(file)} could not be executed`,
          )
        }
        const common = { handle, shim, records, table: this.#table, clock: this.#clock }
        return new ShellTask({ ...common, isSessionKnown: true, child })
      }
      if (isOver) throw new Fault('task-start', 'the supervisor of the task could not begin')
      if (this.#clock.monotonicMs() >= untilMs) {
        await this.#giveUp(child, handle, shim)
        throw new Fault('task-start', `the task did not begin within ${BEGIN_MS_MAX} ms`)
      }
      await pause(this.#clock, lookMs)
      lookMs = Math.min(lookMs * 2, BEGIN_LOOK_MS_MAX)
    }
  }

  async #giveUp(child: ShimChild, handle: TaskHandle, shim?: ProcessRef): Promise<void> {
    child.kill()
    await this.#endOf(child)
    if (shim === undefined) return
    const { clock, table } = { clock: this.#clock, table: this.#table }
    await new ProcessTree({ shim, isSessionKnown: true, handle, table, clock }).kill()
  }

  async #endOf(child: ShimChild): Promise<void> {
    const deadline = { clock: this.#clock, ms: BEGIN_MS_MAX, what: 'the end of the supervisor' }
    await withDeadline(child.ended, deadline)
  }

  async #probe(): Promise<void> {
    const child = spawn(SHELL, ['-c', 'read -r line </proc/self/stat && exit 7'], {
      stdio: 'ignore',
      env: {},
    })
    const { promise, resolve: settle, reject } = Promise.withResolvers<number | null>()
    child.once('error', reject)
    child.once('exit', settle)
    const deadline = { clock: this.#clock, ms: BEGIN_MS_MAX, what: `starting ${SHELL}` }
    const status = await withDeadline(promise, deadline)
    if (status !== 7) throw new Fault('task-start', `${SHELL} does not run programs here`)
  }
}

/** No process at all: only those that carry the marks of the task are its own then. */
const NOBODY: ProcessRef = { pid: -1, startTime: 0 }

async function isOwnedBy(pid: number, launch: SavedLaunch | undefined): Promise<boolean> {
  // Without another user the task is whoever the agent is, and may do all this by itself.
  if (launch?.user === undefined) return true
  const found = await stat(`/proc/${pid}`).catch(() => undefined)
  return found?.uid === launch.user.uid
}

/** True once the process of the task is another program than its shell, or already gone. */
async function hasBecomeCommand(records: ShimRecords): Promise<boolean> {
  const task = await records.task()
  if (task === undefined) return false
  // A zombie's command line is empty, a process that ended has none: it did begin.
  const cmdline = readProc(task.pid, 'cmdline')
  return cmdline === undefined || !isShimCommandLine(cmdline)
}

interface OutputFiles {
  readonly stdout: FileHandle | undefined
  readonly stderr: FileHandle | undefined
}

/** The descriptors go straight to the task: no byte of its output passes through the agent. */
async function openLogs(
  logs: LogFiles | undefined,
  user: HostUser | undefined,
): Promise<OutputFiles> {
  if (logs === undefined) return { stdout: undefined, stderr: undefined }
  const stdout = await openLog(logs.stdoutPrefix, user)
  try {
    return { stdout, stderr: await openLog(logs.stderrPrefix, user) }
  } catch (thrown) {
    await stdout.close()
    throw thrown
  }
}

async function openLog(prefix: string, user: HostUser | undefined): Promise<FileHandle> {
  const newest = (await logNumbers(prefix)).at(-1) ?? 0
  const file = await openLogFile(prefix, newest)
  // Programs open their own output again by the name /dev/stdout.
  if (user !== undefined) await file.chown(user.uid, user.gid)
  return file
}

/** Only root may become somebody else. */
async function changeableUser(name: string): Promise<HostUser | undefined> {
  const user = await findUser(name)
  const own = getuid?.()
  if (own === user.uid) return undefined
  if (own === 0) return user
  throw new Fault('task-unstartable', `the agent must run as root to run a task as ${name}`)
}

export async function workDirectory(taskDir: string, wanted: string | undefined): Promise<string> {
  const path = wanted === undefined ? taskDir : resolve(taskDir, wanted)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() === true) return path
  throw new Fault('task-unstartable', `work_dir ${JSON.stringify(path)} is not a directory`)
}

interface Spawn {
  readonly call: ReturnType<typeof shimCall>
  readonly cwd: string
  readonly user: HostUser | undefined
  readonly logs: OutputFiles
}

async function spawned({ call, cwd, user, logs }: Spawn): Promise<ShimChild> {
  const { promise, resolve: settle, reject } = Promise.withResolvers<ShimChild>()
  try {
    const child = spawn(SHELL, [...call.args], {
      cwd,
      env: { ...call.env },
      // A session of its own: the end of the agent or of its terminal is not the task's.
      detached: true,
      stdio: ['ignore', logs.stdout?.fd ?? 'ignore', logs.stderr?.fd ?? 'ignore'],
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    })
    child.once('error', (error) => reject(cannotSpawn(error)))
    const shim = watched(child)
    child.once('spawn', () => settle(shim))
  } catch (thrown) {
    reject(cannotSpawn(thrown))
  }
  return promise
}

/** Arguments that are too long stay too long; a machine without room may have some later. */
function cannotSpawn(thrown: unknown): Fault {
  const text = errorMessage(thrown)
  const kind = text.includes('E2BIG') ? 'task-unstartable' : 'task-start'
  return new Fault(kind, `the task cannot be started: ${text}`, { cause: thrown })
}

/** Listens from the start: a shim may end before anybody asks. */
function watched(child: ChildProcess): ShimChild {
  const ended = new Promise<number | undefined>((settle) => {
    child.once('exit', (code) => settle(code ?? undefined))
  })
  return {
    pid: child.pid,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    release: () => child.unref(),
    kill: () => child.kill('SIGKILL'),
  }
}
