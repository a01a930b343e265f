import type { AgentHealth, AgentMember } from '@reeve/contract'
import type { NodeAgent } from '../agent/index.ts'
import type { AgentInfo } from '../http/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { redactedConfig } from './config/redacted-config.ts'
import type { Server } from './server.ts'

/** What `/v1/agent/*` and `/v1/status/*` tell about this process, filled as its parts start. */
export interface AgentSelf extends AgentInfo {
  serve(httpAddress: string, server: Server): void
  runNode(node: NodeAgent): void
  /** The server is one of several. */
  join(cluster: ClusterView): void
}

/** What a server knows about the others. */
interface ClusterView {
  /** `host:port`; empty when nobody leads. */
  readonly leader: () => string
  readonly isLeading: () => boolean
}

export function describeAgent(config: AgentConfig, version: string): AgentSelf {
  let address = ''
  let server: Server | undefined
  let node: NodeAgent | undefined
  let cluster: ClusterView | undefined
  const host = (): string => (address === '' ? '' : new URL(address).host)
  return {
    region: config.region,
    datacenter: config.datacenter,
    regions: () => server?.regions?.gate.names ?? [config.region],
    serve(httpAddress, started) {
      address = httpAddress
      server = started
    },
    runNode(started) {
      node = started
    },
    join(view) {
      cluster = view
    },
    leader: () => (cluster === undefined ? host() : cluster.leader()),
    peers: () => peersOf(host(), cluster?.leader() ?? ''),
    member: () => memberOf(config, { address, version }),
    config: () => redactedConfig(config),
    stats: () => statsOf(version, { server, node, cluster }),
    health: () => healthOf(config, { server, node, cluster }),
    nodeId: () => node?.nodeId,
  }
}

interface Parts {
  readonly server: Server | undefined
  readonly node: NodeAgent | undefined
  readonly cluster: ClusterView | undefined
}

function peersOf(own: string, leader: string): readonly string[] {
  return [...new Set([own, leader])].filter((peer) => peer !== '').toSorted()
}

function memberOf(
  config: AgentConfig,
  { address, version }: { readonly address: string; readonly version: string },
): AgentMember {
  const url = address === '' ? undefined : new URL(address)
  return {
    Name: `${config.name}.${config.region}`,
    Addr: config.advertise.host,
    Port: config.advertise.httpPort ?? Number(url?.port ?? 0),
    Tags: {
      role: config.server.enabled ? 'server' : 'client',
      region: config.region,
      dc: config.datacenter,
      build: version,
    },
    Status: 'alive',
    ProtocolMin: 1,
    ProtocolMax: 1,
    ProtocolCur: 1,
    DelegateMin: 1,
    DelegateMax: 1,
    DelegateCur: 1,
  }
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
  if (node !== undefined) stats['client'] = { node_id: node.nodeId }
  return stats
}

/** Reference §8.6. A server is well while it can write; a node while a server answers it. */
function healthOf(config: AgentConfig, { server, node, cluster }: Parts): AgentHealth {
  const fault = server?.fault
  const well = { ok: true, message: 'ok' }
  const isLed = cluster === undefined || cluster.leader() !== ''
  const serverHealth =
    server === undefined || !isLed
      ? { ok: false, message: 'no leader' }
      : fault === undefined
        ? well
        : { ok: false, message: fault.message }
  const isHeard = node !== undefined && server?.app.isNodeConnected(node.nodeId) === true
  return {
    ...(config.server.enabled ? { server: serverHealth } : {}),
    ...(config.client.enabled
      ? { client: isHeard ? well : { ok: false, message: 'no known servers' } }
      : {}),
  }
}
