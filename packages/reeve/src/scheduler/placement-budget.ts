import type { Job } from '@reeve/contract'
import {
  holdText,
  isTerminal,
  placementPhase,
  type AllocationRow,
  type PlacementPhase,
} from '../model/index.ts'

/**
 * How many allocations of the job's present version one evaluation may place. Unlimited, unless
 * nodes were lost while the version was starting on them (decision 0061).
 */
export class PlacementBudget {
  readonly #phase: PlacementPhase
  readonly #job: Job
  #left: number
  #withheld = 0

  constructor(job: Job, rows: readonly AllocationRow[], nowMs: number) {
    this.#job = job
    this.#phase = placementPhase(job, nowMs)
    this.#left = allowance(this.#phase, rows)
  }

  /** Takes one placement from the budget; false when none is left. */
  take(): boolean {
    if (this.#left > 0) {
      this.#left -= 1
      return true
    }
    this.#withheld += 1
    return false
  }

  /** Why placements were withheld; undefined when none were. */
  get reason(): string | undefined {
    return this.#withheld === 0 ? undefined : holdText(this.#phase, this.#job)
  }

  /** When more may be placed than now; undefined when nothing was withheld, or for good. */
  get nextMs(): number | undefined {
    return this.#withheld > 0 && 'untilMs' in this.#phase ? this.#phase.untilMs : undefined
  }
}

function allowance(phase: PlacementPhase, rows: readonly AllocationRow[]): number {
  switch (phase.phase) {
    case 'open':
      return Infinity
    case 'quarantined':
    case 'delayed':
      return 0
    case 'probing': {
      const { CreateIndex } = phase.loss
      const hasProbe = rows.some((row) => row.CreateIndex > CreateIndex && !isTerminal(row))
      return hasProbe ? 0 : 1
    }
  }
}
