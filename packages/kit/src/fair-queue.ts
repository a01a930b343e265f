/** Why an item was rejected: its tenant's queue is full, or the whole queue is. */
export type QueueRejection = 'tenant-full' | 'full'

export interface FairQueueLimits {
  /** Items of all tenants together. */
  readonly itemsMax: number
  readonly itemsPerTenantMax: number
  /** Cost that a tenant may consume per turn. */
  readonly quantum: number
}

interface Entry<T> {
  readonly item: T
  readonly cost: number
}

interface Backlog<T> {
  readonly tenant: string
  readonly entries: Entry<T>[]
  /** Index of the oldest entry. Shifting a long array would copy it. */
  head: number
  /** Cost that the tenant may still consume in this turn; negative after an expensive item. */
  credit: number
}

/**
 * Serves tenants in turn (deficit round robin), each in FIFO order. A tenant with a long backlog
 * delays only itself; an expensive item is paid for with later turns.
 */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits
  readonly #backlogs = new Map<string, Backlog<T>>()
  /** Tenants with items in the order of their turns: a ring buffer that grows when full. */
  #ring: (Backlog<T> | undefined)[] = Array.from({ length: RING_SIZE_MIN })
  #first = 0
  #tenants = 0
  #size = 0

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /** Items of all tenants. */
  get size(): number {
    return this.#size
  }

  sizeOf(tenant: string): number {
    const backlog = this.#backlogs.get(tenant)
    return backlog === undefined ? 0 : backlog.entries.length - backlog.head
  }

  /** Queues an item. Undefined on success, otherwise the reason for the rejection. */
  push(tenant: string, item: T, cost = 1): QueueRejection | undefined {
    if (this.#size >= this.#limits.itemsMax) return 'full'
    if (this.sizeOf(tenant) >= this.#limits.itemsPerTenantMax) return 'tenant-full'
    const backlog = this.#backlogs.get(tenant) ?? this.#addTenant(tenant)
    backlog.entries.push({ item, cost })
    this.#size++
    return undefined
  }

  /** The next item in fair order; undefined when there is none. */
  take(): T | undefined {
    for (;;) {
      const backlog = this.#ring[this.#first]
      if (backlog === undefined) return undefined
      const entry = backlog.entries[backlog.head]
      // A tenant leaves the ring with its last item.
      if (entry === undefined) throw new Error('a tenant without items is in the ring')
      if (backlog.credit > 0) {
        backlog.credit -= entry.cost
        this.#removeFirst(backlog)
        return entry.item
      }
      backlog.credit += this.#limits.quantum
      this.#rotate()
    }
  }

  /** Charges a tenant for the cost of its last item beyond the estimate. */
  charge(tenant: string, cost: number): void {
    const backlog = this.#backlogs.get(tenant)
    if (backlog !== undefined) backlog.credit -= cost
  }

  /** Removes and returns every item, in fair order. */
  drain(): T[] {
    const items: T[] = []
    for (let item = this.take(); item !== undefined; item = this.take()) items.push(item)
    return items
  }

  #addTenant(tenant: string): Backlog<T> {
    const backlog = { tenant, entries: [], head: 0, credit: this.#limits.quantum }
    this.#backlogs.set(tenant, backlog)
    if (this.#tenants === this.#ring.length) this.#grow()
    this.#ring[(this.#first + this.#tenants) % this.#ring.length] = backlog
    this.#tenants++
    return backlog
  }

  #removeFirst(backlog: Backlog<T>): void {
    this.#size--
    backlog.head++
    if (backlog.head === backlog.entries.length) {
      // Credit or debt is dropped with the backlog: an idle tenant starts afresh.
      this.#backlogs.delete(backlog.tenant)
      this.#ring[this.#first] = undefined
      this.#first = (this.#first + 1) % this.#ring.length
      this.#tenants--
    } else if (backlog.head >= COMPACT_AT && backlog.head * 2 > backlog.entries.length) {
      backlog.entries.splice(0, backlog.head)
      backlog.head = 0
    }
  }

  /** Moves the first tenant to the end of the ring. */
  #rotate(): void {
    const backlog = this.#ring[this.#first]
    this.#ring[this.#first] = undefined
    this.#first = (this.#first + 1) % this.#ring.length
    this.#ring[(this.#first + this.#tenants - 1) % this.#ring.length] = backlog
  }

  #grow(): void {
    const tenants = Array.from(
      { length: this.#tenants },
      (_, at) => this.#ring[(this.#first + at) % this.#ring.length],
    )
    this.#ring = Array.from({ length: this.#ring.length * 2 }, (_, at) => tenants[at])
    this.#first = 0
  }
}

const RING_SIZE_MIN = 16
/** Number of served entries before a backlog is compacted. */
const COMPACT_AT = 256
