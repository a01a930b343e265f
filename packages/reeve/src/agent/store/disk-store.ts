import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { TaskState } from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { jobChars, readAssignment, type Assignment } from '../assignment.ts'
import { LoopTurns } from '../loop-turns.ts'
import { isMissing, readStateFile, syncDirectory, writeStateFile } from './state-file.ts'
import type { AgentStore, StoredAllocation, TaskRecord, TaskRecords } from './store.ts'

/** The form of the files below; an agent that changes it must still read the form before. */
const FORMAT = 1

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

const tasksFile = Compile(
  Type.Object({ v: Type.Literal(FORMAT), tasks: Type.Record(Type.String(), TaskRecordSchema) }),
)
const assignmentFile = Compile(Type.Object({ v: Type.Literal(FORMAT) }))

/**
 * One directory per allocation with two files: what the servers said (`assignment.json`, large,
 * rarely written) and what became of the tasks (`tasks.json`, small, written at every turn).
 */
export class DiskStore implements AgentStore {
  readonly #root: string
  readonly #turns = new LoopTurns()

  constructor(root: string) {
    this.#root = root
  }

  async load(): Promise<readonly StoredAllocation[]> {
    const stored: StoredAllocation[] = []
    const complaints: string[] = []
    for (const id of await this.#list()) {
      try {
        const found = await this.#loadOne(id)
        if (found !== undefined) stored.push(found)
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
        complaints.push(thrown.message)
      }
    }
    if (complaints.length > 0) throw unusable(complaints)
    return stored
  }

  async saveAssignment(assignment: Assignment): Promise<void> {
    const { allocation, job } = assignment
    const dir = join(this.#root, allocation.ID)
    const made = await mkdir(dir, { recursive: true, mode: 0o700 })
    await this.#turns.next(jobChars(job))
    await writeStateFile(
      join(dir, 'assignment.json'),
      JSON.stringify({ v: FORMAT, allocation, job }),
    )
    if (made !== undefined) await syncDirectory(this.#root)
  }

  async saveTasks(allocationId: string, tasks: TaskRecords): Promise<void> {
    const text = JSON.stringify({ v: FORMAT, tasks })
    await writeStateFile(join(this.#root, allocationId, 'tasks.json'), text)
  }

  async remove(allocationId: string): Promise<void> {
    await rm(join(this.#root, allocationId), { recursive: true, force: true })
  }

  async #list(): Promise<readonly string[]> {
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
    // The directory was made, the first write was not finished: the servers will say it again.
    if (file === undefined) return undefined
    const assignment = assignmentFile.Check(file) ? readAssignment(file) : undefined
    if (assignment === undefined) throw unreadable(path, 'it has another format')
    if (!assignment.ok) throw unreadable(path, assignment.error.message)
    return { assignment: assignment.value, tasks: await this.#loadTasks(id) }
  }

  async #loadTasks(id: string): Promise<Readonly<Record<string, TaskRecord>>> {
    const path = join(this.#root, id, 'tasks.json')
    const file = await readStateFile(path)
    if (file === undefined) return {}
    if (tasksFile.Check(file)) return file.tasks
    const [first] = tasksFile.Errors(file)
    throw unreadable(path, `${first?.instancePath ?? ''} ${first?.message ?? ''}`.trim())
  }
}

function unreadable(path: string, why: string): Fault {
  return new Fault('agent-state', `cannot use ${path}: ${why}`)
}

/** All at once: who mends one file should not meet the next one at the next start. */
function unusable(complaints: readonly string[]): Fault {
  const remedy =
    'Nothing was changed. Put these files back, or remove the directory of each: what runs of ' +
    'its allocation is ended then, and begins again if the servers still want it.'
  return new Fault('agent-state', `${complaints.join('; ')}. ${remedy}`)
}
