import type { AllocationUpdate, ReportedTaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import { parseTraceparent, type Span, type Tracer } from '@reeve/kit/trace.ts'
import { allocationIndex, isClientTerminal, isServerTerminal } from '../model/index.ts'
import { AllocationRunner } from './allocation/allocation-runner.ts'
import type { StoppableAllocation } from './allocation/heartbeat-stop.ts'
import { readAssignment, type Assignment } from './assignment.ts'
import type { TaskDriver } from './driver.ts'
import type { AgentContext } from './agent-context.ts'
import type { DesiredEnvelope } from './link/session.ts'
import type { Logger } from './log.ts'
import type { AgentStorage } from './store/agent-storage.ts'
import type { TaskRecords } from './store/agent-store.ts'
import { killOrphanedTasks } from './driver-cleanup.ts'
import type { TaskControl } from './task/task-control.ts'

interface AllocationManagerOptions {
  readonly storage: AgentStorage
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Logger
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** Aborted when the agent stops: from then on no allocation is started or removed. */
  readonly stopping: AbortSignal
  /** Reports the status of an allocation to the servers. */
  reportUpdate(update: AllocationUpdate): void
  /** Called when an allocation was started. */
  onAllocationAdded(): void
  /** Called when an allocation and all its data were removed from this node. */
  onAllocationRemoved(id: string): void
}

/**
 * Compares the desired allocations with the running ones, and starts, updates, stops and removes
 * runners.
 */
export class AllocationManager {
  readonly #options: AllocationManagerOptions
  readonly #runners = new Map<string, AllocationRunner>()
  /** Updates for allocations that never had a runner on this node. */
  readonly #syntheticUpdates = new Map<string, AllocationUpdate>()
  readonly #removals = new Set<string>()
  /** Per runner: resolves after its end, when its secrets are unmounted. */
  readonly #secretsUnmounted = new Map<string, Promise<void>>()
  /** IDs of the full list that the server has sent so far. */
  #listedIds = new Set<string>()
  readonly #traces: AllocationTraces | undefined
  #context: AgentContext | undefined

  constructor(options: AllocationManagerOptions) {
    this.#options = options
    const { tracer } = options
    this.#traces = tracer === undefined ? undefined : new AllocationTraces(tracer)
  }

  get runners(): ReadonlyMap<string, AllocationRunner> {
    return this.#runners
  }

  /**
   * Recovers the allocations of the previous agent. Called before desired allocations are applied.
   */
  async restore(context: AgentContext): Promise<void> {
    this.#context = context
    const { storage, log } = this.#options
    const stored = await storage.store.load()
    const handles = stored.flatMap(({ taskRecords }) =>
      Object.values(taskRecords).map((task) => task.handle),
    )
    await storage.removeStaleRecords(new Set(handles.map((handle) => handle?.dir ?? '')))
    await killOrphanedTasks(handles, this.#options)
    for (const { assignment, taskRecords } of stored) this.#startRunner(assignment, taskRecords)
    if (stored.length > 0) log.info({ allocations: stored.length }, 'took over allocations')
  }

  /** Shuts the runners down; their tasks continue unless `killTasks` is set. */
  async stop({ killTasks }: { readonly killTasks: boolean }): Promise<void> {
    const runners = [...this.#runners.values()]
    if (killTasks) await Promise.all(runners.map((runner) => runner.destroy()))
    await Promise.all(runners.map((runner) => runner.shutdown()))
    await Promise.all(this.#secretsUnmounted.values())
  }

  /** Current status of every allocation, for a newly connected server. */
  currentUpdates(): readonly AllocationUpdate[] {
    const runnerUpdates = [...this.#runners.values()].map((runner) => runner.currentReport())
    return [...runnerUpdates, ...this.#syntheticUpdates.values()]
  }

  stoppableAllocations(): readonly StoppableAllocation[] {
    return [...this.#runners.values()].map((runner) => ({
      group: runner.group,
      stop: (reason) => runner.stop(reason),
    }))
  }

  /** Returns the ID of an allocation that mounts the host volume and has not ended. */
  findVolumeUser(volume: string): string | undefined {
    for (const { id, name, group, endedMs } of this.#runners.values()) {
      const requests = Object.values(group.Volumes ?? {}).filter(({ Type }) => Type === 'host')
      const names = requests.map(({ Source, PerAlloc }) =>
        PerAlloc ? `${Source}[${allocationIndex(name)}]` : Source,
      )
      if (endedMs === undefined && names.includes(volume)) return id
    }
    return undefined
  }

  /** Starts a new full list: a server has accepted the connection. */
  onConnected(): void {
    this.#listedIds = new Set()
  }

  applyDesired(message: DesiredEnvelope): void {
    this.#rememberTraces(message)
    for (const entry of message.allocations) {
      const assignment = readAssignment(entry)
      if (assignment.ok) this.#assign(assignment.value, message.full)
      else this.#rejectUnreadable(assignment.error.id, assignment.error.message)
      const id = assignment.ok ? assignment.value.allocation.ID : assignment.error.id
      if (id !== undefined) this.#listedIds.add(id)
    }
    for (const id of message.removed) this.#remove(id)
  }

  #rememberTraces({ traces = {} }: DesiredEnvelope): void {
    const { tracer } = this.#options
    if (tracer === undefined) return
    for (const [id, traceparent] of Object.entries(traces)) {
      const context = parseTraceparent(traceparent)
      if (context !== undefined) tracer.remember(id, context)
    }
  }

  /** Removes the allocations that a complete full list does not contain. */
  removeUnlisted(): void {
    const ids = [...this.#runners.keys(), ...this.#syntheticUpdates.keys()]
    for (const id of ids) if (!this.#listedIds.has(id)) this.#remove(id)
  }

  /** `isListed`: the entry belongs to the full list that a server sends after connecting. */
  #assign(assignment: Assignment, isFullList: boolean): void {
    const { allocation } = assignment
    const runner = this.#runners.get(allocation.ID)
    if (runner !== undefined) {
      if (isFullList && allocation.ClientStatus === 'unknown') addReconnectedEvents(runner.tasks)
      runner.update(assignment).catch((thrown: unknown) => {
        const fields = { allocation: allocation.ID, error: errorMessage(thrown) }
        this.#options.log.error(fields, 'change of an allocation not saved')
      })
      return
    }
    // It ended here before, or the servers marked it lost: there is nothing to do.
    if (isClientTerminal(allocation)) return
    if (isServerTerminal(allocation))
      this.#reportWithoutRunner(allocation.ID, 'complete', 'Stopped before it was started')
    else this.#startNew(assignment)
  }

  #startNew(assignment: Assignment): void {
    this.#traces?.onAssigned(assignment)
    this.#startRunner(assignment, {})
    this.#options.onAllocationAdded()
  }

  #startRunner(assignment: Assignment, records: TaskRecords): void {
    assert(this.#context !== undefined, 'the host is made before anything runs')
    const runner = new AllocationRunner({
      agent: this.#context,
      assignment,
      savedTasks: records,
      report: (report) => {
        this.#traces?.onReport(report)
        this.#options.reportUpdate(report)
      },
      awaitTermination: (id) => this.#runners.get(id)?.terminated ?? Promise.resolve(),
    })
    this.#runners.set(runner.id, runner)
    this.#syntheticUpdates.delete(runner.id)
    const secretsUnmounted = runner.terminated.then(() => this.#unmountSecrets(runner))
    void runner.terminated.then(() => this.#releaseCores(runner))
    this.#secretsUnmounted.set(runner.id, secretsUnmounted)
    runner.start()
  }

  async #releaseCores({ id, endedMs }: AllocationRunner): Promise<void> {
    // A runner that was shut down leaves its tasks running.
    if (endedMs === undefined) return
    await this.#context?.coreReservations?.release(id).catch((thrown: unknown) => {
      const fields = { allocation: id, error: errorMessage(thrown) }
      this.#options.log.warn(fields, 'tasks stay off cores that are not reserved any more')
    })
  }

  /** Unmounts the secrets: they use memory, and a mount blocks removing the data directory. */
  async #unmountSecrets({ id, endedMs }: AllocationRunner): Promise<void> {
    const { storage, log } = this.#options
    // A runner that was shut down leaves its tasks running.
    if (endedMs === undefined) return
    await storage.workspace.unmountSecrets(id).catch((thrown: unknown) => {
      log.warn({ allocation: id, error: errorMessage(thrown) }, 'secrets not unmounted')
    })
  }

  /** Reports an allocation that cannot be parsed as failed, unless it is already running. */
  #rejectUnreadable(id: string | undefined, message: string): void {
    this.#options.log.error({ allocation: id, reason: message }, 'allocation not readable')
    if (id === undefined || this.#runners.has(id)) return
    this.#reportWithoutRunner(id, 'failed', `The node cannot read the allocation: ${message}`)
  }

  #reportWithoutRunner(id: string, status: 'complete' | 'failed', description: string): void {
    const update: AllocationUpdate = {
      ID: id,
      ClientStatus: status,
      ClientDescription: description,
      TaskStates: null,
    }
    this.#syntheticUpdates.set(id, update)
    this.#options.reportUpdate(update)
  }

  #remove(id: string): void {
    this.#syntheticUpdates.delete(id)
    const runner = this.#runners.get(id)
    if (runner === undefined || this.#removals.has(id)) return
    this.#removals.add(id)
    void this.#destroy(runner).finally(() => this.#removals.delete(id))
  }

  /**
   * Removes the allocation, its record last: an agent that is killed in between finds the record,
   * and the servers request the removal again.
   */
  async #destroy(runner: AllocationRunner): Promise<void> {
    const { storage, log, stopping } = this.#options
    try {
      await runner.destroy()
      if (stopping.aborted) return
      await runner.shutdown()
      await this.#secretsUnmounted.get(runner.id)
      await storage.workspace.remove(runner.id)
      await storage.store.remove(runner.id)
      this.#options.onAllocationRemoved(runner.id)
    } catch (thrown) {
      log.error({ allocation: runner.id, error: errorMessage(thrown) }, 'allocation not removed')
    }
    this.#runners.delete(runner.id)
    this.#secretsUnmounted.delete(runner.id)
  }
}

