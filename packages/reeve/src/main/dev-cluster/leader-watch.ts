const REQUEST_TIMEOUT_MS = 1_000

/** A server to query: `host:port`, and whether its process runs. */
export interface ServerEndpoint {
  readonly name: string
  readonly host: string
  readonly isAlive: boolean
}

/** Tracks the leader and describes changes. */
export class LeaderMonitor {
  readonly #nowMs: () => number
  #leader: string | undefined
  #lostMs: number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#lostMs = nowMs()
  }

  /** Name of the leader; undefined without one. */
  get leader(): string | undefined {
    return this.#leader
  }

  /** Updates the leader; returns a message if it has changed. */
  observe(leader: string | undefined): string | undefined {
    if (leader === this.#leader) return undefined
    const before = this.#leader
    this.#leader = leader
    if (leader === undefined) {
      this.#lostMs = this.#nowMs()
      return `${before} does not lead any more; nobody does.`
    }
    if (before !== undefined) return `${leader} leads now.`
    const seconds = ((this.#nowMs() - this.#lostMs) / 1_000).toFixed(1)
    return `${leader} leads now (nobody did for ${seconds} s).`
  }
}

/**
 * Finds the leader by querying the servers. Ignores dead ones, even if others still see their
 * lease.
 */
export async function findLeader(servers: readonly ServerEndpoint[]): Promise<string | undefined> {
  const alive = servers.filter(({ isAlive }) => isAlive)
  const leaders = await Promise.all(alive.map(({ host }) => fetchLeader(host)))
  // A server that reports itself as the leader is authoritative.
  const selfDeclared = alive.find(({ host }, at) => leaders[at] === host)
  return (selfDeclared ?? alive.find(({ host }) => leaders.includes(host)))?.name
}

/** Whether all servers answer and know a leader. */
export async function allKnowLeader(servers: readonly ServerEndpoint[]): Promise<boolean> {
  const leaders = await Promise.all(servers.map(({ host }) => fetchLeader(host)))
  return leaders.every((leader) => leader !== undefined)
}

async function fetchLeader(host: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`http://${host}/v1/status/leader`, {
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const leader: unknown = await answer.json()
    return typeof leader === 'string' && leader !== '' ? leader : undefined
  } catch {
    // Not started yet, stopped, or paused.
    return undefined
  }
}
