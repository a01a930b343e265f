import type { AllocationUpdate } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import type { ChecksHealth } from '../services/checks-health.ts'
import {
  healthCriteriaOf,
  evaluateHealth,
  type HealthCriteria,
  type TaskHealthInput,
  type UnhealthyTask,
} from './health.ts'

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
