import type { TaskEventType } from '@reeve/contract'
import type { Clock, Random } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { RunningTask, TaskIsolation, TaskMount } from '../driver.ts'
import type { Logger } from '../log.ts'
import type { AllocationNetwork } from '../network/allocation-network.ts'
import type { NodeInfo } from '../node-info.ts'
import type { TaskPaths, Workspace } from '../store/workspace.ts'
import type { TaskEnvironment } from './environment.ts'
import type { TaskControl } from './task-control.ts'
import type { TaskRecorder } from './task-recorder.ts'

/**
 * Work for a task besides running it. Hooks run in the order of the list; each is safe to repeat
 * after the agent was killed in the middle of it.
 */
export interface TaskHook {
  readonly name: string
  /** True: the result of `beforeStart` is permanent, so it is skipped when the task restarts. */
  readonly runsOnce: boolean
  /** Message of the event before `beforeStart`, and its type if it is not `Task Setup`. */
  readonly eventMessage?: string
  readonly eventType?: TaskEventType
  /** Whether the task needs this hook. */
  applies?(context: TaskHookContext): boolean
  /**
   * A Fault `task-invalid` or `task-unstartable` fails the task; others are retried by the restart
   * policy.
   */
  beforeStart?(context: TaskHookContext): Promise<LaunchAddition | void>
  /** Runs after each start, and when an agent recovers a running task. Failures are only logged. */
  afterStart?(context: TaskHookContext, running: RunningTask): Promise<void>
  /** Runs before the task is killed or restarted. Failures are only logged. */
  beforeStop?(context: TaskHookContext): Promise<void>
  /** Runs after the process has exited, before the exit is reported. Failures are only logged. */
  atExit?(context: TaskHookContext): Promise<void>
  /** Runs after each exit of the process. Failures are only logged. */
  afterExit?(context: TaskHookContext): Promise<void>
  /** Called when the job changed without requiring a new process. */
  update?(assignment: Assignment, task: AgentTask): void
  /** Releases timers and watches: the task is dead, or the agent stops. Idempotent. */
  close?(): void
}

/** A hook, or a factory that creates one per task for hooks with state. */
export type TaskHookOrFactory = TaskHook | (() => TaskHook)

/** What a hook adds to a start. Later hooks override earlier ones. */
interface LaunchAddition {
  readonly env?: Readonly<Record<string, string>>
  readonly mounts?: readonly TaskMount[]
}

export interface TaskHookContext {
  readonly assignment: Assignment
  readonly task: AgentTask
  /** User of the task with references resolved; empty: the default of the driver. */
  readonly user: string
  /** The same, or the default user of the driver; empty if it has none. */
  readonly runsAs: string
  readonly workspace: Workspace
  /** Host paths of the task's directories. */
  readonly paths: TaskPaths
  readonly isolation: TaskIsolation
  /** Network of the allocation, if it has its own. */
  readonly network: AllocationNetwork | undefined
  /** Environment before hooks add to it. */
  readonly environment: TaskEnvironment
  readonly node: NodeInfo
  readonly control: TaskControl
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Aborted when the task is killed or the agent stops. */
  readonly signal: AbortSignal
}

/** Environment and mounts that all hooks add to a start. */
export interface MergedLaunchAdditions {
  readonly env: Readonly<Record<string, string>>
  readonly mounts: readonly TaskMount[]
}

/** Runs the hooks of one task in order. */
export class TaskHookRunner {
  readonly #hooks: readonly TaskHook[]
  readonly #recorder: TaskRecorder
  /** Context of the latest start, which later hooks use too. */
  #context: TaskHookContext | undefined

  constructor(sources: readonly TaskHookOrFactory[], ledger: TaskRecorder) {
    this.#hooks = sources.map((source) => (typeof source === 'function' ? source() : source))
    this.#recorder = ledger
  }

  /** Runs the hooks before a start; the first failure aborts it. */
  async beforeStart(context: TaskHookContext): Promise<MergedLaunchAdditions> {
    this.#context = context
    const env: Record<string, string> = {}
    const mounts: TaskMount[] = []
    for (const hook of this.#hooks) {
      if (hook.beforeStart === undefined || context.signal.aborted) continue
      if (hook.runsOnce && this.#recorder.record.hooksDone.includes(hook.name)) continue
      if (hook.applies?.(context) === false) continue
      if (hook.eventMessage !== undefined) {
        this.#recorder.emitEvent(hook.eventType ?? 'Task Setup', { Message: hook.eventMessage })
      }
      const additions = await hook.beforeStart(context)
      if (hook.runsOnce) {
        this.#recorder.patch({ hooksDone: [...this.#recorder.record.hooksDone, hook.name] })
      }
      Object.assign(env, additions?.env)
      mounts.push(...(additions?.mounts ?? []))
    }
    return { env, mounts }
  }

  /** Sets the context of a task that the previous agent started. */
  resume(context: TaskHookContext): void {
    this.#context = context
  }

  async afterStart(running: RunningTask): Promise<void> {
    await this.#callEach('after the start', (hook, context) => hook.afterStart?.(context, running))
  }

  async beforeStop(): Promise<void> {
    await this.#callEach('before the stop', (hook, context) => hook.beforeStop?.(context))
  }

  async atExit(): Promise<void> {
    await this.#callEach('at the exit', (hook, context) => hook.atExit?.(context))
  }

  async afterExit(): Promise<void> {
    await this.#callEach('after the exit', (hook, context) => hook.afterExit?.(context))
  }

  update(assignment: Assignment, task: AgentTask): void {
    for (const hook of this.#hooks) hook.update?.(assignment, task)
  }

  close(): void {
    for (const hook of this.#hooks) hook.close?.()
  }

  /**
   * Runs a hook method of every hook. A failure is logged and does not affect the task or other
   * hooks.
   */
  async #callEach(
    when: string,
    callHook: (hook: TaskHook, context: TaskHookContext) => Promise<void> | undefined,
  ): Promise<void> {
    const context = this.#context
    if (context === undefined) return
    for (const hook of this.#hooks) {
      if (hook.applies?.(context) === false) continue
      try {
        await callHook(hook, context)
      } catch (thrown) {
        const fields = {
          allocation: context.assignment.allocation.ID,
          task: context.task.Name,
          hook: hook.name,
          error: errorMessage(thrown),
        }
        context.log.error(fields, `task hook failed ${when}`)
      }
    }
  }
}
