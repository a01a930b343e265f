import type { TaskState } from '@reeve/contract'
import type { Assignment } from '../assignment.ts'
import type { TaskHandle } from '../driver.ts'
import type { RestartTracker } from '../task/restart-policy.ts'

/**
 * What the agent must still know after it was killed. Durable when a call resolves; Fault
 * `agent-state` when not.
 */
export interface AgentStore {
  /**
   * Everything saved, in no promised order. Fault `agent-state` that names everything that cannot
   * be read, when something cannot: nothing is guessed.
   */
  load(): Promise<readonly StoredAllocation[]>
  /** Writes for one allocation are made one after the other by their caller. */
  saveAssignment(assignment: Assignment): Promise<void>
  saveTasks(allocationId: string, tasks: TaskRecords): Promise<void>
  remove(allocationId: string): Promise<void>
}

export interface StoredAllocation {
  readonly assignment: Assignment
  /** Empty when the agent ended before the first task was known. */
  readonly tasks: TaskRecords
}

export type TaskRecords = Readonly<Record<string, TaskRecord>>

export interface TaskRecord {
  readonly state: TaskState
  /** Starts tried so far; names the next one's handle. */
  readonly attempt: number
  /** The start that is under way or running; saved before the driver is asked. */
  readonly handle: TaskHandle | null
  readonly restarts: RestartTracker
  /** Hooks that need not be repeated when the task starts again. */
  readonly hooksDone: readonly string[]
}

/**
 * Keeps nothing on a disk: for tests and for simulated agents. What it holds outlives the agent
 * object.
 */
export class MemoryStore implements AgentStore {
  readonly #assignments = new Map<string, Assignment>()
  readonly #tasks = new Map<string, TaskRecords>()

  load(): Promise<readonly StoredAllocation[]> {
    const stored = [...this.#assignments.values()].map((assignment) => ({
      assignment,
      tasks: this.#tasks.get(assignment.allocation.ID) ?? {},
    }))
    return Promise.resolve(stored)
  }

  saveAssignment(assignment: Assignment): Promise<void> {
    this.#assignments.set(assignment.allocation.ID, assignment)
    return Promise.resolve()
  }

  saveTasks(allocationId: string, tasks: TaskRecords): Promise<void> {
    this.#tasks.set(allocationId, tasks)
    return Promise.resolve()
  }

  remove(allocationId: string): Promise<void> {
    this.#assignments.delete(allocationId)
    this.#tasks.delete(allocationId)
    return Promise.resolve()
  }
}
