/** A limit as operators see it: what it is, how much of it is in use, and what it rejected. */
export interface LimitUse {
  /** The setting, without its block, such as `connections`. */
  readonly name: string
  /** Infinity where there is no limit. */
  readonly max: number
  /** The use of the tenant that uses most, or of the server where the limit is one of all. */
  readonly used: number
  readonly rejected: number
}

/**
 * Slots of something that each tenant may hold a bounded number of: streams, sessions, parked
 * queries.
 */
export class TenantSlots {
  /** The setting that bounds them, without its block. */
  readonly name: string
  readonly perTenantMax: number
  readonly #heldBy = new Map<string, number>()
  #held = 0
  #rejected = 0

  constructor(name: string, perTenantMax: number = Number.POSITIVE_INFINITY) {
    this.name = name
    this.perTenantMax = perTenantMax
  }

  /** Slots that all tenants hold. */
  get held(): number {
    return this.#held
  }

  /** Whether the tenant holds as many slots as it may; the request that asked is then counted. */
  isFull(tenant: string): boolean {
    const isFull = (this.#heldBy.get(tenant) ?? 0) >= this.perTenantMax
    if (isFull) this.#rejected++
    return isFull
  }

  acquire(tenant: string): void {
    this.#held++
    this.#heldBy.set(tenant, (this.#heldBy.get(tenant) ?? 0) + 1)
  }

  release(tenant: string): void {
    const left = (this.#heldBy.get(tenant) ?? 0) - 1
    if (left < 0) throw new Error(`${this.name}: a slot is released that nobody holds`)
    this.#held--
    if (left === 0) this.#heldBy.delete(tenant)
    else this.#heldBy.set(tenant, left)
  }

  /** Looks at every tenant that holds a slot. */
  use(): LimitUse {
    let used = 0
    for (const held of this.#heldBy.values()) used = Math.max(used, held)
    return { name: this.name, max: this.perTenantMax, used, rejected: this.#rejected }
  }
}
