import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { RunningTask } from '../driver.ts'
import type { TaskMount } from '../task-launch.ts'
import type { TaskHook, TaskHookContext, TaskHookSource } from './task-hook.ts'
import type { TaskLedger } from './task-ledger.ts'

/** What all hooks together add to a start. */
export interface LaunchAdditions {
  readonly env: Readonly<Record<string, string>>
  readonly mounts: readonly TaskMount[]
}

/** The hooks of one task, called in their order. */
export class HookChain {
  readonly #hooks: readonly TaskHook[]
  readonly #ledger: TaskLedger
  /** What the latest start was prepared with; what follows it goes by the same. */
  #context: TaskHookContext | undefined

  constructor(sources: readonly TaskHookSource[], ledger: TaskLedger) {
    this.#hooks = sources.map((source) => (typeof source === 'function' ? source() : source))
    this.#ledger = ledger
  }

  /** The first one that fails ends the way to the start. */
  async beforeStart(context: TaskHookContext): Promise<LaunchAdditions> {
    this.#context = context
    const env: Record<string, string> = {}
    const mounts: TaskMount[] = []
    for (const hook of this.#hooks) {
      if (hook.beforeStart === undefined || context.signal.aborted) continue
      if (hook.once && this.#ledger.record.hooksDone.includes(hook.name)) continue
      if (hook.applies?.(context) === false) continue
      if (hook.announces !== undefined) {
        this.#ledger.note(hook.announcesAs ?? 'Task Setup', { Message: hook.announces })
      }
      const addition = await hook.beforeStart(context)
      if (hook.once) {
        this.#ledger.change({ hooksDone: [...this.#ledger.record.hooksDone, hook.name] })
      }
      Object.assign(env, addition?.env)
      mounts.push(...(addition?.mounts ?? []))
    }
    return { env, mounts }
  }

  /** The task was started by an agent before this one. */
  resume(context: TaskHookContext): void {
    this.#context = context
  }

  async afterStart(running: RunningTask): Promise<void> {
    await this.#each('after the start', (hook, context) => hook.afterStart?.(context, running))
  }

  async beforeStop(): Promise<void> {
    await this.#each('before the stop', (hook, context) => hook.beforeStop?.(context))
  }

  async atExit(): Promise<void> {
    await this.#each('at the exit', (hook, context) => hook.atExit?.(context))
  }

  async afterExit(): Promise<void> {
    await this.#each('after the exit', (hook, context) => hook.afterExit?.(context))
  }

  update(assignment: Assignment, task: AgentTask): void {
    for (const hook of this.#hooks) hook.update?.(assignment, task)
  }

  close(): void {
    for (const hook of this.#hooks) hook.close?.()
  }

  /** What accompanies a task must not end it: a fault is told to the log, and the next one runs. */
  async #each(
    when: string,
    call: (hook: TaskHook, context: TaskHookContext) => Promise<void> | undefined,
  ): Promise<void> {
    const context = this.#context
    if (context === undefined) return
    for (const hook of this.#hooks) {
      if (hook.applies?.(context) === false) continue
      try {
        await call(hook, context)
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
