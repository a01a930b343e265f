import type { AllocationUpdate, ReportedTaskState } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { Span, Tracer } from '@reeve/kit/trace.ts'
import type { Assignment } from './assignment.ts'

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
export class AllocationTraces {
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
