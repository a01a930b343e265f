import type { AllocationUpdate, TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, isoFromMs, msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ChecksHealth } from '../services/check-runner.ts'
import { isPaused } from '../task/task-state.ts'
import { isSidecar, type Stage } from './lifecycle.ts'

/** Health fields of a report; absent while the health is undecided. */
export type ReportedHealth = Pick<AllocationUpdate, 'DeploymentID' | 'DeploymentStatus'>

interface HealthTrackerOptions {
  readonly clock: Clock
  /** Called when the passing of time may have decided the health. */
  scheduleReevaluation(): void
}

/** Timers of the runtime are limited to 2^31 ms. */
const TIMER_DELAY_MAX_MS = 24 * 3_600_000

/**
 * Determines once whether an allocation is healthy. Starts again when the allocation joins another
 * deployment, and with each agent: the servers keep what was reported.
 */
export class HealthTracker {
  readonly #options: HealthTrackerOptions
  #criteria: HealthCriteria | undefined
  /** Start of the tracking on the monotonic clock. */
  #startedMs = 0
  #isCanary = false
  #reported: ReportedHealth = {}
  #isStopped = false
  #cancelTimer: () => void = () => undefined

  constructor(options: HealthTrackerOptions) {
    this.#options = options
  }

  /** Fields for the report of the allocation. */
  get reported(): ReportedHealth {
    return this.#reported
  }

  /** Whether the health still has to be determined. */
  get isUndecided(): boolean {
    return (
      !this.#isStopped &&
      this.#criteria !== undefined &&
      this.#reported.DeploymentStatus === undefined
    )
  }

  /** Applies a changed assignment. A different deployment restarts the tracking. */
  update(assignment: Assignment): void {
    this.#isCanary = assignment.allocation.DeploymentStatus?.Canary ?? false
    const criteria = healthCriteriaOf(assignment)
    const isSameDeployment = criteria?.deploymentId === this.#criteria?.deploymentId
    if (criteria !== undefined && isSameDeployment) {
      this.#criteria = criteria
      return
    }
    this.#cancelTimer()
    this.#criteria = criteria
    this.#startedMs = this.#options.clock.monotonicMs()
    this.#reported = {}
  }

  /** Restarts the clock: waiting for the replaced allocation and for its data does not count. */
  restartClock(): void {
    this.#startedMs = this.#options.clock.monotonicMs()
  }

  /** Stops tracking, because the allocation is being stopped or the agent stops. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  /**
   * Evaluates the tasks; returns the tasks that get an event with the reason of being unhealthy.
   */
  evaluate(tasks: readonly TaskHealthInput[], checks?: ChecksHealth): readonly UnhealthyTask[] {
    if (!this.isUndecided || this.#criteria === undefined) return []
    this.#cancelTimer()
    const { clock } = this.#options
    const nowMs = clock.nowMs()
    const startedMs = nowMs - (clock.monotonicMs() - this.#startedMs)
    const verdict = evaluateHealth(this.#criteria, tasks, { nowMs, startedMs, checks })
    if (verdict.kind === 'undecided') {
      const delayMs = Math.min(verdict.nextMs - nowMs, TIMER_DELAY_MAX_MS)
      this.#cancelTimer = this.#options.clock.after(delayMs, () =>
        this.#options.scheduleReevaluation(),
      )
      return []
    }
    this.#reported = {
      DeploymentID: this.#criteria.deploymentId,
      DeploymentStatus: {
        Healthy: verdict.kind === 'healthy',
        Timestamp: isoFromMs(nowMs),
        Canary: this.#isCanary,
        ModifyIndex: 0,
      },
    }
    return verdict.kind === 'unhealthy' ? verdict.reasons : []
  }
}

/** Criteria for a healthy allocation. */
interface HealthCriteria {
  /** ID of the deployment; empty if only migrations need the health. */
  readonly deploymentId: string
  /** How long all tasks must run without a restart. */
  readonly minHealthyMs: number
  /** Whether the checks of the services must pass too. */
  readonly requiresChecks?: boolean
  /** Time limit for becoming healthy. */
  readonly deadlineMs: number
}

/** State of a task that the evaluation needs. */
export interface TaskHealthInput {
  readonly name: string
  readonly stage: Stage
  readonly state: Pick<TaskState, 'State' | 'Failed' | 'StartedAt' | 'Paused'> &
    Partial<Pick<TaskState, 'Events'>>
}

type HealthEvaluation =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'unhealthy'; readonly reasons: readonly UnhealthyTask[] }
  /** Cannot be decided before `nextMs` unless a task changes. */
  | { readonly kind: 'undecided'; readonly nextMs: number }

/** A task because of which the allocation missed its deadline, and why. */
interface UnhealthyTask {
  readonly task: string
  readonly reason: string
}

/**
 * Health criteria: those of `update` for allocations of a deployment, those of `migrate` for other
 * services. Undefined if health is set manually or already known.
 */
