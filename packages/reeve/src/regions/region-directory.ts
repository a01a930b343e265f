import type { Random } from '@reeve/kit/clock.ts'

export interface RegionDirectoryOptions {
  /** The region of this server. */
  readonly own: string
  /** The own one when undefined. */
  readonly authoritative: string | undefined
  /** `http://host:port` or `https://…` of servers, by region; the own one is passed over. */
  readonly others: Readonly<Record<string, readonly string[]>>
  readonly random: Random
}

/** Which regions there are, and where their servers are. */
export class RegionDirectory {
  readonly own: string
  readonly authoritative: string
  /** Sorted by code unit. */
  readonly names: readonly string[]
  readonly #remote: ReadonlyMap<string, readonly string[]>
  readonly #random: Random
  /** The address that answered last, by region: it is asked first. */
  readonly #answered = new Map<string, string>()
  /** Addresses that have not answered since they were asked last: they are asked last. */
  readonly #failing = new Set<string>()
  /** Addresses that have ever answered. */
  readonly #known = new Set<string>()

  constructor({ own, authoritative = own, others, random }: RegionDirectoryOptions) {
    this.own = own
    this.authoritative = authoritative
    this.#remote = new Map(Object.entries(others).filter(([name]) => name !== own))
    this.names = [own, ...this.#remote.keys()].toSorted()
    this.#random = random
  }

  get isAuthoritative(): boolean {
    return this.authoritative === this.own
  }

  /** A region that is not this one, and that requests can be forwarded to. */
  isRemote(region: string): boolean {
    return this.#remote.has(region)
  }

  /**
   * The servers of another region in the order in which to try them: the one that responded last,
   * then the others from a random one on, and at the end those whose last request failed.
   */
  addressesOf(region: string): readonly string[] {
    const all = this.#remote.get(region) ?? []
    const start = Math.floor(this.#random.next() * all.length)
    const rotated = [...all.slice(start), ...all.slice(0, start)]
    const last = this.#answered.get(region)
    const others = rotated.filter((one) => one !== last)
    const failing = others.filter((one) => this.#failing.has(one))
    const healthy = others.filter((one) => !this.#failing.has(one))
    return [...(last === undefined ? [] : [last]), ...healthy, ...failing]
  }

  answered(region: string, address: string): void {
    this.#answered.set(region, address)
    this.#failing.delete(address)
    this.#known.add(address)
  }

  hasAnswered(address: string): boolean {
    return this.#known.has(address)
  }

  failed(region: string, address: string): void {
    if (this.#answered.get(region) === address) this.#answered.delete(region)
    this.#failing.add(address)
  }
}
