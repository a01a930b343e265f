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
}

export function describeAgent(config: AgentConfig, version: string): AgentSelf {
  let address = ''
  let server: Server | undefined
  let node: NodeAgent | undefined
  const host = (): string => (address === '' ? '' : new URL(address).host)
  return {
    region: config.region,
    datacenter: config.datacenter,
    serve(httpAddress, started) {
      address = httpAddress
      server = started
    },
    runNode(started) {
      node = started
    },
    leader: host,
    peers: () => (address === '' ? [] : [host()]),
    member: () => memberOf(config, { address, version }),
    config: () => redactedConfig(config),
    stats: () => statsOf(version, server, node),
    health: () => healthOf(config, server, node),
    nodeId: () => node?.nodeId,
  }
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

function statsOf(version: string, server: Server | undefined, node: NodeAgent | undefined) {
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
      leader: 'true',
      index: String(server.store.index),
      durable_index: String(server.store.durableIndex),
      dirty_rows: String(server.store.dirtyRows),
    }
  if (node !== undefined) stats['client'] = { node_id: node.nodeId }
  return stats
}

/** Reference §8.6. A server is well while it can write; a node while a server answers it. */
function healthOf(
  config: AgentConfig,
  server: Server | undefined,
  node: NodeAgent | undefined,
): AgentHealth {
  const fault = server?.fault
  const well = { ok: true, message: 'ok' }
  const serverHealth =
    server === undefined
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
