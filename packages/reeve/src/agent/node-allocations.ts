import type { AllocationUpdate } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import { parseTraceparent, type Tracer } from '@reeve/kit/trace.ts'
import { allocationIndex, isClientTerminal, isServerTerminal } from '../model/index.ts'
import { AllocationRunner } from './allocation/allocation-runner.ts'
import type { Watched } from './allocation/alone-watch.ts'
import { AllocationTraces } from './allocation-traces.ts'
import { readAssignment, type Assignment } from './assignment.ts'
import type { TaskDriver } from './driver.ts'
import type { AgentHost } from './host.ts'
import type { DesiredEnvelope } from './link/server-message.ts'
import type { Log } from './log.ts'
import type { AgentStorage } from './store/storage.ts'
import type { TaskRecords } from './store/store.ts'
import { sweepDrivers } from './sweep-drivers.ts'
import type { TaskControl } from './task/task-control.ts'

interface NodeAllocationsOptions {
  readonly storage: AgentStorage
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Log
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** Aborted when the agent ends: from then on nothing that is desired is begun or removed. */
  readonly stopping: AbortSignal
  /** Tells the servers how an allocation is. */
  report(update: AllocationUpdate): void
  /** The node has work that it did not have. */
  added(): void
  /** The allocation is gone from this node, with all that it left. */
  removed(id: string): void
}

/**
 * The allocations of this node: compares what the servers desire with what runs here, and starts,
 * updates, ends and removes runners.
 */
export class NodeAllocations {
  readonly #options: NodeAllocationsOptions
  readonly #runners = new Map<string, AllocationRunner>()
  /** What is said of allocations that never had a runner here. */
  readonly #answers = new Map<string, AllocationUpdate>()
  readonly #removing = new Set<string>()
  /** Of each runner: settles after its end, when its secrets are no longer mounted. */
  readonly #unmounted = new Map<string, Promise<void>>()
  /** What the server has named so far of the full list that it sends in parts. */
  #listed = new Set<string>()
  readonly #traces: AllocationTraces | undefined
  #host: AgentHost | undefined

  constructor(options: NodeAllocationsOptions) {
    this.#options = options
    const { tracer } = options
    this.#traces = tracer === undefined ? undefined : new AllocationTraces(tracer)
  }

  get runners(): ReadonlyMap<string, AllocationRunner> {
    return this.#runners
  }

