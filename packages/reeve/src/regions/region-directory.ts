import type { Random } from '@reeve/kit/clock.ts'

interface RegionDirectoryOptions {
  /** Name of this server's region. */
  readonly localRegion: string
  /** Name of the authoritative region; undefined for this one. */
  readonly authoritative: string | undefined
  /** Server URLs by region: `http://host:port` or `https://…`. This region's are ignored. */
  readonly remoteRegions: Readonly<Record<string, readonly string[]>>
  readonly random: Random
}

/** The known regions and the URLs of their servers. */
export class RegionDirectory {
  readonly localRegion: string
  readonly authoritative: string
  /** Sorted by code unit. */
  readonly names: readonly string[]
  readonly #remote: ReadonlyMap<string, readonly string[]>
  readonly #random: Random
  /** The last address that responded, by region: it is tried first. */
  readonly #lastResponding = new Map<string, string>()
  /** Addresses whose last request failed: they are tried last. */
  readonly #failing = new Set<string>()
  /** Addresses that have ever responded. */
  readonly #everResponded = new Set<string>()

  constructor({
    localRegion,
    authoritative = localRegion,
    remoteRegions,
    random,
  }: RegionDirectoryOptions) {
    this.localRegion = localRegion
    this.authoritative = authoritative
    this.#remote = new Map(Object.entries(remoteRegions).filter(([name]) => name !== localRegion))
    this.names = [localRegion, ...this.#remote.keys()].toSorted()
    this.#random = random
  }

  get isAuthoritative(): boolean {
    return this.authoritative === this.localRegion
  }

  /** Reports whether requests can be forwarded to this region: it is known and not this one. */
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
    const preferred = this.#lastResponding.get(region)
    const others = rotated.filter((one) => one !== preferred)
    const failing = others.filter((one) => this.#failing.has(one))
    const healthy = others.filter((one) => !this.#failing.has(one))
    return [...(preferred === undefined ? [] : [preferred]), ...healthy, ...failing]
  }

  recordResponse(region: string, address: string): void {
    this.#lastResponding.set(region, address)
    this.#failing.delete(address)
    this.#everResponded.add(address)
  }

  hasEverResponded(address: string): boolean {
    return this.#everResponded.has(address)
  }

  recordFailure(region: string, address: string): void {
    if (this.#lastResponding.get(region) === address) this.#lastResponding.delete(region)
    this.#failing.add(address)
  }
}
