import type { TaskState } from '@reeve/contract'
import type { Assignment } from '../assignment.ts'
import type { TaskHandle } from '../driver.ts'
import type { RestartTracker } from '../task/restart-policy.ts'

/**
 * State that must survive a kill of the agent. Durable when a call resolves; otherwise a Fault
 * `agent-state`.
 */
export interface AgentStore {
  /**
   * Loads everything, in no particular order. Fault `agent-state` that lists everything unreadable.
   */
  load(): Promise<readonly StoredAllocation[]>
  /** Callers serialize writes for one allocation. */
  saveAssignment(assignment: Assignment): Promise<void>
  saveTasks(allocationId: string, tasks: TaskRecords): Promise<void>
  remove(allocationId: string): Promise<void>
}

export interface StoredAllocation {
  readonly assignment: Assignment
  /** Empty if the agent stopped before any task was recorded. */
  readonly taskRecords: TaskRecords
}

export type TaskRecords = Readonly<Record<string, TaskRecord>>

export interface TaskRecord {
  readonly state: TaskState
  /** Number of attempted starts; part of the next handle. */
  readonly attempt: number
  /** The start in progress or running; saved before the driver is called. */
  readonly handle: TaskHandle | null
  readonly restarts: RestartTracker
  /** Hooks that are not repeated when the task restarts. */
  readonly hooksDone: readonly string[]
}

/** In-memory store for tests and simulated agents. Its content outlives the agent object. */
export class MemoryStore implements AgentStore {
  readonly #assignments = new Map<string, Assignment>()
  readonly #tasks = new Map<string, TaskRecords>()

  load(): Promise<readonly StoredAllocation[]> {
    const stored = [...this.#assignments.values()].map((assignment) => ({
      assignment,
      taskRecords: this.#tasks.get(assignment.allocation.ID) ?? {},
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
