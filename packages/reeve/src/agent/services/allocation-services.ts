import {
  SERVICE_OUTPUT_CHARS_MAX,
  type CheckResult,
  type OfferedService,
  type ServiceChecks,
} from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isSidecar, stageOf } from '../allocation/lifecycle.ts'
import type { AgentService, AgentTask, Assignment } from '../assignment.ts'
import type { DriverAddress } from '../driver.ts'
import type { Log } from '../log.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import type { Workspace } from '../store/workspace.ts'
import { groupEnvironment, type TaskEnvironment } from '../task/environment.ts'
import type { TaskControl } from '../task/task-control.ts'
import { isPaused } from '../task/task-state.ts'
import { CheckRunner } from './check-runner.ts'
import { isBuiltIn, planServices, type PlannedCheck, type PlannedService } from './plan-services.ts'
import type { ChecksHealth } from './checks-health.ts'

export interface AllocationServicesOptions {
  readonly clock: Clock
  readonly log: Log
  readonly workspace: Workspace
  readonly assignment: Assignment
  /** The allocation's address in a network of its own; undefined where it is in the machine's. */
  readonly allocationIp: string | undefined
  readonly node: () => NodeFacts
  /** The tasks of the allocation. */
  tasks(): readonly TaskControl[]
  /** What it offers is another set. */
  offered(services: readonly OfferedService[]): void
  /** A check was looked at. */
  readonly changed: () => void
}

/** A task that offers something, from its start until it is told to end. */
interface Offering {
  readonly planned: readonly PlannedService[]
  readonly checks: readonly CheckRunner[]
}

/** What a running task brings along. */
export interface StartedTask {
  readonly task: AgentTask
  readonly environment: TaskEnvironment
  readonly address: DriverAddress | undefined
  /** Runs a command in its world. */
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
}

/** Minimum interval between reports of check results: each report of an allocation is stored. */
const TELL_CHECKS_MS_MIN = 5_000

/** The group's own services are kept under a name that no task can have. */
const GROUP = ''

/**
 * The services and checks of one allocation: the group's from before its tasks begin, a task's
 * while it runs. What cannot be registered is told to the log and to the task, and costs nobody
 * else.
 */
export class AllocationServices {
  readonly #options: AllocationServicesOptions
  readonly #offerings = new Map<string, Offering>()
  readonly #started = new Map<string, StartedTask>()
  #assignment: Assignment
  /** Why services are not in the catalogue, by their owner. */
  readonly #unregistered = new Map<string, readonly string[]>()
  #isGroupOpen = false
  #toldMs = Number.NEGATIVE_INFINITY
  #toldChecks = ''
  #cancelTell: (() => void) | undefined

  constructor(options: AllocationServicesOptions) {
    this.#options = options
    this.#assignment = options.assignment
  }

  startGroup(): void {
    this.#isGroupOpen = true
    this.#offer(GROUP)
  }

