import {
  SERVICE_OUTPUT_CHARS_MAX,
  type CheckResult,
  type ReportedService,
  type ServiceChecks,
} from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isSidecar, stageOf } from '../allocation/lifecycle.ts'
import type { AgentService, AgentTask, Assignment } from '../assignment.ts'
import type { DriverAddress, ExecRequest, ExecSession } from '../driver.ts'
import type { Logger } from '../log.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Workspace } from '../store/workspace.ts'
import { buildGroupEnvironment, type TaskEnvironment } from '../task/environment.ts'
import type { TaskControl } from '../task/task-control.ts'
import { isPaused } from '../task/task-state.ts'
import { CheckRunner, type ChecksHealth } from './check-runner.ts'
import {
  isBuiltInProvider,
  planServices,
  type PlannedCheck,
  type PlannedService,
} from './plan-services.ts'

interface AllocationServicesOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly workspace: Workspace
  readonly assignment: Assignment
  /** Address of the allocation in its own network; undefined if it uses that of the machine. */
  readonly allocationIp: string | undefined
  readonly nodeInfo: () => NodeInfo
  /** The tasks of the allocation. */
  tasks(): readonly TaskControl[]
  /** Called with the registered services when they change. */
  onServicesChanged(services: readonly ReportedService[]): void
  /** Called after each check result. */
  readonly onCheckResult: () => void
}

/** Registered services and running checks of the group or of one task. */
interface Registration {
  readonly services: readonly PlannedService[]
  readonly checks: readonly CheckRunner[]
}

/** A running task, as services need it. */
export interface StartedTask {
  readonly task: AgentTask
  readonly environment: TaskEnvironment
  readonly address: DriverAddress | undefined
  /** Runs a command in the environment of the task. */
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
}

/** Minimum interval between reports of check results: each report of an allocation is stored. */
const CHECK_REPORT_INTERVAL_MIN_MS = 5_000

/** Key of the group's own services, which no task can have as its name. */
const GROUP_OWNER = ''

/**
 * Services and checks of one allocation: those of the group from before its tasks start, those of a
 * task while it runs. A service that cannot be registered is logged and added as a task event, and
 * does not affect the others.
 */
export class AllocationServices {
  readonly #options: AllocationServicesOptions
  readonly #registrations = new Map<string, Registration>()
  readonly #startedTasks = new Map<string, StartedTask>()
  #assignment: Assignment
  /** Why services are not registered, by owner. */
  readonly #registrationProblems = new Map<string, readonly string[]>()
  #isGroupRegistered = false
  #lastReportMs = Number.NEGATIVE_INFINITY
  #lastReportedChecks = ''
  #cancelReport: (() => void) | undefined

  constructor(options: AllocationServicesOptions) {
    this.#options = options
    this.#assignment = options.assignment
  }

  startGroup(): void {
    this.#isGroupRegistered = true
    this.#register(GROUP_OWNER)
  }

