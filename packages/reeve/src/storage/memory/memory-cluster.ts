import type {
  LeaseClaim,
  LeaseStatus,
  LeaseHeld,
  LeaseStore,
  Retirement,
  ServerRecord,
  RegisteredServer,
  RegistryTimeouts,
  ServerRegistry,
} from '../../cluster/index.ts'

/** A lease for tests and simulation; uses the clock of its owner. */
export class MemoryLease implements LeaseStore {
  readonly #nowMs: () => number
  #term = 0
  #holder = ''
  #address = ''
  #expiresMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async acquire({ holder, address, ttlMs }: LeaseClaim): Promise<LeaseHeld | undefined> {
    if (this.#expiresMs > this.#nowMs() && this.#holder !== holder) return undefined
    this.#term++
    this.#holder = holder
    this.#address = address
    this.#expiresMs = this.#nowMs() + ttlMs
    return { term: this.#term }
  }

  async renew({ term }: LeaseHeld, { holder, ttlMs }: LeaseClaim): Promise<boolean> {
    if (this.#term !== term || this.#holder !== holder) return false
    if (this.#expiresMs <= this.#nowMs()) return false
    this.#expiresMs = this.#nowMs() + ttlMs
    return true
  }

  async release({ term }: LeaseHeld): Promise<void> {
    if (this.#term !== term) return
    this.#expiresMs = this.#nowMs()
    this.#address = ''
  }

  async read(): Promise<LeaseStatus> {
    const leftMs = Math.max(0, this.#expiresMs - this.#nowMs())
    return { term: this.#term, holder: this.#holder, address: this.#address, remainingMs: leftMs }
  }
}

/** A server registry for tests and simulation; uses the clock of its owner. */
export class MemoryServerRegistry implements ServerRegistry {
  readonly #nowMs: () => number
  readonly #servers = new Map<string, ServerRecord & { readonly atMs: number }>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async heartbeat(entry: ServerRecord, { failedMs, retentionMs }: RegistryTimeouts): Promise<void> {
    const atMs = this.#nowMs()
    for (const other of this.#servers.values()) {
      const silentMs = atMs - other.atMs
      const isInactive = other.state === 'left' || silentMs > failedMs
      const isReplaced =
        other.address === entry.address || (other.name === entry.name && isInactive)
      if (isReplaced || silentMs > retentionMs) this.#servers.delete(other.id)
    }
    this.#servers.set(entry.id, { ...entry, atMs })
  }

  async retire(name: string, { prune, failedMs }: Retirement): Promise<void> {
    for (const entry of this.#servers.values()) {
      const isInactive = entry.state === 'left' || this.#nowMs() - entry.atMs > failedMs
      if (entry.name !== name || !isInactive) continue
      if (prune) this.#servers.delete(entry.id)
      else this.#servers.set(entry.id, { ...entry, state: 'left' })
    }
  }

  async list(): Promise<readonly RegisteredServer[]> {
    const nowMs = this.#nowMs()
    return [...this.#servers.values()].map(({ atMs, ...entry }) => {
      return { ...entry, sinceHeartbeatMs: nowMs - atMs }
    })
  }
}
