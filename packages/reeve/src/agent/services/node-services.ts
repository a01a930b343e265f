import type { CheckResult, ServicesAck } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Assignment } from '../assignment.ts'
import type { ExecRequest } from '../driver.ts'
import type { Logger } from '../log.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Workspace } from '../store/workspace.ts'
import type { TaskControl } from '../task/task-control.ts'
import { AllocationServices, type StartedTask } from './allocation-services.ts'
import type { ChecksHealth } from './check-runner.ts'
import { ServiceOutbox } from '../link/outbox.ts'
import type { TaskHook } from '../task/task-hook.ts'

interface NodeServicesOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly workspace: Workspace
  readonly node: () => NodeInfo
  /** Sends a message on the current connection; it is dropped if there is none. */
  send(message: object): void
  /** Address of an allocation in its own network. */
  readonly allocationIp?: (allocationId: string) => string | undefined
}

/** The allocation that owns services. */
interface ServiceOwner {
  readonly assignment: Assignment
  readonly tasks: readonly TaskControl[]
  /** Tasks of the previous agent that were not recovered yet. */
  readonly resuming: readonly string[]
  /** Called after a check result: the health of the allocation may have changed. */
  onHealthChanged(): void
}

interface AllocationEntry {
  readonly services: AllocationServices
  readonly resuming: Set<string>
  /** Checks that failed when their service was deregistered, by ID. */
  readonly failedChecks: Map<string, CheckResult>
  readonly cancelResumeTimeout: () => void
}

/** How long recovered tasks may take before their services are reported to the servers. */
const RESUME_TIMEOUT_MS = 15_000

/**
 * All services and checks of a node. Runners report starts and ends; the registered services are
 * sent to the servers, all of them on each new channel, so that both sides agree.
 */
export class NodeServices {
  readonly #options: NodeServicesOptions
  readonly #entries = new Map<string, AllocationEntry>()
  readonly #outbox = new ServiceOutbox()
  #isFlushScheduled = false
  #isConnected = false

  constructor(options: NodeServicesOptions) {
    this.#options = options
  }

  /** Registers the group's services of an allocation whose tasks are about to start or continue. */
  registerAllocation(owner: ServiceOwner): void {
    const { assignment } = owner
    const { ID: id } = assignment.allocation
    const { clock, log, workspace, node, allocationIp } = this.#options
    this.#entries.get(id)?.services.shutdown()
    const services = new AllocationServices({
      clock,
      log,
      workspace,
      nodeInfo: node,
      assignment,
      allocationIp: allocationIp?.(id),
      tasks: () => owner.tasks,
      onCheckResult: () => owner.onHealthChanged(),
      onServicesChanged: (registered) => {
        this.#outbox.setServices(id, registered)
        this.#scheduleFlush()
      },
    })
    const resuming = new Set(owner.resuming)
    if (resuming.size > 0) this.#outbox.defer(id)
    const cancelHold = clock.after(RESUME_TIMEOUT_MS, () => this.#releaseHeldServices(id))
    this.#entries.set(id, {
      services,
      resuming,
      cancelResumeTimeout: cancelHold,
      failedChecks: new Map(),
    })
    services.startGroup()
  }

  /** Registers the services of a started or recovered task. */
  onTaskStarted(allocationId: string, started: StartedTask): void {
    const entry = this.#entries.get(allocationId)
    for (const [id, { Task = '' }] of entry?.failedChecks ?? [])
      if (Task === '' || Task === started.task.Name) entry?.failedChecks.delete(id)
    entry?.services.startTask(started)
    this.#markResumed(allocationId, started.task.Name)
  }

  /** Deregisters the services of a task that is being stopped or has ended. */
  onTaskStopping(allocationId: string, task: string): void {
    this.#recordFailedChecks(allocationId)
    this.#entries.get(allocationId)?.services.endTask(task)
    this.#markResumed(allocationId, task)
  }

  /** Deregisters the group's services before the allocation stops. */
  onAllocationStopping(allocationId: string): void {
    this.#recordFailedChecks(allocationId)
    this.#entries.get(allocationId)?.services.endGroup()
    this.#releaseHeldServices(allocationId)
  }

  update(assignment: Assignment): void {
    this.#entries.get(assignment.allocation.ID)?.services.update(assignment)
  }

  /** Removes the services of an allocation whose tasks have all ended. */
  onAllocationTerminated(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    if (entry === undefined) return
    entry.services.shutdown()
    entry.cancelResumeTimeout()
    this.#entries.delete(allocationId)
    this.#outbox.release(allocationId)
    this.#outbox.setServices(allocationId, [])
    this.#scheduleFlush()
  }

  /** Stops the checks because the agent stops; tasks and registrations stay. */
  shutdown(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    entry?.services.shutdown()
    entry?.cancelResumeTimeout()
  }

  /** Latest results of an allocation's checks by ID. */
  checkResults(allocationId: string): Readonly<Record<string, CheckResult>> {
    const results = this.#entries.get(allocationId)?.services.checkResults ?? []
    return Object.fromEntries(results.map((result) => [result.ID, result]))
  }

  /** Checks that fail now, or failed when their service was deregistered. */
  failedChecks(allocationId: string): readonly CheckResult[] {
    this.#recordFailedChecks(allocationId)
    return [...(this.#entries.get(allocationId)?.failedChecks.values() ?? [])]
  }

  /** Records failing checks. A check that passes again is removed; a deregistered one is kept. */
  #recordFailedChecks(allocationId: string): void {
    const entry = this.#entries.get(allocationId)
    for (const result of entry?.services.checkResults ?? [])
      if (result.Status === 'failure') entry?.failedChecks.set(result.ID, result)
      else if (result.Status === 'success') entry?.failedChecks.delete(result.ID)
  }

  /** Health of an allocation's checks for deployments; undefined without services. */
  health(allocationId: string): ChecksHealth | undefined {
    return this.#entries.get(allocationId)?.services.health
  }

  /** Sends everything to a server that has accepted the node. */
  onConnected(): void {
    this.#isConnected = true
    this.#outbox.reset()
    this.#flush()
  }

  onAcknowledged({ seq }: ServicesAck): void {
    if (this.#outbox.acknowledge(seq)) this.#flush()
  }

  #markResumed(allocationId: string, task: string): void {
    const entry = this.#entries.get(allocationId)
    if (entry === undefined || !entry.resuming.delete(task)) return
    if (entry.resuming.size === 0) this.#releaseHeldServices(allocationId)
  }

  #releaseHeldServices(allocationId: string): void {
    this.#entries.get(allocationId)?.cancelResumeTimeout()
    this.#outbox.release(allocationId)
    this.#scheduleFlush()
  }

  /** Changes within one microtask go into one message. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    queueMicrotask(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    // Nothing is in flight until a server has accepted the node: `restart` resets the outbox.
    const message = this.#isConnected ? this.#outbox.next() : undefined
    if (message !== undefined) this.#options.send(message)
  }
}

/** Registers services after the start of a task, and deregisters them before it is stopped. */
export function newServiceHook(services: NodeServices): TaskHook {
  return {
    name: 'services',
    runsOnce: false,
    async afterStart({ assignment, task, environment }, running) {
      const { address } = running
      const exec = (request: ExecRequest) => running.exec(request)
      services.onTaskStarted(assignment.allocation.ID, { task, environment, address, exec })
      await Promise.resolve()
    },
    async beforeStop({ assignment, task }) {
      services.onTaskStopping(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
    async afterExit({ assignment, task }) {
      services.onTaskStopping(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
  }
}
