import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'

/** Whose question it is, and how many of them may wait for policies of one kind. */
export interface TurnLimits {
  readonly tenant: string
  readonly perTenantMax: number
}

/** Questions of all tenants that wait for the same policies: a multiple of one tenant's share. */
const TENANT_SHARES = 4
const WAITING_MAX = 4_096

/**
 * Lets one question to the same policies go at a time: many to slow policies do not hold up a
 * single one to others, and the second is sent where it belongs when the first has shown that its
 * policies are slow. Tenants that share policies have their turns one after the other.
 */
export class Turns {
  /** Questions that wait for those that are being asked now. */
  readonly #waiting = new Map<string, FairQueue<() => void>>()

  /** Asks when its turn has come; throws a fault where too many wait already. */
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
    // The question that is being asked counts as well.
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
