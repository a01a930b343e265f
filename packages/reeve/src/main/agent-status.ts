import type { AgentHealth, AgentMember } from '@reeve/contract'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { readHostData, type NodeAgent } from '../agent/index.ts'
import { matchesServerName, type CommitLoss, type Member } from '../cluster/index.ts'
import type { AgentInfo, ForceLeaveOutcome, NodeServers } from '../http/index.ts'
import { agentMember } from '../workload/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { portOf } from './config/address.ts'
import type { JsonSettingValue } from './config/option.ts'
import { optionEntries } from './config/options.ts'
import type { Server } from './server.ts'

/**
 * The status of this process for `/v1/agent/*` and `/v1/status/*`, completed as its parts start.
 */
export interface AgentStatus extends AgentInfo {
  /** Sets the HTTP address and the server to report. */
  setServer(httpAddress: string, server?: Server): void
  setNode(node: NodeAgent, servers: NodeServers): void
  /** Sets the cluster that the server belongs to. */
  setCluster(cluster: ClusterView): void
}

/** The cluster as this server sees it. */
interface ClusterView {
  /** `host:port` of the leader; empty without a leader. */
  readonly leader: () => string
  readonly isLeading: () => boolean
  /** All servers, including this one. */
  readonly members: () => readonly Member[]
  /** Why writes are rejected; undefined while they are accepted. */
  readonly writeRefusal: () => string | undefined
  /** Why no server leads, if known. */
  readonly outage: () => string | undefined
  /** Number of acknowledged commits that are missing from the database. */
  readonly commitsLost: () => number
  /** Accepts the loss of commits and lets the cluster continue. */
  readonly acceptLoss: (by: string) => Promise<readonly CommitLoss[]>
  /** Marks a server that has left or failed as left, or removes it from the list. */
  readonly retire: (name: string, prune: boolean) => Promise<void>
}

export function createAgentStatus(
  config: AgentConfig,
  version: string,
  feed: LogFeed = EMPTY_FEED,
): AgentStatus {
  let address = ''
  let server: Server | undefined
  let node: NodeAgent | undefined
  let nodeServers: NodeServers | undefined
  let cluster: ClusterView | undefined
  const self = (): Member => toOwnMember(config, { address, version })
  const members = (): readonly Member[] => cluster?.members() ?? [self()]
  return {
    region: config.region,
    datacenter: config.datacenter,
    regions: () => server?.regions?.gate.regions.names ?? [config.region],
    setServer(httpAddress, started) {
      address = httpAddress
      server = started
    },
    setNode(started, servers) {
      node = started
      nodeServers = servers
    },
    setCluster(view) {
      cluster = view
    },
    leader: () => (cluster === undefined ? self().address : cluster.leader()),
    peers: () => clusterPeers(members()),
    member: () => toAgentMember(config, members().find(isAt(self().address)) ?? self()),
    isNamed: (name) => matchesServerName(config, name),
    members: () => members().map((member) => toAgentMember(config, member)),
    // Clients expect the last three fields here.
    config: () => ({
      ...redactedConfig(config),
      Region: config.region,
      Datacenter: config.datacenter,
      Version: { Version: version, VersionPrerelease: '', VersionMetadata: '', Revision: '' },
    }),
    stats: () => agentStats(version, { server, node, cluster }),
    health: () => agentHealth(config, { server, node, cluster }),
    nodeId: () => node?.nodeId,
    feed,
    host: () => readHostData(config.dataDirectory),
    nodeServers: () => nodeServers,
    forceLeave: (name, prune) => forceLeave(members(), cluster, { name, prune }),
    commitsLost: () => cluster?.commitsLost() ?? 0,
    acceptLoss: async (by) => await cluster?.acceptLoss(by),
  }
}

/** Log feed of a program without a log. */
const EMPTY_FEED: LogFeed = { follow: () => () => undefined, droppedLine: () => '' }

interface ForcedLeave {
  /** The server name, with or without the region. */
  readonly name: string
  readonly prune: boolean
}

async function forceLeave(
  members: readonly Member[],
  cluster: ClusterView | undefined,
  { name, prune }: ForcedLeave,
): Promise<ForceLeaveOutcome> {
  const named = members.filter((one) => matchesServerName(one, name))
  const [first] = named
  if (first === undefined) return 'unknown'
  const departed = named.find(({ status }) => status === 'left' || status === 'failed')
  if (departed === undefined || cluster === undefined) return 'alive'
  await cluster.retire(departed.name, prune)
  return 'done'
}

interface AgentParts {
  readonly server: Server | undefined
  readonly node: NodeAgent | undefined
  readonly cluster: ClusterView | undefined
}

const isAt =
  (address: string) =>
  (member: Member): boolean =>
    member.address === address

/** Addresses of the servers that belong to the cluster, including unreachable ones. */
function clusterPeers(members: readonly Member[]): readonly string[] {
  const staying = members.filter(({ status, address }) => status !== 'left' && address !== '')
  return staying.map(({ address }) => address).toSorted()
}

/** This agent as the only member. */
function toOwnMember(
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

function agentStats(version: string, { server, node, cluster }: AgentParts) {
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
  const trouble = cluster?.outage()
  return trouble === undefined ? 'no leader' : `no leader: ${trouble}`
}

/** A server is healthy while it can write, a node while a server answers it. */
function agentHealth(config: AgentConfig, { server, node, cluster }: AgentParts): AgentHealth {
  const fault = server?.fault
  const well = { ok: true, message: 'ok' }
  const isLed = cluster === undefined || cluster.leader() !== ''
  const refusal = cluster?.writeRefusal()
  const problem =
    refusal ??
    (server === undefined || !isLed ? noLeader(cluster) : (fault?.message ?? server.commitDelay))
  const warning = server?.context.capacity.warning ?? 'ok'
  const serverHealth =
    problem === undefined ? { ok: true, message: warning } : { ok: false, message: problem }
  const isConnected = node !== undefined && server?.app.isNodeConnected(node.nodeId) === true
  return {
    ...(config.server.enabled ? { server: serverHealth } : {}),
    ...(config.client.enabled
      ? { client: isConnected ? well : { ok: false, message: 'no known servers' } }
      : {}),
  }
}

/** A configuration in the structure of a file. */
interface RedactedConfig {
  readonly [name: string]: JsonSettingValue | RedactedConfig
}

/**
 * The effective configuration in the structure of a file, without secrets, for `/v1/agent/self`.
 */
export function redactedConfig(config: AgentConfig): RedactedConfig {
  return buildTree(
    optionEntries.flatMap(([name, { file = [name], kind, read }]) => {
      const value = read(config)
      return value === undefined ? [] : [{ path: file, value: kind.toJson(value) }]
    }),
  )
}

interface Leaf {
  readonly path: readonly string[]
  readonly value: JsonSettingValue
}

function buildTree(leaves: readonly Leaf[]): RedactedConfig {
  const below = Map.groupBy(leaves, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...below].map(([name, inner]) => {
      const [first] = inner
      if (first?.path.length === 1) return [name, first.value]
      return [name, buildTree(inner.map(({ path, value }) => ({ path: path.slice(1), value })))]
    }),
  )
}
