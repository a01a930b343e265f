const ANSWER_MS_MAX = 1_000

/** A server as it is asked: `host:port`, and whether its process runs. */
export interface AskedServer {
  readonly name: string
  readonly host: string
  readonly isAlive: boolean
}

/** What was seen of the leadership, and what is worth saying about it. */
export class LeaderWatch {
  readonly #nowMs: () => number
  #leader: string | undefined
  #lostMs: number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#lostMs = nowMs()
  }

  /** The name of the server that leads; undefined when nobody does. */
  get leader(): string | undefined {
    return this.#leader
  }

  /** Hears who leads now; gives the sentence about it when that is news. */
  see(leader: string | undefined): string | undefined {
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
 * Who leads, as the servers tell it. One that is dead is nobody, even while others still believe in
 * its lease.
 */
export async function findLeader(servers: readonly AskedServer[]): Promise<string | undefined> {
  const alive = servers.filter(({ isAlive }) => isAlive)
  const told = await Promise.all(alive.map(({ host }) => askLeader(host)))
  // Who says so of itself knows best.
  const itself = alive.find(({ host }, at) => told[at] === host)
  return (itself ?? alive.find(({ host }) => told.includes(host)))?.name
}

/** Whether every server answers, and knows of a leader. */
export async function areAllLed(servers: readonly AskedServer[]): Promise<boolean> {
  const told = await Promise.all(servers.map(({ host }) => askLeader(host)))
  return told.every((leader) => leader !== undefined)
}

async function askLeader(host: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`http://${host}/v1/status/leader`, {
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const leader: unknown = await answer.json()
    return typeof leader === 'string' && leader !== '' ? leader : undefined
  } catch {
    // Not started yet, gone, or asleep.
    return undefined
  }
}
