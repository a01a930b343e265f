import { Client } from 'pg'
import type { Listening, LogBell, Rung } from '../../cluster/index.ts'
import type { DatabaseHosts } from './database-hosts.ts'
import type { DatabaseTarget } from './database-url.ts'
import { clientConfig } from './lanes.ts'

/** Named once: what writes and what listens must mean the same. */
export const CHANNELS = { log: 'reeve_log', lease: 'reeve_lease' } as const satisfies Record<
  Rung,
  string
>

/** A database that is away is asked again after this time. */
const RETRY_MS = 500

/**
 * `LISTEN` on a connection of its own. The statements that append and that move the lease notify in
 * the same statement, so nobody is told of what did not happen, or before it did.
 */
export class PostgresBell implements LogBell {
  readonly #target: DatabaseTarget
  readonly #hosts: DatabaseHosts

  constructor(target: DatabaseTarget, hosts: DatabaseHosts) {
    this.#target = target
    this.#hosts = hosts
  }

  listen(heard: (rung: Rung) => void): Listening {
    const ear = new Ear(this.#target, this.#hosts, heard)
    ear.open()
    return ear
  }
}

class Ear implements Listening {
  readonly #target: DatabaseTarget
  readonly #hosts: DatabaseHosts
  readonly #heard: (rung: Rung) => void
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #canHear = false
  #isStopped = false

  constructor(target: DatabaseTarget, hosts: DatabaseHosts, heard: (rung: Rung) => void) {
    this.#target = target
    this.#hosts = hosts
    this.#heard = heard
  }

  get canHear(): boolean {
    return this.#canHear
  }

  open(): void {
    void this.#connect()
  }

  /** The database may be away: whoever stops has no time to say good-bye to it. */
  stop(): void {
    this.#isStopped = true
    this.#canHear = false
    clearTimeout(this.#timer)
    if (this.#client !== undefined) this.#lost(this.#client)
  }

  async #connect(): Promise<void> {
    const host = this.#hosts.current
    const client = new Client(clientConfig(this.#target, host))
    this.#client = client
    // Told by 'end' as well; an unheard 'error' would end the process.
    client.on('error', () => this.#lost(client))
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ channel }) => {
      if (channel === CHANNELS.log) this.#ring('log')
      if (channel === CHANNELS.lease) this.#ring('lease')
    })
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNELS.log}; LISTEN ${CHANNELS.lease}`)
    } catch {
      // The engine meets the same and reports it. A standby does not allow LISTEN.
      this.#hosts.leave(host)
      return this.#lost(client)
    }
    if (this.#client !== client) return
    this.#canHear = true
    // What changed while nobody listened.
    this.#ring('log')
    this.#ring('lease')
  }

  #ring(rung: Rung): void {
    if (!this.#isStopped) this.#heard(rung)
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#canHear = false
    client.end().catch(() => undefined)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.open(), RETRY_MS).unref()
  }
}