  startTask(started: StartedTask): void {
    this.#started.set(started.task.Name, started)
    this.#offer(started.task.Name)
    for (const check of this.#groupChecksIn(started.task.Name)) check.start()
  }

  /** A task is about to end, or has. */
  endTask(task: string): void {
    this.#started.delete(task)
    this.#withdraw(task)
    this.#holdGroupChecks(task)
  }

  /** The allocation is about to end: nobody should be sent to it any more. */
  endGroup(): void {
    this.#isGroupOpen = false
    this.#withdraw(GROUP)
  }

  /** The servers changed the job, or promoted a canary: what is offered follows. */
  update(assignment: Assignment): void {
    this.#assignment = assignment
    for (const task of assignment.group.Tasks) {
      const started = this.#started.get(task.Name)
      if (started !== undefined) this.#started.set(task.Name, { ...started, task })
    }
    if (this.#isGroupOpen) this.#offer(GROUP)
    for (const task of this.#started.keys()) this.#offer(task)
  }

  /** Ends all watching; what is registered stays, as the tasks do. */
  halt(): void {
    this.#cancelTell?.()
    for (const { checks } of this.#offerings.values()) for (const check of checks) check.stop()
  }

  get results(): readonly CheckResult[] {
    return this.#checks().map((check) => check.result)
  }

  /** All expected checks must pass, continuously. */
  get health(): ChecksHealth {
    const checks = this.#checks()
    const times = checks.map((check) => check.passingSinceMs)
    const late = checks.filter((check) => check.passingSinceMs === undefined)
    const unregistered = [...this.#unregistered].flatMap(([task, reasons]) =>
      reasons.map((check) => ({ task, check })),
    )
    const isComplete = this.#isOffered() && unregistered.length === 0
    const since = times.reduce<number>((latest, time) => Math.max(latest, time ?? 0), 0)
    return {
      passingSinceMs: isComplete && late.length === 0 ? since : undefined,
      late: [
        ...late.map(({ planned: { task, name }, result }) => {
          const { Output: output, StatusCode: statusCode } = result
          return { task, check: name, output, ...(statusCode !== undefined && { statusCode }) }
        }),
        ...unregistered,
      ],
    }
  }

  #checks(): readonly CheckRunner[] {
    return [...this.#offerings.values()].flatMap(({ checks }) => checks)
  }

  /**
   * Whether the group, and the tasks that run as long as it does, offer their services with all of
   * their checks. A task that its schedule holds back need not.
   */
  #isOffered(): boolean {
    const { group } = this.#assignment
    const paused = this.#options.tasks().filter(({ state }) => isPaused(state))
    const lasting = group.Tasks.filter(({ Lifecycle, Name }) => {
      const stage = stageOf(Lifecycle)
      const isLasting = stage === 'main' || isSidecar(stage)
      return isLasting && !paused.some(({ name }) => name === Name)
    })
    const owners = [
      { name: GROUP, services: group.Services ?? [] },
      ...lasting.map(({ Name, Services }) => ({ name: Name, services: Services ?? [] })),
    ]
    return owners.every(({ name, services }) => {
      const expected = services.filter(({ Provider }) => isBuiltIn(Provider))
      if (expected.length === 0) return true
      const checks = expected.reduce((sum, { Checks }) => sum + (Checks?.length ?? 0), 0)
      return (this.#offerings.get(name)?.checks.length ?? -1) >= checks
    })
  }

  #offer(owner: string): void {
    const planned = this.#plan(owner)
    const before = this.#offerings.get(owner)
    if (planned.length === 0 && before === undefined) return
    const checks = this.#checksFor(planned, before?.checks ?? [])
    this.#offerings.set(owner, { planned, checks })
    this.#tell()
  }

  /** Checks that are as they were go on; only new ones begin. */
  #checksFor(
    planned: readonly PlannedService[],
    before: readonly CheckRunner[],
  ): readonly CheckRunner[] {
    const known = new Map(before.map((check) => [JSON.stringify(check.planned), check]))
    const kept = planned.flatMap(({ checks }) =>
      checks.map((one) => {
        const text = JSON.stringify(one)
        const runner = known.get(text)
        known.delete(text)
        return runner ?? this.#newCheck(one)
      }),
    )
    for (const gone of known.values()) gone.stop()
    return kept
  }

  #newCheck(planned: PlannedCheck): CheckRunner {
    const { clock, changed } = this.#options
    const runner = new CheckRunner({
      clock,
      planned,
      changed: () => {
        changed()
        this.#tellChecks()
      },
      exec: (request) => this.#exec(planned, request),
      out: (one) => this.#restart(one),
    })
    if (this.#canRunNow(planned)) runner.start()
    return runner
  }

  /** A script runs inside its task: before the task runs it could only fail. */
  #canRunNow(planned: PlannedCheck): boolean {
    return planned.check.Type !== 'script' || this.#started.has(taskOf(planned))
  }

  /** The checks of the group's services that run inside this task. */
  #groupChecksIn(task: string): readonly CheckRunner[] {
    const checks = this.#offerings.get(GROUP)?.checks ?? []
    return checks.filter(
      ({ planned }) => planned.check.Type === 'script' && taskOf(planned) === task,
    )
  }

  /** They begin anew with the next start of their task. */
  #holdGroupChecks(task: string): void {
    const held = new Set(this.#groupChecksIn(task))
    const group = this.#offerings.get(GROUP)
    if (group === undefined || held.size === 0) return
    const checks = group.checks.map((check) => {
      if (!held.has(check)) return check
      check.stop()
      return this.#newCheck(check.planned)
    })
    this.#offerings.set(GROUP, { ...group, checks })
  }

