import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { areAdjacentMinors, minorVersionOf as minorOf } from '@reeve/kit/release.ts'

/**
 * Registry of the cluster's servers, in the same storage as the log; each server sends heartbeats.
 * Times are the storage's. The suite test/suites/server-registry.ts tests every implementation
 * against these comments. Faults are those of the storage.
 */
export interface ServerRegistry {
  /**
   * Upserts the record of a server. Deletes records with the same address, records of the same name
   * that left or failed, and any older than `retentionMs`.
   */
  heartbeat(server: ServerRecord, limits: RegistryTimeouts): Promise<void>

  /**
   * Marks the servers of this name that have left or failed as left, or removes them with `prune`.
   * Servers that are alive are not changed.
   */
  retire(name: string, retirement: Retirement): Promise<void>

  /** Returns every record, in any order. */
  list(): Promise<readonly RegisteredServer[]>
}

export interface Retirement extends Pick<RegistryTimeouts, 'failedMs'> {
  readonly prune: boolean
}

/** A server's record as it describes itself. */
export interface ServerRecord {
  /** Id of a process: a restarted server is another one. */
  readonly id: string
  readonly name: string
  /** `host:port` at which other servers reach it over HTTP. */
  readonly address: string
  readonly region: string
  readonly datacenter: string
  /** Version of Reeve. */
  readonly build: string
  readonly state: ServerState
}

export const SERVER_STATES = ['serving', 'leaving', 'left'] as const
export type ServerState = (typeof SERVER_STATES)[number]

export interface RegisteredServer extends ServerRecord {
  /** Time since the last heartbeat, as of the response. */
  readonly sinceHeartbeatMs: number
}

export interface RegistryTimeouts {
  /** A server without a heartbeat for longer has failed. */
  readonly failedMs: number
  /** A server without a heartbeat for longer is deleted. */
  readonly retentionMs: number
}

interface HeartbeatTiming extends RegistryTimeouts {
  /** Heartbeat interval: several fit into the time after which a server counts as failed. */
  readonly intervalMs: number
}

/** Failed servers stay listed for a day, for operators who investigate. */
export const DEFAULT_HEARTBEAT: HeartbeatTiming = {
  intervalMs: 1_000,
  failedMs: 5_000,
  retentionMs: 24 * 3_600_000,
}

/** A server of the cluster as another server sees it. */
export interface Member extends Omit<ServerRecord, 'id' | 'state'> {
  readonly status: 'alive' | 'leaving' | 'left' | 'failed'
  readonly isLeader: boolean
}

/** Reports whether `text` names a server, with or without its region. */
export function matchesServerName(
  { name, region }: Pick<Member, 'name' | 'region'>,
  text: string,
): boolean {
  return text === name || text === `${name}.${region}`
}

interface MembersView {
  /** This server, whose own state is newer than its record. */
  readonly self: ServerRecord
  /** Records as of the last read. */
  readonly servers: readonly RegisteredServer[]
  /** `host:port` of the leader; empty without a leader. */
  readonly leaderAddress: string
}

/** Returns every server of the cluster, sorted by name. */
export function clusterMembers(
  { self, servers, leaderAddress }: MembersView,
  { failedMs }: Pick<RegistryTimeouts, 'failedMs'> = DEFAULT_HEARTBEAT,
): readonly Member[] {
  // A record with this server's address is its own, or that of an earlier process.
  const others = servers.filter(({ id, address }) => id !== self.id && address !== self.address)
  return [{ ...self, sinceHeartbeatMs: 0 }, ...others]
    .map(({ id: _id, state, sinceHeartbeatMs, ...entry }): Member => {
      const isSilent = sinceHeartbeatMs > failedMs
      const status = state === 'left' ? 'left' : isSilent ? 'failed' : STATUS_OF_STATE[state]
      return { ...entry, status, isLeader: leaderAddress !== '' && entry.address === leaderAddress }
    })
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.address, b.address))
}

const STATUS_OF_STATE = { serving: 'alive', leaving: 'leaving' } as const

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

interface ServerHeartbeatOptions {
  readonly store: ServerRegistry
  /**
   * Record of this server; read each time, because the address is known only when the port is open.
   */
  readonly record: () => Omit<ServerRecord, 'state'>
  readonly clock: Clock
  readonly settings?: HeartbeatTiming
  /** Called when the storage did not respond. */
  readonly onError: (thrown: unknown) => void
}

