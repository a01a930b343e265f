import type { AllocationUpdate, ReportedTaskState } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { Span, Tracer } from '@reeve/kit/trace.ts'
import type { Assignment } from './assignment.ts'

/**
 * Maximum number of starting allocations with a span; above it the oldest span is ended without a
 * status.
 */
const STARTING_MAX = 10_000

interface Starting {
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
  readonly #starting = new Map<string, Starting>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  began({ allocation, job }: Assignment): void {
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
    if (this.#starting.size >= STARTING_MAX && oldest !== undefined) this.#end(oldest)
    this.#starting.set(allocation.ID, { span, recorded: new Set() })
  }

  reported({
    ID: id,
    ClientStatus: status,
    ClientDescription,
    TaskStates,
  }: AllocationUpdate): void {
    const starting = this.#starting.get(id)
    if (starting === undefined) return
    const isOver = status !== 'pending'
    for (const [name, state] of Object.entries(TaskStates ?? {}))
      this.#record(starting, name, { state, isOver })
    if (!isOver) return
    starting.span.set('reeve.client_status', status)
    this.#end(id, status === 'failed' ? ClientDescription || 'failed' : undefined)
  }

  #end(id: string, error?: string): void {
    this.#starting.get(id)?.span.end(error)
    this.#starting.delete(id)
  }

  /** The start of a task: one span, below it what it did, from each of its events to the next. */
  #record({ span, recorded }: Starting, name: string, { state, isOver }: TaskStart): void {
    const hasStarted = state.State === 'running' || state.State === 'dead'
    if (recorded.has(name) || !(hasStarted || isOver)) return
    const events = (state.Events ?? []).map(({ Type = '', Time = 0 }) => {
      return { type: Type, atMs: msFromNs(Time) }
    })
    const startedAt = events.findIndex(({ type }) => type === 'Started')
    const until = events.slice(0, startedAt === -1 ? undefined : startedAt + 1)
    const [first, last] = [until.at(0), until.at(-1)]
    if (first === undefined || last === undefined) return
    recorded.add(name)
    const parent = this.#tracer.start({
      name: 'start task',
      parent: span.context,
      attributes: { 'reeve.task': name },
      startMs: first.atMs,
    })
    for (const [at, { type, atMs }] of until.entries()) {
      const next = until[at + 1]
      if (next === undefined) continue
      this.#tracer
        .start({ name: type, parent: parent.context, startMs: atMs })
        .end(undefined, next.atMs)
    }
    parent.end(state.Failed === true ? last.type : undefined, last.atMs)
  }
}

interface TaskStart {
  readonly state: ReportedTaskState
  /** Whether the allocation has left "pending", so that no more events of its start follow. */
  readonly isOver: boolean
}
