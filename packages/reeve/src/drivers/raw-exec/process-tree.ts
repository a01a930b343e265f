import { constants } from 'node:os'
import { kill, pid as ownPid } from 'node:process'
import { ALLOCATION_MARK, errorCode, pause, TASK_MARK, type TaskHandle } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import {
  isAlive,
  readProc,
  type ProcessInfo,
  type ProcessRef,
  type ProcessTable,
} from './processes.ts'

/** How long processes may take to disappear after SIGKILL before they count as unkillable. */
const GONE_MS_MAX = 10_000
const LOOK_MS_FIRST = 5
const LOOK_MS_MAX = 200

interface TreeOptions {
  readonly shim: ProcessRef
  /**
   * Whether the shim was alive a moment ago, so that its number still names its session. After a
   * longer absence the number may belong to strangers, and only the environment tells whose a
   * process is.
   */
  readonly isSessionKnown: boolean
  readonly handle: Pick<TaskHandle, 'allocationId' | 'task'>
  readonly table: ProcessTable
  readonly clock: Clock
}

/** All processes of one task, however they are related to it. The shim is not one of them. */
export class ProcessTree {
  readonly #options: TreeOptions
  readonly #marks: readonly Buffer[]

  constructor(options: TreeOptions) {
    this.#options = options
    const { allocationId, task } = options.handle
    this.#marks = [
      Buffer.from(`\0${ALLOCATION_MARK}=${allocationId}\0`),
      Buffer.from(`\0${TASK_MARK}=${task}\0`),
    ]
  }

  /** Those that have not ended. */
  async members(): Promise<readonly ProcessInfo[]> {
    const { shim, table, isSessionKnown } = this.#options
    const all = (await table.scan()).filter((one) => !one.isZombie && one.pid !== ownPid)
    const related = relatives(all, shim, isSessionKnown)
    return all.filter((one) => {
      if (one.pid === shim.pid) return false
      // A process that left its session and lost its parent still has the environment it was
      // started with.
      return related.has(one.pid) || (one.startTime >= shim.startTime && this.#isMarked(one.pid))
    })
  }

  /**
   * Sends a signal to the processes that a terminal would send it to: the group in which the task
   * was started, and the task's own if it made one.
   */
  async signalGroup(task: ProcessRef | undefined, signal: number): Promise<void> {
    const groups = new Set([this.#options.shim.pid, task?.pid])
    for (const one of await this.members()) {
      if (groups.has(one.group) || one.pid === task?.pid) sendSignal(one, signal)
    }
  }

  /**
   * Ends them all by force and sees that they are gone. Fault `task-unkillable` when some are not.
   */
  async kill(): Promise<void> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + GONE_MS_MAX
    let lookMs = LOOK_MS_FIRST
    for (;;) {
      const left = await this.members()
      if (left.length === 0) return
      if (clock.monotonicMs() >= untilMs) {
        const pids = left.map((one) => one.pid).join(', ')
        throw new Fault('task-unkillable', `processes ${pids} of the task survived SIGKILL`)
      }
      for (const one of left) sendSignal(one, constants.signals.SIGKILL)
      await pause(clock, lookMs)
      lookMs = Math.min(lookMs * 2, LOOK_MS_MAX)
    }
  }

  #isMarked(pid: number): boolean {
    const environ = readProc(pid, 'environ')
    if (environ === undefined) return false
    const bounded = Buffer.concat([NUL, environ])
    return this.#marks.every((mark) => bounded.includes(mark))
  }
}

const NUL = Buffer.from([0])

/** The descendants of the shim, and whoever shares its session with theirs. */
export function relatives(
  all: readonly ProcessInfo[],
  shim: ProcessRef,
  isSessionKnown: boolean,
): ReadonlySet<number> {
  const children = Map.groupBy(all, (one) => one.parent)
  const isShimThere = all.some((one) => one.pid === shim.pid && one.startTime === shim.startTime)
  const unvisited = isShimThere ? [shim.pid] : []
  if (isShimThere || isSessionKnown) {
    for (const one of all) if (one.session === shim.pid) unvisited.push(one.pid)
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

/** Signals exactly this process, not one that got its number later. False when it is gone. */
export function sendSignal(ref: ProcessRef, signal: number): boolean {
  if (!isAlive(ref)) return false
  try {
    return kill(ref.pid, signal)
  } catch (thrown) {
    if (errorCode(thrown) === 'ESRCH') return false
    throw new Fault('task-signal', `cannot signal process ${ref.pid}`, { cause: thrown })
  }
}
