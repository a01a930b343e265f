import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { RunningTask } from '../driver.ts'
import type { TaskMount } from '../task-launch.ts'
import type { TaskHook, TaskHookContext, TaskHookOrFactory } from './task-hook.ts'
import type { TaskRecorder } from './task-ledger.ts'

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
