import type {
  Retirement,
  RollEntry,
  RollFound,
  RollLimits,
  RollStore,
} from '../../cluster/index.ts'

/** A roll for tests and simulation; its owner's clock stands for the storage's. */
export class MemoryRoll implements RollStore {
  readonly #nowMs: () => number
  readonly #signed = new Map<string, RollEntry & { readonly atMs: number }>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async sign(entry: RollEntry, { failedMs, forgetMs }: RollLimits): Promise<void> {
    const atMs = this.#nowMs()
    for (const other of this.#signed.values()) {
      const silentMs = atMs - other.atMs
      const isGone = other.state === 'left' || silentMs > failedMs
      const isReplaced = other.address === entry.address || (other.name === entry.name && isGone)
      if (isReplaced || silentMs > forgetMs) this.#signed.delete(other.id)
    }
    this.#signed.set(entry.id, { ...entry, atMs })
  }

  async retire(name: string, { prune, failedMs }: Retirement): Promise<void> {
    for (const entry of this.#signed.values()) {
      const isGone = entry.state === 'left' || this.#nowMs() - entry.atMs > failedMs
      if (entry.name !== name || !isGone) continue
      if (prune) this.#signed.delete(entry.id)
      else this.#signed.set(entry.id, { ...entry, state: 'left' })
    }
  }

  async read(): Promise<readonly RollFound[]> {
    const nowMs = this.#nowMs()
    return [...this.#signed.values()].map(({ atMs, ...entry }) => {
      return { ...entry, silentMs: nowMs - atMs }
    })
  }
}
