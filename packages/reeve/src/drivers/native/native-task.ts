import { readFile, rm } from 'node:fs/promises'
import { NEVER, UNKNOWN_STATUS } from '../proc/processes.ts'
import { constants } from 'node:os'
import { join } from 'node:path'
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
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { ExitWatcher } from './exit-watcher.ts'
import { execInTask } from './native-exec.ts'
import type { Launcher } from './launcher.ts'
import type { ExitRecord, HandleRecord } from './supervisor-records.ts'
import type { TaskSpec } from './task-spec.ts'

/** Default stop signal. */
const DEFAULT_SIGNAL = 'SIGINT'

/** How long processes may take to disappear after SIGKILL. */
const KILL_TIMEOUT_MS = 10_000

interface NativeTaskOptions {
  readonly handle: TaskHandle
  readonly record: HandleRecord
  readonly spec: TaskSpec
  readonly program: string
  readonly launcher: Launcher
  readonly exitWatcher: ExitWatcher
  readonly clock: Clock
}

/** A task under the shim of the helper, started by this or an earlier agent. */
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
    this.exited = this.#awaitExit()
  }

  async signal(name: string): Promise<void> {
    const number = findSignal(name)?.number
    if (number === undefined) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    if (this.#hasExited || !(await this.#sendSignal(number))) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  async stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.#hasExited) return
    const { clock } = this.#options
    // An invalid signal must not keep the task alive.
    await this.#sendSignal(findSignal(signal)?.number ?? constants.signals[DEFAULT_SIGNAL])
    const cancelTimeout = new AbortController()
    const timeout = sleep(clock, timeoutMs, cancelTimeout.signal).then(() => undefined)
    const exit = await Promise.race([this.exited, timeout])
    cancelTimeout.abort()
    if (exit !== undefined) return
    await killTree(this.#options.launcher, this.#options.record).catch((thrown: unknown) => {
      throw new Fault('task-unkillable', errorMessage(thrown), { cause: thrown })
    })
    this.#options.exitWatcher.check(this.handle.id)
    const deadline = { clock, timeoutMs: KILL_TIMEOUT_MS, operation: 'the record of the end' }
    await withTimeout(this.exited, deadline)
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
    return readCgroupUsage(this.#options.record.cgroups, this.#options.clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
  }

  /** Removes the records. The exit file goes last: it tells the next agent how the task ended. */
  async destroyRecords(): Promise<void> {
    await rm(this.handle.dir, { recursive: true, force: true })
    await rm(this.#options.exitWatcher.pathOf(this.handle.id), { force: true })
  }

  /** Returns false if the task is gone. */
  async #sendSignal(signal: number): Promise<boolean> {
    const { pid, startTime } = this.#options.record.task
    try {
      await this.#options.launcher.request('kill', { pid, startTime, signal })
      return true
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'helper-gone') return false
      throw new Fault('task-signal', errorMessage(thrown), { cause: thrown })
    }
  }

  async #awaitExit(): Promise<TaskExit> {
    const { exitWatcher, record, launcher } = this.#options
    const { signal } = this.#detached
    const exit = await exitWatcher.wait(this.handle.id, record.shim, signal)
    let killProblem = ''
    if (exit === undefined) {
      killProblem = await killTree(launcher, record).then(() => '', errorMessage)
    }
    await removeCgroups(launcher, record)
    this.#hasExited = true
    if (signal.aborted) return NEVER
    return exit === undefined ? this.#lostExit(killProblem) : exitOf(exit)
  }

  #lostExit(killProblem: string): TaskExit {
    const message = `the supervisor of the task ended without saying how the task did ${killProblem}`
    return {
      exitCode: UNKNOWN_STATUS,
      signal: 0,
      oomKilled: false,
      message: message.trim(),
      atMs: this.#options.clock.nowMs(),
    }
  }
}

function exitOf(record: ExitRecord): TaskExit {
  const { code, signal, isOomKilled, survivors, atMs } = record
  const message = survivors === 0 ? '' : `${survivors} processes of the task survived SIGKILL`
  return { exitCode: code, signal, oomKilled: isOomKilled, message, atMs }
}

/** Kills all processes of a task; resolves when none is left. */
export async function killTree(launcher: Launcher, record: HandleRecord): Promise<void> {
  const { rootProcess, task, shim, killCgroup } = record
  await launcher.request(
    'killTree',
    {
      shimPid: shim.pid,
      shimStartTime: shim.startTime,
      pid: rootProcess.pid,
      startTime: rootProcess.startTime,
      taskPid: task.pid,
      taskStartTime: task.startTime,
      ...(killCgroup === '' ? {} : { killCgroup }),
      timeoutMs: KILL_TIMEOUT_MS,
    },
    3 * KILL_TIMEOUT_MS,
  )
}

