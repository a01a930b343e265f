import { Client } from 'pg'
import type { NotifierSubscription, ChangeNotifier, StorageChange } from '../../cluster/index.ts'
import type { DatabaseHosts, DatabaseTarget } from './database-url.ts'
import { clientConfig } from './connections.ts'

/** Channel names shared by writers and listeners. */
export const NOTIFY_CHANNELS = { log: 'reeve_log', lease: 'reeve_lease' } as const satisfies Record<
  StorageChange,
  string
>

/** Delay before reconnecting. */
const RECONNECT_MS = 500

/**
 * `LISTEN` on a dedicated connection. The statements that append and that change the lease send the
 * notification themselves, so it is sent exactly if and when the change is committed.
 */
export class PostgresNotifier implements ChangeNotifier {
  readonly #target: DatabaseTarget
  readonly #hosts: DatabaseHosts

  constructor(target: DatabaseTarget, hosts: DatabaseHosts) {
    this.#target = target
    this.#hosts = hosts
  }

  subscribe(onChange: (rung: StorageChange) => void): NotifierSubscription {
    const connection = new ListenConnection(this.#target, this.#hosts, onChange)
    connection.open()
    return connection
  }
}

class ListenConnection implements NotifierSubscription {
  readonly #target: DatabaseTarget
  readonly #hosts: DatabaseHosts
  readonly #onChange: (rung: StorageChange) => void
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isConnected = false
  #isStopped = false

  constructor(target: DatabaseTarget, hosts: DatabaseHosts, heard: (rung: StorageChange) => void) {
    this.#target = target
    this.#hosts = hosts
    this.#onChange = heard
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  open(): void {
    void this.#connect()
  }

  /** Does not wait for the database, which may be unreachable. */
  stop(): void {
    this.#isStopped = true
    this.#isConnected = false
    clearTimeout(this.#timer)
    if (this.#client !== undefined) this.#reconnectLater(this.#client)
  }

  async #connect(): Promise<void> {
    const host = this.#hosts.current
    const client = new Client(clientConfig(this.#target, host))
    this.#client = client
    // Also reported by 'end'; an unhandled 'error' event would end the process.
    client.on('error', () => this.#reconnectLater(client))
    client.on('end', () => this.#reconnectLater(client))
    client.on('notification', ({ channel }) => {
      if (channel === NOTIFY_CHANNELS.log) this.#notify('log')
      if (channel === NOTIFY_CHANNELS.lease) this.#notify('lease')
    })
    try {
      await client.connect()
      await client.query(`LISTEN ${NOTIFY_CHANNELS.log}; LISTEN ${NOTIFY_CHANNELS.lease}`)
    } catch {
      // The engine gets and reports the same error. A standby does not allow LISTEN.
      this.#hosts.tryNext(host)
      return this.#reconnectLater(client)
    }
    if (this.#client !== client) return
    this.#isConnected = true
    // Covers changes made while nobody listened.
    this.#notify('log')
    this.#notify('lease')
  }

  #notify(rung: StorageChange): void {
    if (!this.#isStopped) this.#onChange(rung)
  }

  #reconnectLater(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#isConnected = false
    client.end().catch(() => undefined)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.open(), RECONNECT_MS).unref()
  }
}
