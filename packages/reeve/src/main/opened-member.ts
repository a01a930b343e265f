import {
  ClusterRequestRouter,
  FollowerLoop,
  LeaseKeeper,
  type FollowedLog,
  type Leadership,
  type LogHistory,
} from '../cluster/index.ts'
import { type Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { PostgresEngine } from '../storage/index.ts'
import type { ClusterMemberOptions, MemberServer, MemberTiming } from './cluster-member-options.ts'
import type { Logger } from './log.ts'
import { peerTlsOptions } from './tls-wiring.ts'
import { Server } from './server.ts'

/** Resources of an open server. They are closed when the server loses leadership. */
export interface OpenedMember {
  readonly engine: PostgresEngine
  readonly server: MemberServer
  readonly gate: ClusterRequestRouter
  readonly follower: FollowerLoop
  readonly leaseKeeper: LeaseKeeper
  /** The holder name of the lease; unique for each opening. */
  readonly holder: string
  /** Aborted when these resources are closed. */
  readonly closing: AbortController
}

/** The state of the cluster member that the opened resources use, and its reactions to them. */
export interface MemberHandlers {
  readonly isLeading: () => boolean
  /** Advertised `host:port` of the leader; empty without a leader. */
  readonly leaderAddress: () => string
  /** Advertised `host:port` of this server. */
  readonly selfAddress: () => string
  readonly addressOf: (server: string) => string | undefined
  readonly confirmLeadership: () => Promise<boolean>
  readonly onFollowed: (opened: OpenedMember, log: FollowedLog) => void
  readonly onFollowError: (opened: OpenedMember, thrown: unknown) => void
  readonly onLeadershipChange: (opened: OpenedMember, leadership: Leadership) => void
  readonly onLeaseError: (thrown: unknown) => void
  readonly onLeaseResponse: () => void
  readonly onStorageFault: (opened: OpenedMember, fault: Fault) => void
}

interface OpenOptions {
  readonly timing: MemberTiming
  readonly engine: PostgresEngine
  readonly history: LogHistory
  /** Everything that is loaded is at least as recent as this time. */
  readonly currentAsOfMs: number
  readonly handlers: MemberHandlers
}

/** Opens the server and the parts that follow the log and take the lease; starts none of them. */
export async function openMember(
  options: ClusterMemberOptions,
  { timing, engine, history, currentAsOfMs, handlers }: OpenOptions,
): Promise<OpenedMember> {
  const { config, log, database, secrets, status, version, tls, tracing } = options
  const { ids, ...clocks } = timing
  const gate = new ClusterRequestRouter({
    leadership: () => ({
      isLeading: handlers.isLeading(),
      leaderAddress: handlers.leaderAddress(),
    }),
    confirm: handlers.confirmLeadership,
    staleness: () => staleness(opened.follower, handlers),
    selfAddress: handlers.selfAddress,
    addressOf: handlers.addressOf,
    key: secrets.forwardingKey,
    previousKeys: secrets.previousForwardingKeys,
    ...(tls !== undefined && peerTlsOptions(tls)),
    nowMs: () => timing.clock.nowMs(),
  })
  const shared = { config, log, engine, secrets, version, agent: status, tls, tracing }
  const openServer = options.openServer ?? ((serverOptions) => Server.open(serverOptions))
  const server = await openServer({ ...shared, follows: true, leader: gate })
  const { lease, notifier } = database
  const follower = new FollowerLoop({
    engine,
    store: server.store,
    history,
    lease,
    notifier,
    ...clocks,
    currentAsOfMs,
    onError: (thrown) => handlers.onFollowError(opened, thrown),
    onCaughtUp: (followed) => handlers.onFollowed(opened, followed),
    onLeader: (leader) => gate.leaderChanged(leader),
  })
  const holder = `${config.name} ${ids.uuid()}`
  const leaseKeeper = new LeaseKeeper({
    store: lease,
    holder,
    address: handlers.selfAddress,
    applied: () => history.last,
    ...clocks,
    onChange: (leadership) => handlers.onLeadershipChange(opened, leadership),
    onError: handlers.onLeaseError,
    onResponse: handlers.onLeaseResponse,
  })
  const closing = new AbortController()
  const opened = { engine, server, gate, follower, leaseKeeper, holder, closing }
  server.onFault((fault) => handlers.onStorageFault(opened, fault))
  return opened
}

/**
 * The staleness of a server that led and is about to reopen: it had the whole log when it took
 * over.
 */
function staleness(
  { lastContactMs }: FollowerLoop,
  { isLeading, leaderAddress }: MemberHandlers,
): { lastContactMs: number; knownLeader: boolean } {
  if (isLeading()) return { lastContactMs: 0, knownLeader: true }
  return { lastContactMs, knownLeader: leaderAddress() !== '' }
}

export async function closeMember(
  { engine, server, gate, follower, leaseKeeper }: OpenedMember,
  log: Logger,
): Promise<void> {
  const logError = (thrown: unknown): void =>
    log.warn({ err: errorMessage(thrown) }, 'a part of this server did not end cleanly')
  await follower.stop().catch(logError)
  gate.close()
  await server.stop().catch(logError)
  await engine.close().catch(logError)
  await leaseKeeper.stop().catch(logError)
}