/** Removes cgroups. A failure only costs memory and does not affect the task. */
export async function removeCgroups(launcher: Launcher, record: HandleRecord): Promise<void> {
  if (record.cgroups.length === 0) return
  await launcher.request('removeCgroups', { paths: record.cgroups }).catch(() => undefined)
}

const NS_PER_US = 1_000
const NS_PER_TICK = 10_000_000

/** Statistics files of both cgroup versions; a cgroup has those of its controllers. */
const COUNTER_FILES = [
  'cpu.stat',
  'cpuacct.usage',
  'cpuacct.stat',
  'memory.current',
  'memory.peak',
  'memory.swap.current',
  'memory.stat',
  'memory.usage_in_bytes',
  'memory.max_usage_in_bytes',
  'pids.current',
  'cgroup.procs',
] as const

/** Contents of the existing files of all cgroups; `cpu.stat` of v1 is separate. */
type Counters = Readonly<Partial<Record<(typeof COUNTER_FILES)[number] | 'throttling', string>>>

/** Returns undefined if the cgroups are gone. */
async function readCgroupUsage(
  groups: readonly string[],
  atMs: number,
): Promise<TaskUsage | undefined> {
  const pairs = await Promise.all(
    groups.flatMap((group) =>
      COUNTER_FILES.map(async (file) => [file, await readCounterFile(group, file)] as const),
    ),
  )
  const counters: Partial<Record<(typeof COUNTER_FILES)[number] | 'throttling', string>> = {}
  for (const [file, text] of pairs) {
    if (text === undefined) continue
    // In v1 the file only contains throttling, in v2 all CPU statistics.
    if (file === 'cpu.stat' && !text.includes('usage_usec')) counters.throttling = text
    else counters[file] = text
  }
  return Object.keys(counters).length === 0 ? undefined : usageFromCounters(counters, atMs)
}

async function readCounterFile(group: string, file: string): Promise<string | undefined> {
  return readFile(join(group, file), 'utf8').catch(() => undefined)
}

export function usageFromCounters(counters: Counters, atMs: number): TaskUsage {
  const cpuStat = parseCounterLines(counters['cpu.stat'])
  const cpuTicks = parseCounterLines(counters['cpuacct.stat'])
  const throttling = parseCounterLines(counters.throttling)
  const memory = parseCounterLines(counters['memory.stat'])
  const cacheBytes = memory('total_cache') ?? memory('cache') ?? memory('file') ?? 0
  const rssBytes = memory('total_rss') ?? memory('rss') ?? memory('anon') ?? 0
  const usageBytes =
    parseCounter(counters['memory.usage_in_bytes']) ??
    parseCounter(counters['memory.current']) ??
    rssBytes + cacheBytes
  const peak =
    parseCounter(counters['memory.max_usage_in_bytes']) ??
    parseCounter(counters['memory.peak']) ??
    0
  return {
    atMs,
    cpu: {
      totalNs: parseCounter(counters['cpuacct.usage']) ?? (cpuStat('usage_usec') ?? 0) * NS_PER_US,
      userNs: microsecondsToNs(cpuStat('user_usec')) ?? (cpuTicks('user') ?? 0) * NS_PER_TICK,
      systemNs: microsecondsToNs(cpuStat('system_usec')) ?? (cpuTicks('system') ?? 0) * NS_PER_TICK,
      throttledPeriods: throttling('nr_throttled') ?? cpuStat('nr_throttled') ?? 0,
      throttledNs: throttling('throttled_time') ?? microsecondsToNs(cpuStat('throttled_usec')) ?? 0,
    },
    memory: {
      rssBytes,
      cacheBytes,
      swapBytes: memory('total_swap') ?? parseCounter(counters['memory.swap.current']) ?? 0,
      usageBytes,
      maxUsageBytes: Math.max(peak, usageBytes),
    },
    pids: parseCounter(counters['pids.current']) ?? lineCount(counters['cgroup.procs']),
  }
}

function lineCount(text: string | undefined): number {
  return (text ?? '').split('\n').filter((line) => line !== '').length
}

function microsecondsToNs(microseconds: number | undefined): number | undefined {
  return microseconds === undefined ? undefined : microseconds * NS_PER_US
}

function parseCounter(text: string | undefined): number | undefined {
  const match = /^(\d+)\s*$/.exec(text ?? '')
  return match === null ? undefined : Number(match[1])
}

/** Returns the number after a name in a file with `name number` lines. */
function parseCounterLines(text: string | undefined): (name: string) => number | undefined {
  const found = new Map(
    (text ?? '').split('\n').map((line) => {
      const [name = '', number = ''] = line.split(' ')
      return [name, Number(number)] as const
    }),
  )
  return (name) => found.get(name)
}
