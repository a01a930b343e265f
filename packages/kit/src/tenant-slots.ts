/** A limit for metrics and diagnostics: its maximum, current use and rejections. */
export interface LimitUsage {
  /** Name of the setting without its block, such as `connections`. */
  readonly name: string
  /** Infinity if unlimited. */
  readonly max: number
  /** Use of the tenant with the highest use or, for a server-wide limit, of the server. */
  readonly used: number
  readonly rejected: number
}

/**
 * Counts the slots that each tenant holds of a bounded resource: streams, sessions, parked queries.
 */
export class TenantSlots {
  /** Name of the setting that limits the slots, without its block. */
  readonly name: string
  readonly perTenantMax: number
  readonly #heldBy = new Map<string, number>()
  #held = 0
  #rejected = 0

  constructor(name: string, perTenantMax: number = Number.POSITIVE_INFINITY) {
    this.name = name
    this.perTenantMax = perTenantMax
  }

  /** Slots held by all tenants. */
  get held(): number {
    return this.#held
  }

  /** Whether the tenant has reached its limit. Counts a rejection if so. */
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

  /** Iterates over every tenant that holds a slot. */
  usage(): LimitUsage {
    let used = 0
    for (const held of this.#heldBy.values()) used = Math.max(used, held)
    return { name: this.name, max: this.perTenantMax, used, rejected: this.#rejected }
  }
}