  async #exec(planned: PlannedCheck, request: ExecRequest): Promise<ExecSession> {
    const name = taskOf(planned)
    const started = this.#started.get(name)
    if (started === undefined) throw new Error(`task ${JSON.stringify(name)} does not run`)
    return await started.exec(request)
  }

  /** The task, or all of them for a service of the group. */
  #restart(planned: PlannedCheck): void {
    const name = taskOf(planned)
    const reason = `healthcheck: check ${JSON.stringify(planned.name)} unhealthy`
    for (const task of this.#options.tasks()) {
      if (name !== '' && task.name !== name) continue
      if (task.state.State !== 'running') continue
      task.restart({ reason, withDelay: true }).catch((thrown: unknown) => {
        this.#complain(name, `could not restart it: ${errorMessage(thrown)}`)
      })
    }
  }

  #plan(owner: string): readonly PlannedService[] {
    const started = this.#started.get(owner)
    const { group } = this.#assignment
    const services = (owner === GROUP ? group.Services : started?.task.Services) ?? []
    if (services.every(({ Provider }) => !isBuiltIn(Provider))) return []
    const environment = started?.environment ?? groupEnvironment(this.#assignment, this.#options)
    const missing: string[] = []
    const planned = services.flatMap((service) => {
      const one = this.#planOne(owner, service, { environment, started })
      if (typeof one !== 'string') return one
      missing.push(one)
      return []
    })
    this.#setUnregistered(owner, missing)
    return planned
  }

  /** Told once, to the task or to all of them for a service of the group. */
  #setUnregistered(owner: string, reasons: readonly string[]): void {
    const known = this.#unregistered.get(owner) ?? []
    if (reasons.length === 0) this.#unregistered.delete(owner)
    else this.#unregistered.set(owner, reasons)
    for (const reason of reasons.filter((one) => !known.includes(one))) {
      this.#complain(owner, reason)
      for (const task of this.#options.tasks())
        if (owner === GROUP || task.name === owner) task.tell('Task hook failed', reason)
    }
  }

  #planOne(
    owner: string,
    service: AgentService,
    { environment, started }: { environment: TaskEnvironment; started: StartedTask | undefined },
  ): readonly PlannedService[] | string {
    const { allocationIp } = this.#options
    const { Attributes } = this.#options.node()
    try {
      return planServices({
        assignment: this.#assignment,
        services: [service],
        task: owner,
        around: {
          allocation: this.#assignment.allocation,
          task: owner,
          hostIp: Attributes['unique.network.ip-address'] ?? '127.0.0.1',
          driver: started?.address,
          allocationIp,
        },
        resolve: (text, field) => environment.interpolator.text(text, field),
      })
    } catch (thrown) {
      return `service ${service.Name} is not registered: ${errorMessage(thrown)}`
    }
  }

  #withdraw(owner: string): void {
    this.#unregistered.delete(owner)
    const offering = this.#offerings.get(owner)
    if (offering === undefined) return
    for (const check of offering.checks) check.stop()
    this.#offerings.delete(owner)
    this.#tell()
  }

  #tell(): void {
    this.#cancelTell?.()
    this.#cancelTell = undefined
    this.#toldMs = this.#options.clock.nowMs()
    const offered = this.#offered()
    this.#toldChecks = checksText(offered)
    this.#options.offered(offered)
  }

  /**
   * Reports check results if the number of passing, failing or pending checks has changed, at most
   * once per interval.
   */
  #tellChecks(): void {
    if (this.#cancelTell !== undefined || checksText(this.#offered()) === this.#toldChecks) return
    const { clock } = this.#options
    const delayMs = this.#toldMs + TELL_CHECKS_MS_MIN - clock.nowMs()
    if (delayMs <= 0) return this.#tell()
    this.#cancelTell = clock.after(delayMs, () => {
      this.#cancelTell = undefined
      if (checksText(this.#offered()) !== this.#toldChecks) this.#tell()
    })
  }

  #offered(): readonly OfferedService[] {
    return [...this.#offerings.values()].flatMap(({ planned, checks }) => {
      const results = new Map(checks.map(({ result }) => [result.ID, result]))
      return planned.map((service) => {
        const own = service.checks.flatMap(({ id }) => results.get(id) ?? [])
        return own.length === 0 ? service.offered : { ...service.offered, Checks: countChecks(own) }
      })
    })
  }

  #complain(task: string, message: string): void {
    const { ID: allocation } = this.#assignment.allocation
    this.#options.log.error({ allocation, task, reason: message }, 'service')
  }
}

function checksText(offered: readonly OfferedService[]): string {
  return JSON.stringify(
    offered.map(({ Checks }) => Checks && [Checks.Passing, Checks.Failing, Checks.Pending]),
  )
}

function countChecks(results: readonly CheckResult[]): ServiceChecks {
  const count = (status: CheckResult['Status']): number =>
    results.filter(({ Status }) => Status === status).length
  const failing = results.find(({ Status }) => Status === 'failure')
  return {
    Passing: count('success'),
    Failing: count('failure'),
    Pending: count('pending'),
    Output: failing?.Output.slice(0, SERVICE_OUTPUT_CHARS_MAX) ?? '',
  }
}

/** The task that a check runs in, or restarts; empty: all of the group. */
function taskOf({ check, task }: PlannedCheck): string {
  return check.TaskName || task
}
