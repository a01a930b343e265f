import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'

/** Tenant of an evaluation, and the limit of its pending evaluations of the same policies. */
export interface KeyLimits {
  readonly tenant: string
  readonly perTenantMax: number
}

/**
 * Limit of pending evaluations of the same policies for all tenants: a multiple of one tenant's
 * share.
 */
const TENANT_SHARES = 4
const QUEUE_PENDING_MAX = 4_096

/**
 * Serializes evaluations of the same policies, so that many evaluations of slow policies do not
 * delay those of others: after the first, the rest are routed to the slow thread. Tenants that
 * share policies are served round-robin.
 */
export class KeyedQueue {
  /** Pending evaluations by key; the running one is not included. */
  readonly #pending = new Map<string, FairQueue<() => void>>()

  /** Runs the function when its turn comes; throws a fault if too many are pending. */
  async run<T>(key: string, limits: KeyLimits, task: () => Promise<T>): Promise<T> {
    await this.#acquire(key, limits)
    try {
      return await task()
    } finally {
      this.#release(key)
    }
  }

  #acquire(key: string, { tenant, perTenantMax }: KeyLimits): Promise<void> | undefined {
    const queue = this.#pending.get(key)
    if (queue === undefined) {
      this.#pending.set(key, new FairQueue(FAIR_QUEUE_LIMITS))
      return undefined
    }
    // The limit includes the running evaluation.
    const pendingOfTenant = queue.sizeOf(tenant) + 1
    if (pendingOfTenant >= perTenantMax || queue.size >= perTenantMax * TENANT_SHARES)
      throw new Fault(
        OVERLOADED,
        `${Math.max(pendingOfTenant, queue.size)} questions wait for the same policies (limit ${perTenantMax} per tenant); retry later`,
      )
    return new Promise((resume) => {
      queue.push(tenant, resume)
    })
  }

  #release(key: string): void {
    const next = this.#pending.get(key)?.take()
    if (next === undefined) this.#pending.delete(key)
    else next()
  }
}

const FAIR_QUEUE_LIMITS = {
  itemsMax: QUEUE_PENDING_MAX,
  itemsPerTenantMax: QUEUE_PENDING_MAX,
  quantum: 1,
}
