import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'

/** Tenant of an evaluation, and the limit of its pending evaluations of the same policies. */
export interface TurnLimits {
  readonly tenant: string
  readonly perTenantMax: number
}

/**
 * Limit of pending evaluations of the same policies for all tenants: a multiple of one tenant's
 * share.
 */
const TENANT_SHARES = 4
const WAITING_MAX = 4_096

/**
 * Serializes evaluations of the same policies, so that many evaluations of slow policies do not
 * delay those of others: after the first, the rest are routed to the slow thread. Tenants that
 * share policies are served round-robin.
 */
export class Turns {
  /** Evaluations that wait for the running one. */
  readonly #waiting = new Map<string, FairQueue<() => void>>()

  /** Runs the function when its turn comes; throws a fault if too many are pending. */
  async take<T>(key: string, limits: TurnLimits, ask: () => Promise<T>): Promise<T> {
    await this.#acquire(key, limits)
    try {
      return await ask()
    } finally {
      this.#release(key)
    }
  }

  #acquire(key: string, { tenant, perTenantMax }: TurnLimits): Promise<void> | undefined {
    const queue = this.#waiting.get(key)
    if (queue === undefined) {
      this.#waiting.set(key, new FairQueue(QUEUE_LIMITS))
      return undefined
    }
    // The running evaluation counts as well.
    const own = queue.sizeOf(tenant) + 1
    if (own >= perTenantMax || queue.size >= perTenantMax * TENANT_SHARES)
      throw new Fault(
        OVERLOADED,
        `${Math.max(own, queue.size)} questions wait for the same policies (limit ${perTenantMax} per tenant); retry later`,
      )
    return new Promise((resume) => {
      queue.push(tenant, resume)
    })
  }

  #release(key: string): void {
    const next = this.#waiting.get(key)?.take()
    if (next === undefined) this.#waiting.delete(key)
    else next()
  }
}

const QUEUE_LIMITS = { itemsMax: WAITING_MAX, itemsPerTenantMax: WAITING_MAX, quantum: 1 }
