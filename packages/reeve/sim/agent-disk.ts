import type { Assignment } from '../src/agent/assignment.ts'
import type { AgentStorage } from '../src/agent/index.ts'
import { MemoryStore } from '../src/agent/store/store.ts'
import { NoopWorkspace } from '../src/agent/store/workspace.ts'
import type { RandomStream } from './draws.ts'
import type { ProcessClock } from './virtual-clock.ts'

/** Most writes are fast; some take long enough for the agent to die before they are durable. */
const SLOW_WRITE_CHANCE = 0.2
const MAX_SLOW_WRITE_MS = 5

export interface AgentDiskOptions {
  readonly nodeId: string
  readonly secret: string
  readonly random: RandomStream
}

/**
 * The disk of a machine with the persistent state of its agents. It survives agents and reboots.
 */
export class AgentDisk {
  readonly #options: AgentDiskOptions
  readonly #store = new MemoryStore()
  readonly #assignments = new Map<string, Assignment>()
  #secret: string
  #region: string | undefined

  constructor(options: AgentDiskOptions) {
    this.#options = options
    this.#secret = options.secret
  }

  /** The allocation as last saved by the agent. */
  findAssignment(allocationId: string): Assignment | undefined {
    return this.#assignments.get(allocationId)
  }

  /** The storage of one agent process. Writes of a dead agent never happen. */
  storageFor(clock: ProcessClock, bootId: string): AgentStorage {
    const { nodeId } = this.#options
    const write = async (change: () => void | Promise<void>): Promise<void> => {
      await this.#delayWrite(clock)
      await change()
    }
    return {
      store: {
        load: () => this.#store.load(),
        saveAssignment: (assignment) =>
          write(() => {
            this.#assignments.set(assignment.allocation.ID, assignment)
            return this.#store.saveAssignment(assignment)
          }),
        saveTasks: (id, tasks) => write(() => this.#store.saveTasks(id, tasks)),
        remove: (id) =>
          write(() => {
            this.#assignments.delete(id)
            return this.#store.remove(id)
          }),
      },
      workspace: new NoopWorkspace(),
      recordsDir: '/nowhere/tasks',
      open: () =>
        Promise.resolve({
          nodeId,
          secret: this.#secret,
          bootId,
          ...(this.#region === undefined ? {} : { region: this.#region }),
        }),
      saveRegion: (region) => write(() => void (this.#region = region)),
      saveMeta: () => Promise.resolve(),
      saveVolumes: () => Promise.resolve(),
      saveSecret: (secret) => write(() => void (this.#secret = secret)),
      removeStaleRecords: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }
  }

  async #delayWrite(clock: ProcessClock): Promise<void> {
    const { random } = this.#options
    if (random.chance(SLOW_WRITE_CHANCE)) await clock.sleep(random.between(0, MAX_SLOW_WRITE_MS))
    else if (clock.isDead) await new Promise(() => undefined)
  }
}