/** Sends the heartbeats of this server, and caches the records of the others. */
export class ServerHeartbeat {
  readonly #options: ServerHeartbeatOptions
  readonly #settings: HeartbeatTiming
  #state: ServerState = 'serving'
  /**
   * As of the last response. While the storage is away no server can send heartbeats, so silence
   * means nothing and ages do not grow.
   */
  #servers: readonly RegisteredServer[] = []
  #queue: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined
  #isStopped = false

  constructor(options: ServerHeartbeatOptions) {
    this.#options = options
    this.#settings = options.settings ?? DEFAULT_HEARTBEAT
  }

  get self(): ServerRecord {
    return { ...this.#options.record(), state: this.#state }
  }

  get servers(): readonly RegisteredServer[] {
    return this.#servers
  }

  /** Resolves after the first heartbeat and read, successful or not. */
  async start(): Promise<void> {
    await this.#enqueue()
    this.#scheduleHeartbeat()
  }

  /**
   * Marks a server that has left or failed as left, or removes it; then reads the registry again.
   */
  async retire(name: string, prune: boolean): Promise<void> {
    const { store } = this.#options
    await store.retire(name, { prune, failedMs: this.#settings.failedMs })
    this.#servers = await store.list()
  }

  /** Announces that this server is about to stop. The caller need not wait. */
  announceLeaving(): void {
    this.#state = 'leaving'
    void this.#enqueue()
  }

  /** Records that this server has left, which is true when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#state = 'left'
    await this.#enqueue()
  }

  #scheduleHeartbeat(): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.clock.after(this.#settings.intervalMs, () => {
      void this.#enqueue().then(() => this.#scheduleHeartbeat())
    })
  }

  /** Runs one write after the other, so that the last state wins. Never rejects. */
  #enqueue(): Promise<void> {
    this.#queue = this.#queue.then(() => this.#heartbeatAndRead())
    return this.#queue
  }

  async #heartbeatAndRead(): Promise<void> {
    const { store, onError } = this.#options
    try {
      await store.heartbeat(this.self, this.#settings)
      this.#servers = await store.list()
    } catch (thrown) {
      onError(thrown)
    }
  }
}

/**
 * Rejects with a Fault if a server of the cluster is more than one minor version away: only
 * adjacent versions are tested together (docs/explanation/compatibility-promise.md).
 */
export async function assertAdjacentVersions(
  roll: ServerRegistry,
  self: ServerRecord,
): Promise<void> {
  // Development builds and the simulation have versions that cannot be compared.
  if (minorOf(self.build) === undefined) return
  const conflict = findIncompatibleServer(self, await roll.list())
  if (conflict === undefined) return
  throw new Fault(
    'server-version',
    `The server ${conflict.name} of this cluster runs Reeve ${conflict.build}, and this one is ` +
      `${self.build}: servers of one cluster are at most one minor version apart. ` +
      upgradeAdvice(self.build, conflict.build),
  )
}

/** Finds a live server whose version is not compatible with this one's. */
function findIncompatibleServer(self: ServerRecord, servers: readonly RegisteredServer[]) {
  return clusterMembers({ self, servers, leaderAddress: '' }).find(
    ({ status, address, build }) =>
      status !== 'left' &&
      status !== 'failed' &&
      address !== self.address &&
      !areAdjacent(self.build, build),
  )
}

/** Versions of development builds are not compared. */
export function areAdjacent(a: string, b: string): boolean {
  const [one, other] = [minorOf(a), minorOf(b)]
  return one === undefined || other === undefined || areAdjacentMinors(one, other)
}

function upgradeAdvice(ownBuild: string, otherBuild: string): string {
  const [from, to] = [minorOf(ownBuild), minorOf(otherBuild)]
  if (from === undefined || to === undefined || from.major !== to.major)
    return 'Upgrade one minor version at a time.'
  const intermediate = from.minor < to.minor ? to.minor - 1 : to.minor + 1
  return from.minor < to.minor
    ? `Start version ${to.major}.${intermediate} or ${to.major}.${to.minor} here.`
    : `Upgrade all servers to ${to.major}.${intermediate} first.`
}
