import type {
  LeaseStore,
  LogBell,
  LogHistory,
  LossStore,
  RequestGate,
  RollStore,
} from '../cluster/index.ts'
import type { AgentInfo } from '../http/index.ts'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import type { DatabaseClaim, PostgresEngine } from '../storage/index.ts'
import type { Tls } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { ProgramLog } from './log.ts'
import type { AgentSelf } from './self.ts'
import type { Server, ServerOptions } from './server.ts'
import type { ClusterSecrets } from './server-secrets.ts'
import { systemClock, systemIds } from './system.ts'
import type { Tracing } from './tracing/tracing.ts'

export interface ClusterMemberOptions {
  readonly config: AgentConfig
  readonly log: ProgramLog
  readonly version: string
  readonly self: MemberSelf
  readonly database: ClusterDatabase
  readonly secrets: ClusterSecrets
  /** Undefined where nothing is encrypted. */
  readonly tls?: Tls | undefined
  /** Undefined where nothing is traced. */
  readonly tracing?: Tracing | undefined
  /** Makes the server that follows and leads; a simulation hands in one without HTTP. */
  readonly openServer?: (
    options: ServerOptions & { readonly leader: RequestGate },
  ) => Promise<MemberServer>
  /** The machine's, where none is handed in. */
  readonly timing?: MemberTiming
}

/** What servers share. */
export interface ClusterDatabase {
  /** Without user and password. */
  readonly name: string
  readonly lease: LeaseStore
  readonly losses: LossStore
  readonly bell: LogBell
  readonly roll: RollStore
  openEngine(history: LogHistory): Promise<PostgresEngine>
  /** Rejects with a Fault when a server like this one must not share it. */
  claim(claim: DatabaseClaim): Promise<void>
  close(): Promise<void>
}

/** As much of a server as its place among others is about. */
export type MemberServer = Pick<
  Server,
  'store' | 'onFault' | 'listen' | 'lead' | 'pause' | 'resume' | 'stop'
>

/** Told which server it is that answers; what one does not have is not asked for. */
type MemberSelf = Pick<AgentSelf, keyof AgentInfo | 'join'> & {
  serve(address: string, server?: MemberServer): void
}

export interface MemberTiming {
  readonly clock: Clock
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  readonly ids: IdSource
}

export const SYSTEM_TIMING: MemberTiming = {
  clock: systemClock,
  monotonicMs: () => performance.now(),
  ids: systemIds,
}
