import type { CheckResult, ServicesAck } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Assignment } from '../assignment.ts'
import type { Log } from '../log.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { Workspace } from '../store/workspace.ts'
import type { TaskControl } from '../task/task-control.ts'
import { AllocationServices, type StartedTask } from './allocation-services.ts'
import type { ChecksHealth } from './checks-health.ts'
import { ServiceOutbox } from './service-outbox.ts'

interface NodeServicesOptions {
  readonly clock: Clock
  readonly log: Log
  readonly workspace: Workspace
  readonly node: () => NodeFacts
  /** Says something to the server of the moment; lost when there is none. */
  say(message: object): void
  /** The address of an allocation in a network of its own. */
  readonly allocationIp?: (allocationId: string) => string | undefined
}

/** The allocation that services belong to, as its runner knows it. */
export interface ServedAllocation {
  readonly assignment: Assignment
  readonly tasks: readonly TaskControl[]
  /** Tasks that an agent before this one left running, and that have yet to be found again. */
  readonly resuming: readonly string[]
  /** A check was looked at: the allocation's health may be another. */
  changed(): void
}

interface Entry {
  readonly services: AllocationServices
  readonly resuming: Set<string>
  /** Checks that failed when what they belong to ended, by id. */
  readonly failed: Map<string, CheckResult>
  readonly cancelHold: () => void
}

/** How long tasks that run already may take to be found again before the servers are told. */
const RESUME_MS_MAX = 15_000

/**
 * All services and checks of a node. Runners say what begins and ends; the servers are told what is
 * offered, and on each new channel everything, so that they and the node agree.
 */
export class NodeServices {
  readonly #options: NodeServicesOptions
  readonly #entries = new Map<string, Entry>()
  readonly #outbox = new ServiceOutbox()
  #isFlushDue = false
  #isWelcome = false

  constructor(options: NodeServicesOptions) {
    this.#options = options
  }

  /** An allocation's tasks are about to begin, or go on: its group's services come first. */
  begin(served: ServedAllocation): void {
    const { assignment } = served
    const { ID: id } = assignment.allocation
    const { clock, log, workspace, node, allocationIp } = this.#options
    this.#entries.get(id)?.services.halt()
    const services = new AllocationServices({
      clock,
      log,
      workspace,
      node,
      assignment,
      allocationIp: allocationIp?.(id),
      tasks: () => served.tasks,
      changed: () => served.changed(),
      offered: (offered) => {
        this.#outbox.offer(id, offered)
        this.#flushSoon()
      },
    })
    const resuming = new Set(served.resuming)
    if (resuming.size > 0) this.#outbox.hold(id)
    const cancelHold = clock.after(RESUME_MS_MAX, () => this.#settle(id))
    this.#entries.set(id, { services, resuming, cancelHold, failed: new Map() })
    services.startGroup()
  }

  /** A task runs: started now, or taken over. */
  taskStarted(allocationId: string, started: StartedTask): void {
    const entry = this.#entries.get(allocationId)
    for (const [id, { Task = '' }] of entry?.failed ?? [])
      if (Task === '' || Task === started.task.Name) entry?.failed.delete(id)
    entry?.services.startTask(started)
    this.#resumed(allocationId, started.task.Name)
  }

  /** A task is about to be told to end, or has ended. */
  taskEnding(allocationId: string, task: string): void {
    this.#noteFailed(allocationId)
    this.#entries.get(allocationId)?.services.endTask(task)
    this.#resumed(allocationId, task)
  }

  /** The allocation is about to end: its group's services go first. */
  ending(allocationId: string): void {
    this.#noteFailed(allocationId)
    this.#entries.get(allocationId)?.services.endGroup()
    this.#settle(allocationId)
  }

  update(assignment: Assignment): void {
    this.#entries.get(assignment.allocation.ID)?.services.update(assignment)
  }

  /** Nothing of the allocation runs any more. */
  ended(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    if (entry === undefined) return
    entry.services.halt()
    entry.cancelHold()
    this.#entries.delete(allocationId)
    this.#outbox.settle(allocationId)
    this.#outbox.offer(allocationId, [])
    this.#flushSoon()
  }

  /** The agent goes, the tasks stay: so does what they offer. */
  halt(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    entry?.services.halt()
    entry?.cancelHold()
  }

  /** The latest results of an allocation's checks, by id. */
  checksOf(allocationId: string): Readonly<Record<string, CheckResult>> {
    const results = this.#entries.get(allocationId)?.services.results ?? []
    return Object.fromEntries(results.map((result) => [result.ID, result]))
  }

  /** The checks that fail now, or that failed when their service ended. */
  failedChecksOf(allocationId: string): readonly CheckResult[] {
    this.#noteFailed(allocationId)
    return [...(this.#entries.get(allocationId)?.failed.values() ?? [])]
  }

  /** A check that passes again is forgotten; one that is withdrawn stays as it was. */
  #noteFailed(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    for (const result of entry?.services.results ?? [])
      if (result.Status === 'failure') entry?.failed.set(result.ID, result)
      else if (result.Status === 'success') entry?.failed.delete(result.ID)
  }

  /** What a roll-out wants to know; undefined for an allocation without services here. */
  health(allocationId: string): ChecksHealth | undefined {
    return this.#entries.get(allocationId)?.services.health
  }

  /** A server has let the node in: it is told everything. */
  welcomed(): void {
    this.#isWelcome = true
    this.#outbox.restart()
    this.#flush()
  }

  acknowledged({ seq }: ServicesAck): void {
    if (this.#outbox.acknowledge(seq)) this.#flush()
  }

  #resumed(allocationId: string, task: string): void {
    const entry = this.#entries.get(allocationId)
    if (entry === undefined || !entry.resuming.delete(task)) return
    if (entry.resuming.size === 0) this.#settle(allocationId)
  }

  #settle(allocationId: string): void {
    this.#entries.get(allocationId)?.cancelHold()
    this.#outbox.settle(allocationId)
    this.#flushSoon()
  }

  /** What changes in one turn goes out in one message. */
  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    queueMicrotask(() => {
      this.#isFlushDue = false
      this.#flush()
    })
  }

  #flush(): void {
    // Until a server has let the node in, nothing is on its way: `restart` begins anew then.
    const message = this.#isWelcome ? this.#outbox.next() : undefined
    if (message !== undefined) this.#options.say(message)
  }
}
