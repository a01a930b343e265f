import type { AllocationUpdate } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import type { ChecksHealth } from '../services/checks-health.ts'
import {
  healthRuleOf,
  judgeHealth,
  type HealthRule,
  type JudgedTask,
  type UnhealthyTask,
} from './health.ts'

/** What a report says about health; nothing while nothing is known. */
export type HealthWord = Pick<AllocationUpdate, 'DeploymentID' | 'DeploymentStatus'>

interface HealthWatchOptions {
  readonly clock: Clock
  /** Time may have made a difference: `review` is called again. */
  wake(): void
}

/** Timers of the host cannot wait longer than 2^31 ms. */
const WAIT_MS_MAX = 24 * 3_600_000

/**
 * Finds out whether an allocation is healthy, and says so once. It begins anew when the allocation
 * joins another deployment, and with each agent: what the servers know already they keep.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions
  #rule: HealthRule | undefined
  /** When it began to be watched, on the monotonic clock. */
  #sinceMs = 0
  #isCanary = false
  #word: HealthWord = {}
  #isOver = false
  #cancelTimer: () => void = () => undefined

  constructor(options: HealthWatchOptions) {
    this.#options = options
  }

  /** For the report of the allocation. */
  get word(): HealthWord {
    return this.#word
  }

  /** Whether there is something to find out yet. */
  get isOpen(): boolean {
    return !this.#isOver && this.#rule !== undefined && this.#word.DeploymentStatus === undefined
  }

  /** What the servers want now. The same deployment as before goes on; another begins anew. */
  follow(assignment: Assignment): void {
    this.#isCanary = assignment.allocation.DeploymentStatus?.Canary ?? false
    const rule = healthRuleOf(assignment)
    const isSame = rule?.deploymentId === this.#rule?.deploymentId
    if (rule !== undefined && isSame) {
      this.#rule = rule
      return
    }
    this.#cancelTimer()
    this.#rule = rule
    this.#sinceMs = this.#options.clock.monotonicMs()
    this.#word = {}
  }

  /**
   * Its own time begins: waiting for the allocation that it replaces, and for that one's data, was
   * not its doing.
   */
  begin(): void {
    this.#sinceMs = this.#options.clock.monotonicMs()
  }

  /** The allocation is told to end, or the agent goes: its health is nobody's concern. */
  end(): void {
    this.#isOver = true
    this.#cancelTimer()
  }

  /** Looks at the tasks; answers with those that must be told why they are not healthy. */
  review(tasks: readonly JudgedTask[], checks?: ChecksHealth): readonly UnhealthyTask[] {
    if (!this.isOpen || this.#rule === undefined) return []
    this.#cancelTimer()
    const { clock } = this.#options
    const nowMs = clock.nowMs()
    const sinceMs = nowMs - (clock.monotonicMs() - this.#sinceMs)
    const verdict = judgeHealth(this.#rule, tasks, { nowMs, sinceMs, checks })
    if (verdict.kind === 'undecided') {
      const delayMs = Math.min(verdict.nextMs - nowMs, WAIT_MS_MAX)
      this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#options.wake())
      return []
    }
    this.#word = {
      DeploymentID: this.#rule.deploymentId,
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