  startTask(started: StartedTask): void {
    this.#startedTasks.set(started.task.Name, started)
    this.#register(started.task.Name)
    for (const check of this.#groupChecksIn(started.task.Name)) check.start()
  }

  /** Deregisters the services of a task that is being stopped or has ended. */
  endTask(task: string): void {
    this.#startedTasks.delete(task)
    this.#deregister(task)
    this.#resetGroupChecks(task)
  }

  /** Deregisters the group's services before the allocation stops, so that clients use others. */
  endGroup(): void {
    this.#isGroupRegistered = false
    this.#deregister(GROUP_OWNER)
  }

  /** Updates the services after the job changed or a canary was promoted. */
  update(assignment: Assignment): void {
    this.#assignment = assignment
    for (const task of assignment.group.Tasks) {
      const started = this.#startedTasks.get(task.Name)
      if (started !== undefined) this.#startedTasks.set(task.Name, { ...started, task })
    }
    if (this.#isGroupRegistered) this.#register(GROUP_OWNER)
    for (const task of this.#startedTasks.keys()) this.#register(task)
  }

  /** Stops all checks; services stay registered because the tasks continue. */
  shutdown(): void {
    this.#cancelReport?.()
    for (const { checks } of this.#registrations.values()) for (const check of checks) check.stop()
  }

  get checkResults(): readonly CheckResult[] {
    return this.#checks().map((check) => check.result)
  }

  /** Health of the allocation's checks: all expected ones must pass continuously. */
  get health(): ChecksHealth {
    const checks = this.#checks()
    const passingTimes = checks.map((check) => check.passingSinceMs)
    const notPassing = checks.filter((check) => check.passingSinceMs === undefined)
    const problems = [...this.#registrationProblems].flatMap(([task, reasons]) =>
      reasons.map((check) => ({ task, check })),
    )
    const isComplete = this.#isFullyRegistered() && problems.length === 0
    const passingSinceMs = passingTimes.reduce<number>(
      (latest, time) => Math.max(latest, time ?? 0),
      0,
    )
    return {
      passingSinceMs: isComplete && notPassing.length === 0 ? passingSinceMs : undefined,
      notPassing: [
        ...notPassing.map(({ planned: { task, name }, result }) => {
          const { Output: output, StatusCode: statusCode } = result
          return { task, check: name, output, ...(statusCode !== undefined && { statusCode }) }
        }),
        ...problems,
      ],
    }
  }

  #checks(): readonly CheckRunner[] {
    return [...this.#registrations.values()].flatMap(({ checks }) => checks)
  }

  /**
   * Whether the group and all its long-running tasks have registered their services and checks.
   * Tasks paused by their schedule are not required.
   */
  #isFullyRegistered(): boolean {
    const { group } = this.#assignment
    const pausedTasks = this.#options.tasks().filter(({ state }) => isPaused(state))
    const longRunningTasks = group.Tasks.filter(({ Lifecycle, Name }) => {
      const stage = stageOf(Lifecycle)
      const isLongRunning = stage === 'main' || isSidecar(stage)
      return isLongRunning && !pausedTasks.some(({ name }) => name === Name)
    })
    const owners = [
      { name: GROUP_OWNER, services: group.Services ?? [] },
      ...longRunningTasks.map(({ Name, Services }) => ({ name: Name, services: Services ?? [] })),
    ]
    return owners.every(({ name, services }) => {
      const expected = services.filter(({ Provider }) => isBuiltInProvider(Provider))
      if (expected.length === 0) return true
      const checks = expected.reduce((sum, { Checks }) => sum + (Checks?.length ?? 0), 0)
      return (this.#registrations.get(name)?.checks.length ?? -1) >= checks
    })
  }

  #register(owner: string): void {
    const planned = this.#planServicesOf(owner)
    const previous = this.#registrations.get(owner)
    if (planned.length === 0 && previous === undefined) return
    const checks = this.#updateChecks(planned, previous?.checks ?? [])
    this.#registrations.set(owner, { services: planned, checks })
    this.#reportNow()
  }

  /** Keeps the runners of unchanged checks and starts those of new ones. */
  #updateChecks(
    planned: readonly PlannedService[],
    previous: readonly CheckRunner[],
  ): readonly CheckRunner[] {
    const previousByPlan = new Map(previous.map((check) => [JSON.stringify(check.planned), check]))
    const updatedChecks = planned.flatMap(({ checks }) =>
      checks.map((plannedCheck) => {
        const key = JSON.stringify(plannedCheck)
        const runner = previousByPlan.get(key)
        previousByPlan.delete(key)
        return runner ?? this.#startCheck(plannedCheck)
      }),
    )
    for (const removed of previousByPlan.values()) removed.stop()
    return updatedChecks
  }

  #startCheck(planned: PlannedCheck): CheckRunner {
    const { clock, onCheckResult } = this.#options
    const runner = new CheckRunner({
      clock,
      planned,
      onResult: () => {
        onCheckResult()
        this.#scheduleCheckReport()
      },
      exec: (request) => this.#execInTask(planned, request),
      onRestartLimitReached: (failedCheck) => this.#restartTasks(failedCheck),
    })
    if (this.#canRunCheck(planned)) runner.start()
    return runner
  }

  /** A script check runs in its task and could only fail before the task runs. */
  #canRunCheck(planned: PlannedCheck): boolean {
    return planned.check.Type !== 'script' || this.#startedTasks.has(taskNameOf(planned))
  }

  /** Script checks of the group's services that run in this task. */
  #groupChecksIn(task: string): readonly CheckRunner[] {
    const checks = this.#registrations.get(GROUP_OWNER)?.checks ?? []
    return checks.filter(
      ({ planned }) => planned.check.Type === 'script' && taskNameOf(planned) === task,
    )
  }

  /** Resets the checks; they start again with the next start of their task. */
  #resetGroupChecks(task: string): void {
    const taskChecks = new Set(this.#groupChecksIn(task))
    const registration = this.#registrations.get(GROUP_OWNER)
    if (registration === undefined || taskChecks.size === 0) return
    const checks = registration.checks.map((check) => {
      if (!taskChecks.has(check)) return check
      check.stop()
      return this.#startCheck(check.planned)
    })
    this.#registrations.set(GROUP_OWNER, { ...registration, checks })
  }

