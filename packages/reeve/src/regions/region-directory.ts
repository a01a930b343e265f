import type { Random } from '../kit/clock.ts'

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
  /** Sorted by code unit (reference §8.6). */
  readonly names: readonly string[]
  readonly #others: ReadonlyMap<string, readonly string[]>
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
    this.#others = new Map(Object.entries(others).filter(([name]) => name !== own))
    this.names = [own, ...this.#others.keys()].toSorted()
    this.#random = random
  }

  get isAuthoritative(): boolean {
    return this.authoritative === this.own
  }

  /** A region that is not this one, and that requests can be passed on to. */
  isOther(region: string): boolean {
    return this.#others.has(region)
  }

  /**
   * The servers of another region in the order in which they are to be asked: the one that answered
   * last, then from a random one on (reference §1.6: a random server of the region), and at the end
   * those that did not answer when they were asked last.
   */
  addressesOf(region: string): readonly string[] {
    const all = this.#others.get(region) ?? []
    const start = Math.floor(this.#random.next() * all.length)
    const turned = [...all.slice(start), ...all.slice(0, start)]
    const last = this.#answered.get(region)
    const others = turned.filter((one) => one !== last)
    const failing = others.filter((one) => this.#failing.has(one))
    const hopeful = others.filter((one) => !this.#failing.has(one))
    return [...(last === undefined ? [] : [last]), ...hopeful, ...failing]
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
