import { constants } from 'node:os'
import { kill, pid as ownPid } from 'node:process'
import {
  ALLOCATION_ENV_KEY,
  errorCode,
  sleep,
  TASK_ENV_KEY,
  type TaskHandle,
  type TaskUsage,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import {
  isAlive,
  readProcFile,
  type ProcessInfo,
  type ProcessId,
  type ProcessTable,
} from './processes.ts'

/** Timeout for processes to disappear after SIGKILL before they count as unkillable. */
const KILL_TIMEOUT_MS = 10_000
const POLL_INTERVAL_MIN_MS = 5
const POLL_INTERVAL_MAX_MS = 200

interface ProcessTreeOptions {
  readonly shim: ProcessId
  /**
   * Whether the shim was just alive, so that its PID still identifies its session. Later the PID
   * may be reused, and only environment variables identify the processes of a task.
   */
  readonly isSessionIdValid: boolean
  readonly handle: Pick<TaskHandle, 'allocationId' | 'task'>
  readonly table: ProcessTable
  readonly clock: Clock
}

/** All processes of one task, except the shim. */
export class ProcessTree {
  readonly #options: ProcessTreeOptions
  readonly #environmentKeys: readonly Buffer[]

  constructor(options: ProcessTreeOptions) {
    this.#options = options
    const { allocationId, task } = options.handle
    this.#environmentKeys = [
      Buffer.from(`\0${ALLOCATION_ENV_KEY}=${allocationId}\0`),
      Buffer.from(`\0${TASK_ENV_KEY}=${task}\0`),
    ]
  }

  /** Returns the processes that have not ended. */
  async findProcesses(): Promise<readonly ProcessInfo[]> {
    const { shim, table, isSessionIdValid } = this.#options
    const processes = (await table.scan()).filter(
      (candidate) => !candidate.isZombie && candidate.pid !== ownPid,
    )
    const descendants = descendantPids(processes, shim, isSessionIdValid)
    return processes.filter((candidate) => {
      if (candidate.pid === shim.pid) return false
      // A process that left its session and lost its parent still has the initial environment of
      // the task.
      return (
        descendants.has(candidate.pid) ||
        (candidate.startTime >= shim.startTime && this.#hasTaskEnvironment(candidate.pid))
      )
    })
  }

  /**
   * Sends a signal to the processes that a terminal would signal: the process group of the start,
   * and the task's own if it created one.
   */
  async signalGroup(task: ProcessId | undefined, signal: number): Promise<void> {
    const groups = new Set([this.#options.shim.pid, task?.pid])
    for (const process of await this.findProcesses()) {
      if (groups.has(process.processGroup) || process.pid === task?.pid)
        signalProcess(process, signal)
    }
  }

  /** Kills all processes and waits until they are gone. Fault `task-unkillable` if some remain. */
  async killAll(): Promise<void> {
    const { clock } = this.#options
    const deadlineMs = clock.monotonicMs() + KILL_TIMEOUT_MS
    let pollMs = POLL_INTERVAL_MIN_MS
    for (;;) {
      const remaining = await this.findProcesses()
      if (remaining.length === 0) return
      if (clock.monotonicMs() >= deadlineMs) {
        const pids = remaining.map((process) => process.pid).join(', ')
        throw new Fault('task-unkillable', `processes ${pids} of the task survived SIGKILL`)
      }
      for (const process of remaining) signalProcess(process, constants.signals.SIGKILL)
      await sleep(clock, pollMs)
      pollMs = Math.min(pollMs * 2, POLL_INTERVAL_MAX_MS)
    }
  }

  #hasTaskEnvironment(pid: number): boolean {
    const environ = readProcFile(pid, 'environ')
    if (environ === undefined) return false
    const bounded = Buffer.concat([NUL, environ])
    return this.#environmentKeys.every((entry) => bounded.includes(entry))
  }
}

const NUL = Buffer.from([0])

/** The descendants of the shim, and all processes in their sessions. */
export function descendantPids(
  processes: readonly ProcessInfo[],
  shim: ProcessId,
  isSessionIdValid: boolean,
): ReadonlySet<number> {
  const children = Map.groupBy(processes, (candidate) => candidate.parentPid)
  const isShimRunning = processes.some(
    (candidate) => candidate.pid === shim.pid && candidate.startTime === shim.startTime,
  )
  const unvisited = isShimRunning ? [shim.pid] : []
  if (isShimRunning || isSessionIdValid) {
    for (const candidate of processes)
      if (candidate.sessionId === shim.pid) unvisited.push(candidate.pid)
  }
  const found = new Set<number>()
  for (let pid = unvisited.pop(); pid !== undefined; pid = unvisited.pop()) {
    if (found.has(pid)) continue
    found.add(pid)
    for (const child of children.get(pid) ?? []) unvisited.push(child.pid)
  }
  found.delete(shim.pid)
  return found
}

/** Signals this process, but not a later one with the same PID. False if it is gone. */
export function signalProcess(processId: ProcessId, signal: number): boolean {
  if (!isAlive(processId)) return false
  try {
    return kill(processId.pid, signal)
  } catch (thrown) {
    if (errorCode(thrown) === 'ESRCH') return false
    throw new Fault('task-signal', `cannot signal process ${processId.pid}`, { cause: thrown })
  }
}

/** The kernel reports CPU time in 1/100 s, whatever its internal tick rate is. */
const NS_PER_TICK = 10_000_000

const BYTES_PER_KB = 1024

/** Returns the total usage of processes according to `/proc`. Undefined if none is left. */
export function usageOfProcesses(
  members: readonly ProcessInfo[],
  atMs: number,
): TaskUsage | undefined {
  const usages = members.flatMap(({ pid }) => {
    const stat = readProcFile(pid, 'stat')?.toString('latin1')
    const status = readProcFile(pid, 'status')?.toString('latin1')
    return stat === undefined || status === undefined ? [] : [processUsage(stat, status)]
  })
  if (usages.length === 0) return undefined
  const sum = (of: (usage: ProcessUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0)
  const userNs = sum((usage) => usage.userTicks) * NS_PER_TICK
  const systemNs = sum((usage) => usage.systemTicks) * NS_PER_TICK
  const rssBytes = sum((usage) => usage.rssKb) * BYTES_PER_KB
  const maxUsageBytes = sum((usage) => usage.peakKb) * BYTES_PER_KB
  const swapBytes = sum((usage) => usage.swapKb) * BYTES_PER_KB
  return {
    atMs,
    cpu: { totalNs: userNs + systemNs, userNs, systemNs, throttledPeriods: 0, throttledNs: 0 },
    memory: { rssBytes, cacheBytes: 0, swapBytes, usageBytes: rssBytes, maxUsageBytes },
    pids: usages.length,
  }
}

interface ProcessUsage {
  readonly userTicks: number
  readonly systemTicks: number
  readonly rssKb: number
  readonly peakKb: number
  readonly swapKb: number
}

/** Includes ended children that the process has waited for. */
function processUsage(stat: string, status: string): ProcessUsage {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = (index: number): number => Number(fields[index] ?? 0) || 0
  const kb = (name: string): number => {
    const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)
    return Number(match?.[1] ?? 0)
  }
  return {
    userTicks: ticks(11) + ticks(13),
    systemTicks: ticks(12) + ticks(14),
    rssKb: kb('VmRSS'),
    peakKb: kb('VmHWM'),
    swapKb: kb('VmSwap'),
  }
}
