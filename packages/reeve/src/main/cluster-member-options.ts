import {
  type LeaseStore,
  type ChangeNotifier,
  type LogHistory,
  type LossStore,
  type ClusterRequestRouter,
  type ServerRegistry,
  LOG_DIVERGED,
} from '../cluster/index.ts'
import type { AgentInfo } from '../http/index.ts'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { type ClusterIdentity, COMMIT_TIMEOUT_KIND, type PostgresEngine } from '../storage/index.ts'
import type { TlsCredentials } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { Logger } from './log.ts'
import type { AgentStatus } from './agent-status.ts'
import type { Server, ServerOptions } from './server.ts'
import type { ClusterSecrets } from './secrets.ts'
import { systemClock, systemIds } from './system.ts'
import type { Tracing } from './tracing/tracing.ts'

export interface ClusterMemberOptions {
  readonly config: AgentConfig
  readonly log: Logger
  readonly version: string
  readonly status: MemberStatus
  readonly database: SharedStorage
  readonly secrets: ClusterSecrets
  /** Undefined without TLS. */
  readonly tls?: TlsCredentials | undefined
  /** Undefined without tracing. */
  readonly tracing?: Tracing | undefined
  /** Opens the server; simulations supply one without HTTP. */
  readonly openServer?: (
    options: ServerOptions & { readonly leader: ClusterRequestRouter },
  ) => Promise<MemberServer>
  /** Default: the clock of the machine. */
  readonly timing?: MemberTiming
}

/** The database that the servers of a cluster share. */
export interface SharedStorage {
  /** The database URL without user and password. */
  readonly name: string
  readonly lease: LeaseStore
  readonly losses: LossStore
  readonly notifier: ChangeNotifier
  readonly servers: ServerRegistry
  openEngine(history: LogHistory): Promise<PostgresEngine>
  /**
   * Rejects with a Fault if this server is incompatible with the servers that share the database.
   */
  assertSameCluster(claim: ClusterIdentity): Promise<void>
  close(): Promise<void>
}

/** The members of a server that a cluster member uses. */
export type MemberServer = Pick<
  Server,
  'store' | 'onFault' | 'listen' | 'lead' | 'pause' | 'resume' | 'stop'
>

/** Sources of the status of this server; absent parts are not queried. */
type MemberStatus = Pick<AgentStatus, keyof AgentInfo | 'setCluster'> & {
  setServer(address: string, server?: MemberServer): void
}

export interface MemberTiming {
  readonly clock: Clock
  /** A monotonic clock. */
  readonly monotonicMs: () => number
  readonly ids: IdSource
}

export const SYSTEM_TIMING: MemberTiming = {
  clock: systemClock,
  monotonicMs: () => performance.now(),
  ids: systemIds,
}

/** Faults after which the memory is at worst older than the log. */
export const STATE_KEEPING_FAULTS: ReadonlySet<string> = new Set([
  'storage-fenced',
  'storage-failed',
])

/** Database faults after which the leader still serves reads. */
export const SUSPENDING_FAULTS: ReadonlySet<string> = new Set(['storage-full', COMMIT_TIMEOUT_KIND])

export const ABANDONED_COMMIT_FAULT = new Fault(
  'storage-failed',
  'the database has carried out a commit that this server had given up',
)

/** Faults of a follower whose state is not a prefix of the log. */
export const DIVERGED_LOG_FAULTS: ReadonlySet<string> = new Set(['follower-behind', LOG_DIVERGED])

export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return new Fault('storage-failed', errorMessage(thrown), { cause: thrown })
}

/** The Fault for callers whose commits were in progress. */
export function outcomeUnknown(fault: Fault): Fault {
  const message = `${fault.message}; try again. The request may or may not have happened.`
  return new Fault('no-leader', message, { cause: fault })
}

/** Leadership that lasts longer counts as stable. */
const STABLE_LEADERSHIP_MS = 30_000
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 15_000

/**
 * Delay before a server tries to acquire the lease again. After a storage fault early in its
 * leadership, a server lets others try first and spares a struggling database from loading its
 * state: the delay doubles each time. A deposed server does not wait.
 */
export class LeaseBackoff {
  #ms = 0
  #leadershipStartedMs: number | undefined

  get ms(): number {
    return this.#ms
  }

  /** Call when this server starts to lead. */
  leadershipStarted(nowMs: number): void {
    this.#leadershipStartedMs = nowMs
  }

  /** Call before the server reopens after a fault of this kind. */
  failed(kind: string, nowMs: number): void {
    const isUnsteady =
      this.#leadershipStartedMs !== undefined &&
      nowMs - this.#leadershipStartedMs < STABLE_LEADERSHIP_MS
    this.#leadershipStartedMs = undefined
    const isPaused = kind === 'storage-failed' && isUnsteady
    this.#ms = isPaused ? Math.min(Math.max(PAUSE_MS, 2 * this.#ms), PAUSE_MS_MAX) : 0
  }
}
