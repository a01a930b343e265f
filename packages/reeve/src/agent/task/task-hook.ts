import type { TaskEventType } from '@reeve/contract'
import type { Clock, Random } from '@reeve/kit/clock.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { RunningTask, TaskIsolation } from '../driver.ts'
import type { Log } from '../log.ts'
import type { AllocationNetwork } from '../network/allocation-network.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { TaskPaths, Workspace } from '../store/workspace.ts'
import type { TaskMount } from '../task-launch.ts'
import type { TaskEnvironment } from './environment.ts'
import type { TaskControl } from './task-control.ts'

/**
 * One thing that is done for a task beside running it. Steps run in the order of the list; each is
 * safe to run again after the agent was killed in the middle of it.
 */
export interface TaskHook {
  readonly name: string
  /** True: what `beforeStart` did lasts, so it is left out when the task starts again. */
  readonly once: boolean
  /** The event that announces `beforeStart`: `Task Setup` with the text, or another. */
  readonly announces?: string
  readonly announcesAs?: TaskEventType
  /** Whether this task needs it at all. */
  applies?(context: TaskHookContext): boolean
  /**
   * A Fault `task-invalid` or `task-unstartable` ends the task, any other is tried again by policy.
   */
  beforeStart?(context: TaskHookContext): Promise<LaunchAddition | void>
  /** After each start, and when an agent took over a task that runs. A fault is only logged. */
  afterStart?(context: TaskHookContext, running: RunningTask): Promise<void>
  /** Before the task is told to end, for good or to start again. A fault is only logged. */
  beforeStop?(context: TaskHookContext): Promise<void>
  /** When the process has ended and nobody has been told yet. A fault is only logged. */
  atExit?(context: TaskHookContext): Promise<void>
  /** After each end of the process. A fault is only logged. */
  afterExit?(context: TaskHookContext): Promise<void>
  /** The job changed in a way that needs no new process. */
  update?(assignment: Assignment, task: AgentTask): void
  /** The task is dead, or the agent goes: nothing may be left that wakes up. Safe to repeat. */
  close?(): void
}

/** Makes a hook for each task: for those that keep something between two calls. */
export type TaskHookSource = TaskHook | (() => TaskHook)

/** What a hook adds to the start of the task. Later hooks win over earlier ones. */
export interface LaunchAddition {
  readonly env?: Readonly<Record<string, string>>
  readonly mounts?: readonly TaskMount[]
}

export interface TaskHookContext {
  readonly assignment: Assignment
  readonly task: AgentTask
  /** The user to run as, with references resolved; empty: the driver's default. */
  readonly user: string
  /** The same, with the driver's default in its place; empty where the driver has none. */
  readonly runsAs: string
  readonly workspace: Workspace
  /** As the machine names them. */
  readonly paths: TaskPaths
  readonly isolation: TaskIsolation
  /** That of the allocation, where it has one of its own. */
  readonly network: AllocationNetwork | undefined
  /** Before what hooks add. */
  readonly environment: TaskEnvironment
  readonly node: NodeFacts
  readonly control: TaskControl
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Fires when the task is killed or the agent stops. */
  readonly signal: AbortSignal
}