export function healthCriteriaOf({
  allocation,
  job,
  group,
}: Assignment): HealthCriteria | undefined {
  const deploymentId = allocation.DeploymentID ?? ''
  if (typeof allocation.DeploymentStatus?.Healthy === 'boolean') return undefined
  const isService = job.Type === 'service'
  const settings = deploymentId !== '' ? group.Update : isService ? group.Migrate : undefined
  if (settings === null || settings === undefined || settings.HealthCheck === 'manual')
    return undefined
  return {
    deploymentId,
    requiresChecks: settings.HealthCheck === 'checks',
    minHealthyMs: msFromNs(settings.MinHealthyTime),
    deadlineMs: msFromNs(settings.HealthyDeadline),
  }
}

interface HealthInputs {
  readonly nowMs: number
  /** Start of the tracking. */
  readonly startedMs: number
  /** Health of the checks; undefined if no checks run. */
  readonly checks?: ChecksHealth | undefined
}

/**
 * Evaluates the health. The minimum healthy time counts from the latest start of a task, so a
 * restart resets it. A task that failed, or ended though it should run, makes the allocation
 * unhealthy.
 */
export function evaluateHealth(
  criteria: HealthCriteria,
  tasks: readonly TaskHealthInput[],
  { nowMs, startedMs: trackingStartedMs, checks }: HealthInputs,
): HealthEvaluation {
  const relevantTasks = tasks.filter((task) => task.stage !== 'poststop')
  if (relevantTasks.some(hasFailedPermanently)) return { kind: 'unhealthy', reasons: [] }
  const deadlineMs = trackingStartedMs + criteria.deadlineMs
  const requiredChecks = criteria.requiresChecks === true ? checks : undefined
  // If the clock was set back, a start lies in the future: count from the start of the tracking.
  const notInFuture = (timeMs: number): number =>
    timeMs > nowMs && timeMs < Infinity ? trackingStartedMs : timeMs
  const healthyAtMs =
    Math.max(
      notInFuture(allStartedAtMs(relevantTasks)),
      notInFuture(checksPassingAtMs(requiredChecks)),
    ) + criteria.minHealthyMs
  if (healthyAtMs <= nowMs) return { kind: 'healthy' }
  if (deadlineMs <= nowMs)
    return { kind: 'unhealthy', reasons: unhealthyReasons(relevantTasks, criteria, requiredChecks) }
  return { kind: 'undecided', nextMs: Math.min(deadlineMs, healthyAtMs) }
}

/** Without required checks only the tasks count. */
function checksPassingAtMs(checks: ChecksHealth | undefined): number {
  return checks === undefined ? 0 : (checks.passingSinceMs ?? Infinity)
}

/** Whether the task has failed, or has ended though it should run as long as the allocation. */
function hasFailedPermanently({ state, stage }: TaskHealthInput): boolean {
  if (state.State !== 'dead') return false
  return state.Failed || stage === 'main' || isSidecar(stage)
}

/** When the last of the tasks started; infinite while one of them is pending. */
function allStartedAtMs(tasks: readonly TaskHealthInput[]): number {
  // Tasks that have completed, and tasks paused by their schedule, do not count.
  const expectedTasks = tasks.filter(({ state }) => state.State !== 'dead' && !isPaused(state))
  if (expectedTasks.some(({ state }) => state.State === 'pending')) return Infinity
  const starts = expectedTasks.map(({ state }) => Date.parse(state.StartedAt))
  return starts.reduce((latest, start) => Math.max(latest, start), 0)
}

function unhealthyReasons(
  tasks: readonly TaskHealthInput[],
  criteria: HealthCriteria,
  checks: ChecksHealth | undefined,
): readonly UnhealthyTask[] {
  const deadline = formatDurationNs(nsFromMs(criteria.deadlineMs))
  const minHealthyTime = formatDurationNs(nsFromMs(criteria.minHealthyMs))
  return tasks
    .filter(({ state }) => state.State !== 'dead')
    .map(({ name, state }) => ({
      task: name,
      reason:
        state.State === 'pending'
          ? `Task not running by healthy_deadline of ${deadline}${waitsFor(state)}`
          : (failingChecksMessage(name, checks) ??
            `Task not running for min_healthy_time of ${minHealthyTime} by healthy_deadline of ${deadline}`),
    }))
}

/** Names the data that the templates of the task wait for, if that is the last thing it did. */
function waitsFor({ Events = [] }: TaskHealthInput['state']): string {
  const last = Events.at(-1)
  return last?.Type === 'Template' ? `: ${last.DisplayMessage}` : ''
}

/** Describes the failing checks of the task and of the group; undefined if there are none. */
function failingChecksMessage(task: string, checks: ChecksHealth | undefined): string | undefined {
  const failing = (checks?.notPassing ?? []).filter(
    (check) => check.task === task || check.task === '',
  )
  if (failing.length === 0) return undefined
  const descriptions = failing.map((check) => check.check + outputExcerpt(check))
  return `Services not healthy by deadline: ${descriptions.join(', ')}`
}

/** Status and first output line of a check. The first line of an HTML page is omitted. */
function outputExcerpt({ output = '', statusCode }: ChecksHealth['notPassing'][number]): string {
  const [firstLine = ''] = output.trim().split('\n', 1)
  const excerpt = firstLine.startsWith('<')
    ? ''
    : firstLine.slice(0, AGENT_LIMITS.checkOutputExcerptCharsMax)
  const status = statusCode === undefined ? '' : `status ${statusCode}`
  const parts = [status, excerpt].filter((part) => part !== '')
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`
}
