import type { AgentHealth, AgentMember } from '@reeve/contract'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { readHostData, type NodeAgent } from '../agent/index.ts'
import { isNamed, type CommitLoss, type Member } from '../cluster/index.ts'
import type { AgentInfo, ForceLeaveOutcome, NodeServers } from '../http/index.ts'
import { agentMember } from '../workload/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { redactedConfig } from './config/redacted-config.ts'
import { portOf } from './port-of.ts'
import type { Server } from './server.ts'

/** What `/v1/agent/*` and `/v1/status/*` tell about this process, filled as its parts start. */
export interface AgentSelf extends AgentInfo {
  /** From now on it answers there; `server` is what there is to tell about it. */
  serve(httpAddress: string, server?: Server): void
  runNode(node: NodeAgent, servers: NodeServers): void
  /** The server is one of several. */
  join(cluster: ClusterView): void
}

/** What a server knows about the others. */
interface ClusterView {
  /** `host:port`; empty when nobody leads. */
  readonly leader: () => string
  readonly isLeading: () => boolean
  /** Every server, this one among them. */
  readonly members: () => readonly Member[]
  /** Why no server takes writes; undefined while they do. */
  readonly refusal: () => string | undefined
  /** Why nobody leads, where it is known. */
  readonly trouble: () => string | undefined
  /** Acknowledged commits that this process has found missing from the database. */
  readonly commitsLost: () => number
  /** The cluster goes on without the commits that were lost. */
  readonly acceptLoss: (by: string) => Promise<readonly CommitLoss[]>
  /** Marks a server that has left or failed as left, or removes it from the list. */
  readonly retire: (name: string, prune: boolean) => Promise<void>
}

export function describeAgent(
  config: AgentConfig,
  version: string,
  feed: LogFeed = NOTHING_LOGGED,
): AgentSelf {
  let address = ''
  let server: Server | undefined
  let node: NodeAgent | undefined
  let nodeServers: NodeServers | undefined
  let cluster: ClusterView | undefined
  const self = (): Member => ownMember(config, { address, version })
  const members = (): readonly Member[] => cluster?.members() ?? [self()]
  return {
    region: config.region,
    datacenter: config.datacenter,
    regions: () => server?.regions?.gate.regions.names ?? [config.region],
    serve(httpAddress, started) {
      address = httpAddress
      server = started
    },
    runNode(started, servers) {
      node = started
      nodeServers = servers
    },
    join(view) {
      cluster = view
    },
    leader: () => (cluster === undefined ? self().address : cluster.leader()),
    peers: () => peersOf(members()),
    member: () => toAgentMember(config, members().find(isAt(self().address)) ?? self()),
    isNamed: (name) => isNamed(config, name),
    members: () => members().map((member) => toAgentMember(config, member)),
    // The last three are where clients look for them.
    config: () => ({
      ...redactedConfig(config),
      Region: config.region,
      Datacenter: config.datacenter,
      Version: { Version: version, VersionPrerelease: '', VersionMetadata: '', Revision: '' },
    }),
    stats: () => statsOf(version, { server, node, cluster }),
    health: () => healthOf(config, { server, node, cluster }),
    nodeId: () => node?.nodeId,
    feed,
    host: () => readHostData(config.dataDirectory),
    nodeServers: () => nodeServers,
    forceLeave: (name, prune) => forceLeave(members(), cluster, { name, prune }),
    commitsLost: () => cluster?.commitsLost() ?? 0,
    acceptLoss: async (by) => await cluster?.acceptLoss(by),
  }
}

/** Of a program that keeps no log. */
const NOTHING_LOGGED: LogFeed = { follow: () => () => undefined, droppedLine: () => '' }

interface ForcedLeave {
  /** With or without the region. */
  readonly name: string
  readonly prune: boolean
}

