/** Unless said otherwise. More are forgotten all at once: they cost little to work out again. */
const KEPT_MAX = 1_000

/** Values that are worked out again when what they depend on has another version. */
export class Remembered<T> {
  readonly #keptMax: number
  readonly #kept = new Map<string, { readonly version: string; readonly value: T }>()

  constructor(keptMax = KEPT_MAX) {
    this.#keptMax = keptMax
  }

  find(key: string, version: string, compute: () => T): T {
    const known = this.#kept.get(key)
    if (known?.version === version) return known.value
    const value = compute()
    if (this.#kept.size >= this.#keptMax) this.#kept.clear()
    this.#kept.set(key, { version, value })
    return value
  }
}