  /** Takes over what an agent before this one left running. Comes before anything is desired. */
  async restore(host: AgentHost): Promise<void> {
    this.#host = host
    const { storage, log } = this.#options
    const stored = await storage.store.load()
    const handles = stored.flatMap(({ tasks }) => Object.values(tasks).map((task) => task.handle))
    await storage.sweepRecords(new Set(handles.map((handle) => handle?.dir ?? '')))
    await sweepDrivers(handles, this.#options)
    for (const { assignment, tasks } of stored) this.#run(assignment, tasks)
    if (stored.length > 0) log.info({ allocations: stored.length }, 'took over allocations')
  }

  /** Lets go of the runners; their tasks go on, unless they are to end with the agent. */
  async stop({ killTasks }: { readonly killTasks: boolean }): Promise<void> {
    const runners = [...this.#runners.values()]
    if (killTasks) await Promise.all(runners.map((runner) => runner.destroy()))
    await Promise.all(runners.map((runner) => runner.halt()))
    await Promise.all(this.#unmounted.values())
  }

  /** How every allocation is, for a server that knows nothing of them yet. */
  updates(): readonly AllocationUpdate[] {
    const running = [...this.#runners.values()].map((runner) => runner.currentReport())
    return [...running, ...this.#answers.values()]
  }

  watched(): readonly Watched[] {
    return [...this.#runners.values()].map((runner) => ({
      group: runner.group,
      stop: (reason) => runner.stop(reason),
    }))
  }

  /** Returns the ID of an allocation that mounts the host volume and has not ended. */
  mounterOf(volume: string): string | undefined {
    for (const { id, name, group, endedMs } of this.#runners.values()) {
      const requests = Object.values(group.Volumes ?? {}).filter(({ Type }) => Type === 'host')
      const names = requests.map(({ Source, PerAlloc }) =>
        PerAlloc ? `${Source}[${allocationIndex(name)}]` : Source,
      )
      if (endedMs === undefined && names.includes(volume)) return id
    }
    return undefined
  }

  /** A server begins its list anew. */
  welcomed(): void {
    this.#listed = new Set()
  }

  apply(message: DesiredEnvelope): void {
    this.#rememberTraces(message)
    for (const entry of message.allocations) {
      const assignment = readAssignment(entry)
      if (assignment.ok) this.#assign(assignment.value, message.full)
      else this.#reject(assignment.error.id, assignment.error.message)
      const id = assignment.ok ? assignment.value.allocation.ID : assignment.error.id
      if (id !== undefined) this.#listed.add(id)
    }
    for (const id of message.removed) this.#remove(id)
  }

  #rememberTraces({ traces = {} }: DesiredEnvelope): void {
    const { tracer } = this.#options
    if (tracer === undefined) return
    for (const [id, text] of Object.entries(traces)) {
      const context = parseTraceparent(text)
      if (context !== undefined) tracer.remember(id, context)
    }
  }

  /** For a full list that is complete: what it does not name has no place here any more. */
  removeUnlisted(): void {
    const known = [...this.#runners.keys(), ...this.#answers.keys()]
    for (const id of known) if (!this.#listed.has(id)) this.#remove(id)
  }

  /** `isListed`: it is part of what a server says to a node that has come to it. */
  #assign(assignment: Assignment, isListed: boolean): void {
    const { allocation } = assignment
    const runner = this.#runners.get(allocation.ID)
    if (runner !== undefined) {
      if (isListed && allocation.ClientStatus === 'unknown') tellReturn(runner.tasks)
      runner.update(assignment).catch((thrown: unknown) => {
        const fields = { allocation: allocation.ID, error: errorMessage(thrown) }
        this.#options.log.error(fields, 'change of an allocation not saved')
      })
      return
    }
    // It ended here before, or the servers gave it up: nothing is to be done again.
    if (isClientTerminal(allocation)) return
    if (isServerTerminal(allocation))
      this.#answer(allocation.ID, 'complete', 'Ended before it began')
    else this.#begin(assignment)
  }

  #begin(assignment: Assignment): void {
    this.#traces?.began(assignment)
    this.#run(assignment, {})
    this.#options.added()
  }

  #run(assignment: Assignment, records: TaskRecords): void {
    assert(this.#host !== undefined, 'the host is made before anything runs')
    const runner = new AllocationRunner({
      host: this.#host,
      assignment,
      records,
      report: (report) => {
        this.#traces?.reported(report)
        this.#options.report(report)
      },
      endOf: (id) => this.#runners.get(id)?.ended ?? Promise.resolve(),
    })
    this.#runners.set(runner.id, runner)
    this.#answers.delete(runner.id)
    const unmounted = runner.ended.then(() => this.#unmountSecrets(runner))
    void runner.ended.then(() => this.#releaseCores(runner))
    this.#unmounted.set(runner.id, unmounted)
    runner.start()
  }

  async #releaseCores({ id, endedMs }: AllocationRunner): Promise<void> {
    // A runner that was halted leaves its tasks running.
    if (endedMs === undefined) return
    await this.#host?.cores?.release(id).catch((thrown: unknown) => {
      const fields = { allocation: id, error: errorMessage(thrown) }
      this.#options.log.warn(fields, 'tasks stay off cores that are not reserved any more')
    })
  }

  /** Secrets take memory, and a mount keeps the data directory from being removed. */
  async #unmountSecrets({ id, endedMs }: AllocationRunner): Promise<void> {
    const { storage, log } = this.#options
    // A runner that was halted leaves its tasks running.
    if (endedMs === undefined) return
    await storage.workspace.unmountSecrets(id).catch((thrown: unknown) => {
      log.warn({ allocation: id, error: errorMessage(thrown) }, 'secrets not unmounted')
    })
  }

  /** What cannot be read cannot be run; what already runs is left alone. */
  #reject(id: string | undefined, message: string): void {
    this.#options.log.error({ allocation: id, reason: message }, 'allocation not readable')
    if (id === undefined || this.#runners.has(id)) return
    this.#answer(id, 'failed', `The node cannot read the allocation: ${message}`)
  }

  #answer(id: string, status: 'complete' | 'failed', description: string): void {
    const update: AllocationUpdate = {
      ID: id,
      ClientStatus: status,
      ClientDescription: description,
      TaskStates: null,
    }
    this.#answers.set(id, update)
    this.#options.report(update)
  }

  #remove(id: string): void {
    this.#answers.delete(id)
    const runner = this.#runners.get(id)
    if (runner === undefined || this.#removing.has(id)) return
    this.#removing.add(id)
    void this.#destroy(runner).finally(() => this.#removing.delete(id))
  }

  /**
   * The record goes last: an agent that is killed in between finds it, and the servers say again to
   * remove it.
   */
  async #destroy(runner: AllocationRunner): Promise<void> {
    const { storage, log, stopping } = this.#options
    try {
      await runner.destroy()
      if (stopping.aborted) return
      await runner.halt()
      await this.#unmounted.get(runner.id)
      await storage.workspace.remove(runner.id)
      await storage.store.remove(runner.id)
      this.#options.removed(runner.id)
    } catch (thrown) {
      log.error({ allocation: runner.id, error: errorMessage(thrown) }, 'allocation not removed')
    }
    this.#runners.delete(runner.id)
    this.#unmounted.delete(runner.id)
  }
}

/** The servers did not know for a while how these tasks were. */
function tellReturn(tasks: readonly TaskControl[]): void {
  const living = tasks.filter(({ state }) => state.State !== 'dead')
  for (const task of living) task.tell('Reconnected', 'The node has reached its servers again')
}