async function forceLeave(
  members: readonly Member[],
  cluster: ClusterView | undefined,
  { name, prune }: ForcedLeave,
): Promise<ForceLeaveOutcome> {
  const named = members.filter((one) => isNamed(one, name))
  const [first] = named
  if (first === undefined) return 'unknown'
  const gone = named.find(({ status }) => status === 'left' || status === 'failed')
  if (gone === undefined || cluster === undefined) return 'alive'
  await cluster.retire(gone.name, prune)
  return 'done'
}

interface Parts {
  readonly server: Server | undefined
  readonly node: NodeAgent | undefined
  readonly cluster: ClusterView | undefined
}

const isAt =
  (address: string) =>
  (member: Member): boolean =>
    member.address === address

/** Those that belong to the cluster, whether they answer or not. */
function peersOf(members: readonly Member[]): readonly string[] {
  const staying = members.filter(({ status, address }) => status !== 'left' && address !== '')
  return staying.map(({ address }) => address).toSorted()
}

/** This agent as the only one that it knows. */
function ownMember(
  { name, region, datacenter, advertise, server }: AgentConfig,
  { address, version: build }: { readonly address: string; readonly version: string },
): Member {
  const { host, httpPort = address === '' ? 0 : portOf(address) } = advertise
  const at = `${host.includes(':') ? `[${host}]` : host}:${httpPort}`
  const known = { name, region, datacenter, build, status: 'alive' } as const
  return { ...known, address: address === '' ? '' : at, isLeader: server.enabled }
}

function toAgentMember({ server }: AgentConfig, member: Member): AgentMember {
  const { name, region, address, datacenter: dc, build, status: Status, isLeader } = member
  const Tags = {
    role: server.enabled ? 'server' : 'client',
    region,
    dc,
    build,
    ...(isLeader && { leader: 'true' }),
  }
  return agentMember({ name, region, address, Tags, Status })
}

function statsOf(version: string, { server, node, cluster }: Parts) {
  const memory = process.memoryUsage()
  const stats: Record<string, Record<string, string>> = {
    runtime: {
      version,
      node: process.version,
      pid: String(process.pid),
      uptime_seconds: String(Math.floor(process.uptime())),
      heap_bytes: String(memory.heapUsed),
      rss_bytes: String(memory.rss),
    },
  }
  if (server !== undefined)
    stats['server'] = {
      leader: String(cluster?.isLeading() ?? true),
      index: String(server.store.index),
      durable_index: String(server.store.durableIndex),
      dirty_rows: String(server.store.dirtyRows),
    }
  const replication = server?.regions?.replication
  if (replication !== undefined) stats['replication'] = replication.stats()
  if (server?.backups !== undefined) stats['backup'] = server.backups.stats
  if (node !== undefined) stats['client'] = { node_id: node.nodeId }
  return stats
}

function noLeader(cluster: ClusterView | undefined): string {
  const trouble = cluster?.trouble()
  return trouble === undefined ? 'no leader' : `no leader: ${trouble}`
}

/** A server is well while it can write; a node while a server answers it. */
function healthOf(config: AgentConfig, { server, node, cluster }: Parts): AgentHealth {
  const fault = server?.fault
  const well = { ok: true, message: 'ok' }
  const isLed = cluster === undefined || cluster.leader() !== ''
  const refusal = cluster?.refusal()
  const wrong =
    refusal ??
    (server === undefined || !isLed ? noLeader(cluster) : (fault?.message ?? server.commitDelay))
  const warning = server?.context.capacity.warning ?? 'ok'
  const serverHealth =
    wrong === undefined ? { ok: true, message: warning } : { ok: false, message: wrong }
  const isHeard = node !== undefined && server?.app.isNodeConnected(node.nodeId) === true
  return {
    ...(config.server.enabled ? { server: serverHealth } : {}),
    ...(config.client.enabled
      ? { client: isHeard ? well : { ok: false, message: 'no known servers' } }
      : {}),
  }
}
