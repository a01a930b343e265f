import type { Job } from '@reeve/contract'
import {
  placementHoldReason,
  isTerminal,
  placementPhase,
  type AllocationRow,
  type PlacementPhase,
} from '../model/index.ts'

/**
 * Limits how many allocations of the current version one evaluation may place. Unlimited, unless
 * nodes were lost while starting the version (decision 0061).
 */
export class PlacementBudget {
  readonly #phase: PlacementPhase
  readonly #job: Job
  #remaining: number
  #withheld = 0

  constructor(job: Job, rows: readonly AllocationRow[], nowMs: number) {
    this.#job = job
    this.#phase = placementPhase(job, nowMs)
    this.#remaining = placementLimit(this.#phase, rows)
  }

  /** Uses one placement of the budget; false if none is left. */
  tryTake(): boolean {
    if (this.#remaining > 0) {
      this.#remaining -= 1
      return true
    }
    this.#withheld += 1
    return false
  }

  /** Reason why placements were withheld; undefined if none were. */
  get withheldReason(): string | undefined {
    return this.#withheld === 0 ? undefined : placementHoldReason(this.#phase, this.#job)
  }

  /** Time at which more may be placed; undefined if nothing was withheld or no time is known. */
  get nextPlacementMs(): number | undefined {
    return this.#withheld > 0 && 'untilMs' in this.#phase ? this.#phase.untilMs : undefined
  }
}

function placementLimit(phase: PlacementPhase, rows: readonly AllocationRow[]): number {
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