  async #execInTask(planned: PlannedCheck, request: ExecRequest): Promise<ExecSession> {
    const name = taskNameOf(planned)
    const started = this.#startedTasks.get(name)
    if (started === undefined) throw new Error(`task ${JSON.stringify(name)} does not run`)
    return await started.exec(request)
  }

  /** Restarts the task of a check, or all tasks for a service of the group. */
  #restartTasks(planned: PlannedCheck): void {
    const name = taskNameOf(planned)
    const reason = `healthcheck: check ${JSON.stringify(planned.name)} unhealthy`
    for (const task of this.#options.tasks()) {
      if (name !== '' && task.name !== name) continue
      if (task.state.State !== 'running') continue
      task.restart({ reason, usesRestartPolicy: true }).catch((thrown: unknown) => {
        this.#logError(name, `could not restart it: ${errorMessage(thrown)}`)
      })
    }
  }

  #planServicesOf(owner: string): readonly PlannedService[] {
    const started = this.#startedTasks.get(owner)
    const { group } = this.#assignment
    const services = (owner === GROUP_OWNER ? group.Services : started?.task.Services) ?? []
    if (services.every(({ Provider }) => !isBuiltInProvider(Provider))) return []
    const environment =
      started?.environment ?? buildGroupEnvironment(this.#assignment, this.#options)
    const problems: string[] = []
    const planned = services.flatMap((service) => {
      const plannedOrProblem = this.#planService(owner, service, { environment, started })
      if (typeof plannedOrProblem !== 'string') return plannedOrProblem
      problems.push(plannedOrProblem)
      return []
    })
    this.#setRegistrationProblems(owner, problems)
    return planned
  }

  /**
   * Reports each reason once, as an event of the task, or of all tasks for a service of the group.
   */
  #setRegistrationProblems(owner: string, reasons: readonly string[]): void {
    const previous = this.#registrationProblems.get(owner) ?? []
    if (reasons.length === 0) this.#registrationProblems.delete(owner)
    else this.#registrationProblems.set(owner, reasons)
    for (const reason of reasons.filter((one) => !previous.includes(one))) {
      this.#logError(owner, reason)
      for (const task of this.#options.tasks())
        if (owner === GROUP_OWNER || task.name === owner) task.addEvent('Task hook failed', reason)
    }
  }

  #planService(
    owner: string,
    service: AgentService,
    { environment, started }: { environment: TaskEnvironment; started: StartedTask | undefined },
  ): readonly PlannedService[] | string {
    const { allocationIp } = this.#options
    const { Attributes } = this.#options.nodeInfo()
    try {
      return planServices({
        assignment: this.#assignment,
        services: [service],
        task: owner,
        addressSources: {
          allocation: this.#assignment.allocation,
          task: owner,
          hostIp: Attributes['unique.network.ip-address'] ?? '127.0.0.1',
          driver: started?.address,
          allocationIp,
        },
        resolveReferences: (text, field) => environment.interpolator.resolve(text, field),
      })
    } catch (thrown) {
      return `service ${service.Name} is not registered: ${errorMessage(thrown)}`
    }
  }

  #deregister(owner: string): void {
    this.#registrationProblems.delete(owner)
    const offering = this.#registrations.get(owner)
    if (offering === undefined) return
    for (const check of offering.checks) check.stop()
    this.#registrations.delete(owner)
    this.#reportNow()
  }

  #reportNow(): void {
    this.#cancelReport?.()
    this.#cancelReport = undefined
    this.#lastReportMs = this.#options.clock.nowMs()
    const services = this.#registeredServices()
    this.#lastReportedChecks = checkCountsKey(services)
    this.#options.onServicesChanged(services)
  }

  /**
   * Reports check results if the number of passing, failing or pending checks has changed, at most
   * once per interval.
   */
  #scheduleCheckReport(): void {
    if (
      this.#cancelReport !== undefined ||
      checkCountsKey(this.#registeredServices()) === this.#lastReportedChecks
    )
      return
    const { clock } = this.#options
    const delayMs = this.#lastReportMs + CHECK_REPORT_INTERVAL_MIN_MS - clock.nowMs()
    if (delayMs <= 0) return this.#reportNow()
    this.#cancelReport = clock.after(delayMs, () => {
      this.#cancelReport = undefined
      if (checkCountsKey(this.#registeredServices()) !== this.#lastReportedChecks) this.#reportNow()
    })
  }

  #registeredServices(): readonly ReportedService[] {
    return [...this.#registrations.values()].flatMap(({ services, checks }) => {
      const results = new Map(checks.map(({ result }) => [result.ID, result]))
      return services.map((service) => {
        const serviceResults = service.checks.flatMap(({ id }) => results.get(id) ?? [])
        return serviceResults.length === 0
          ? service.registration
          : { ...service.registration, Checks: countChecks(serviceResults) }
      })
    })
  }

  #logError(task: string, message: string): void {
    const { ID: allocation } = this.#assignment.allocation
    this.#options.log.error({ allocation, task, reason: message }, 'service')
  }
}

function checkCountsKey(services: readonly ReportedService[]): string {
  return JSON.stringify(
    services.map(({ Checks }) => Checks && [Checks.Passing, Checks.Failing, Checks.Pending]),
  )
}

/** `404: File not found`: the status code, then what the check received. */
function failingOutput({ StatusCode, Output }: CheckResult): string {
  const status = StatusCode === undefined ? '' : `${StatusCode}: `
  return `${status}${Output}`.slice(0, SERVICE_OUTPUT_CHARS_MAX)
}

function countChecks(results: readonly CheckResult[]): ServiceChecks {
  const count = (status: CheckResult['Status']): number =>
    results.filter(({ Status }) => Status === status).length
  const failing = results.find(({ Status }) => Status === 'failure')
  return {
    Passing: count('success'),
    Failing: count('failure'),
    Pending: count('pending'),
    Output: failing === undefined ? '' : failingOutput(failing),
  }
}

/** Task in which a check runs, or which it restarts; empty for all tasks of the group. */
function taskNameOf({ check, task }: PlannedCheck): string {
  return check.TaskName || task
}
