import type { ServerRecord, RegisteredServer, RegistryTimeouts } from './roll-store.ts'

export interface HeartbeatTiming extends RegistryTimeouts {
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

export interface MembersView {
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
