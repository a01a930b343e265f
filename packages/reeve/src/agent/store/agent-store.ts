import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { TaskState } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { type Assignment, jobJsonLength, readAssignment } from '../assignment.ts'
import type { TaskHandle } from '../driver.ts'
import type { RestartTracker } from '../task/restart-policy.ts'
import { EventLoopBudget } from '../timing.ts'
import { isMissing, readStateFile, syncDirectory, writeStateFile } from './state-file.ts'

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

interface StoredAllocation {
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

/** Version of the file formats; an agent with a new version must still read the previous one. */
const FORMAT_VERSION = 1

const TaskRecordSchema = Type.Object({
  state: TaskState,
  attempt: Type.Integer({ minimum: 0 }),
  handle: Type.Union([
    Type.Null(),
    Type.Object({
      driver: Type.String(),
      id: Type.String(),
      allocationId: Type.String(),
      task: Type.String(),
      dir: Type.String(),
      bootId: Type.String(),
    }),
  ]),
  restarts: Type.Object({
    count: Type.Integer({ minimum: 0 }),
    windowStartMs: Type.Union([Type.Number(), Type.Null()]),
  }),
  hooksDone: Type.Array(Type.String()),
})

const tasksFileChecker = Compile(
  Type.Object({
    v: Type.Literal(FORMAT_VERSION),
    tasks: Type.Record(Type.String(), TaskRecordSchema),
  }),
)
const assignmentFileChecker = Compile(Type.Object({ v: Type.Literal(FORMAT_VERSION) }))

/**
 * One directory per allocation with two files: the assignment from the servers (`assignment.json`,
 * large, rarely written) and the task records (`tasks.json`, small, written often).
 */
export class DiskStore implements AgentStore {
  readonly #root: string
  readonly #loopBudget = new EventLoopBudget()

  constructor(root: string) {
    this.#root = root
  }

  async load(): Promise<readonly StoredAllocation[]> {
    const stored: StoredAllocation[] = []
    const problems: string[] = []
    for (const id of await this.#listIds()) {
      try {
        const allocation = await this.#loadOne(id)
        if (allocation !== undefined) stored.push(allocation)
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
        problems.push(thrown.message)
      }
    }
    if (problems.length > 0) throw unusableStoreFault(problems)
    return stored
  }

  async saveAssignment(assignment: Assignment): Promise<void> {
    const { allocation, job } = assignment
    const dir = join(this.#root, allocation.ID)
    const createdDir = await mkdir(dir, { recursive: true, mode: 0o700 })
    await this.#loopBudget.acquire(jobJsonLength(job))
    await writeStateFile(
      join(dir, 'assignment.json'),
      JSON.stringify({ v: FORMAT_VERSION, allocation, job }),
    )
    if (createdDir !== undefined) await syncDirectory(this.#root)
  }

  async saveTasks(allocationId: string, tasks: TaskRecords): Promise<void> {
    const text = JSON.stringify({ v: FORMAT_VERSION, tasks })
    await writeStateFile(join(this.#root, allocationId, 'tasks.json'), text)
  }

  async remove(allocationId: string): Promise<void> {
    await rm(join(this.#root, allocationId), { recursive: true, force: true })
  }

  async #listIds(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.#root, { withFileTypes: true })
      return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
    } catch (thrown) {
      if (isMissing(thrown)) return []
      throw thrown
    }
  }

  async #loadOne(id: string): Promise<StoredAllocation | undefined> {
    const path = join(this.#root, id, 'assignment.json')
    const file = await readStateFile(path)
    // The first write did not finish after the directory was created: the servers send the
    // assignment again.
    if (file === undefined) return undefined
    const assignment = assignmentFileChecker.Check(file) ? readAssignment(file) : undefined
    if (assignment === undefined) throw unreadableFault(path, 'it has another format')
    if (!assignment.ok) throw unreadableFault(path, assignment.error.message)
    return { assignment: assignment.value, taskRecords: await this.#loadTasks(id) }
  }

  async #loadTasks(id: string): Promise<Readonly<Record<string, TaskRecord>>> {
    const path = join(this.#root, id, 'tasks.json')
    const file = await readStateFile(path)
    if (file === undefined) return {}
    if (tasksFileChecker.Check(file)) return file.tasks
    const [first] = tasksFileChecker.Errors(file)
    throw unreadableFault(path, `${first?.instancePath ?? ''} ${first?.message ?? ''}`.trim())
  }
}

function unreadableFault(path: string, reason: string): Fault {
  return new Fault('agent-state', `cannot use ${path}: ${reason}`)
}

/** Reports all unreadable files at once, so that an operator can fix them before the next start. */
function unusableStoreFault(problems: readonly string[]): Fault {
  const remedy =
    'Nothing was changed. Put these files back, or remove the directory of each: what runs of ' +
    'its allocation is ended then, and begins again if the servers still want it.'
  return new Fault('agent-state', `${problems.join('; ')}. ${remedy}`)
}
