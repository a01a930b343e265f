import type {
  LeaseStore,
  ChangeNotifier,
  LogHistory,
  LossStore,
  ClusterRequestRouter,
  ServerRegistry,
} from '../cluster/index.ts'
import type { AgentInfo } from '../http/index.ts'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import type { ClusterIdentity, PostgresEngine } from '../storage/index.ts'
import type { TlsCredentials } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { Logger } from './log.ts'
import type { AgentStatus } from './self.ts'
import type { Server, ServerOptions } from './server.ts'
import type { ClusterSecrets } from './server-secrets.ts'
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