/** Adds an event to the tasks whose status the servers had marked unknown. */
function addReconnectedEvents(tasks: readonly TaskControl[]): void {
  const liveTasks = tasks.filter(({ state }) => state.State !== 'dead')
  for (const task of liveTasks)
    task.addEvent('Reconnected', 'The node has reached its servers again')
}

/**
 * Maximum number of starting allocations with a span; above it the oldest span is ended without a
 * status.
 */
const STARTING_ALLOCATIONS_MAX = 10_000

interface StartingAllocation {
  readonly span: Span
  /** Tasks whose start has been recorded. */
  readonly recorded: Set<string>
}

/**
 * Records the spans of this node: one per allocation from its assignment until it runs or fails,
 * with a child span per task start. Allocations without a trace context from the servers are not
 * traced.
 */
class AllocationTraces {
  readonly #tracer: Tracer
  readonly #starting = new Map<string, StartingAllocation>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  onAssigned({ allocation, job }: Assignment): void {
    const parent = this.#tracer.recall(allocation.ID)
    if (parent === undefined) return
    const span = this.#tracer.start({
      name: 'start allocation',
      parent,
      kind: 'consumer',
      attributes: {
        'reeve.allocation': allocation.ID,
        'reeve.namespace': allocation.Namespace,
        'reeve.job': job.ID,
        'reeve.group': allocation.TaskGroup,
      },
    })
    const [oldest] = this.#starting.keys()
    if (this.#starting.size >= STARTING_ALLOCATIONS_MAX && oldest !== undefined)
      this.#endSpan(oldest)
    this.#starting.set(allocation.ID, { span, recorded: new Set() })
  }

  onReport({
    ID: id,
    ClientStatus: status,
    ClientDescription,
    TaskStates,
  }: AllocationUpdate): void {
    const starting = this.#starting.get(id)
    if (starting === undefined) return
    const hasLeftPending = status !== 'pending'
    for (const [name, state] of Object.entries(TaskStates ?? {}))
      this.#recordTaskStart(starting, name, { state, hasLeftPending })
    if (!hasLeftPending) return
    starting.span.set('reeve.client_status', status)
    this.#endSpan(id, status === 'failed' ? ClientDescription || 'failed' : undefined)
  }

  #endSpan(id: string, error?: string): void {
    this.#starting.get(id)?.span.end(error)
    this.#starting.delete(id)
  }

  /** The start of a task: one span, below it what it did, from each of its events to the next. */
  #recordTaskStart(
    { span, recorded }: StartingAllocation,
    name: string,
    { state, hasLeftPending }: TaskStartState,
  ): void {
    const hasStarted = state.State === 'running' || state.State === 'dead'
    if (recorded.has(name) || !(hasStarted || hasLeftPending)) return
    const events = (state.Events ?? []).map(({ Type = '', Time = 0 }) => {
      return { type: Type, atMs: msFromNs(Time) }
    })
    const startedIndex = events.findIndex(({ type }) => type === 'Started')
    const startEvents = events.slice(0, startedIndex === -1 ? undefined : startedIndex + 1)
    const [firstEvent, lastEvent] = [startEvents.at(0), startEvents.at(-1)]
    if (firstEvent === undefined || lastEvent === undefined) return
    recorded.add(name)
    const taskSpan = this.#tracer.start({
      name: 'start task',
      parent: span.context,
      attributes: { 'reeve.task': name },
      startMs: firstEvent.atMs,
    })
    for (const [index, { type, atMs }] of startEvents.entries()) {
      const nextEvent = startEvents[index + 1]
      if (nextEvent === undefined) continue
      this.#tracer
        .start({ name: type, parent: taskSpan.context, startMs: atMs })
        .end(undefined, nextEvent.atMs)
    }
    taskSpan.end(state.Failed === true ? lastEvent.type : undefined, lastEvent.atMs)
  }
}

interface TaskStartState {
  readonly state: ReportedTaskState
  /** Whether the allocation has left "pending", so that no more events of its start follow. */
  readonly hasLeftPending: boolean
}
