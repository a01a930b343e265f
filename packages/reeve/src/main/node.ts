import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import {
  BridgeNetwork,
  toBridgeSettings,
  isReachable,
  CniNetworks,
  diskStorage,
  fingerprint,
  NodeAgent,
  NodeNetworks,
  type NodeSettings,
  websocketDialer,
} from '../agent/index.ts'
import { aliasesOf, type TaskAliases } from '../compat/index.ts'
import type { NodeServers } from '../http/index.ts'
import { CGROUP_PARENT } from '../drivers/index.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import type { TlsCredentials } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { DialedServers, serverUrl } from './dialled-servers.ts'
import { createDrivers } from './drivers.ts'
import { infrastructureAttributes } from './infrastructure-tools.ts'
import type { FollowableLog, Logger } from './log.ts'
import { systemClock, systemIds, systemRandom } from './system.ts'

export interface NodeOptions {
  readonly log: FollowableLog
  readonly version: string
  /** HTTP address of the server in this process, if any. */
  readonly httpAddress: string | undefined
  readonly joinToken: string | undefined
  /** Undefined without TLS. */
  readonly tls: TlsCredentials | undefined
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined
}

/** Creates the node of this machine. It uses the channel even for a server in the same process. */
export function createNode(config: AgentConfig, options: NodeOptions): CreatedNode {
  const { client } = config
  const { tls } = options
  const usesTls = tls !== undefined
  const dataDir = join(config.dataDirectory, 'client')
  const localServers = options.httpAddress === undefined ? [] : [options.httpAddress]
  const configured = client.joinToken ?? config.server.joinToken
  const joinToken = configured?.reveal() ?? options.joinToken
  const isRoot = process.getuid?.() === 0
  const aliases = aliasesOf(config.compatibility).task
  const tlsOf = (server: string): ConnectionOptions => dialOptions(tls, { server, localServers })
  const servers = new DialedServers(
    client.servers.length > 0
      ? client.servers.map((server) => serverUrl(server, usesTls))
      : localServers,
    { usesTls, canDial: (server) => isReachable(server, tlsOf) },
  )
  const node = new NodeAgent({
    settings: {
      Name: config.name,
      Region: config.region,
      Datacenter: config.datacenter,
      NodePool: client.nodePool,
      NodeClass: client.nodeClass,
      HTTPAddr: options.httpAddress === undefined ? '' : new URL(options.httpAddress).host,
      TLSEnabled: usesTls,
      Meta: client.meta,
      ...(isRoot ? { CgroupParent: CGROUP_PARENT } : {}),
      HostVolumes: hostVolumes(client.hostVolumes),
      aliases,
      ReservedResources: {
        Cpu: { CpuShares: client.reserved.cpuMHz, ReservedCpuCores: null },
        Memory: { MemoryMB: client.reserved.memoryMB },
        Disk: { DiskMB: client.reserved.diskMB },
        Networks: { ReservedHostPorts: client.reserved.ports },
      },
    },
    storage: diskStorage(dataDir, { usesTmpfsForSecrets: client.secretsInMemory && isRoot }),
    drivers: createDrivers(client, dataDir),
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    log: options.log,
    feed: options.log.feed,
    dial: websocketDialer(() => servers.urls, tlsOf),
    probe: async () => {
      const found = await fingerprint({
        dataDir,
        version: options.version,
        address: config.advertise.host,
        cniDirectories: client.cni.pluginDirectories,
      })
      const tools = await infrastructureAttributes()
      const Attributes = withAliasAttributes({ ...found.Attributes, ...tools }, aliases)
      return { ...found, Attributes }
    },
    ...(joinToken === undefined ? {} : { joinToken }),
    allowsExec: client.remoteExec,
    artifacts: client.artifacts,
    killTimeoutMsMax: client.killTimeoutMsMax,
    garbage: client.gc,
    networks: createNetworks(client, { dataDir, log: options.log }),
    tracer: options.tracer,
    volumes: {
      volumesDir: client.volumesDirectory ?? join(dataDir, 'volumes'),
      pluginDir: client.volumePluginDirectory ?? join(dataDir, 'volume-plugins'),
      dataDirectory: config.dataDirectory,
    },
  })
  return { node, servers }
}

interface CreatedNode {
  readonly node: NodeAgent
  readonly servers: NodeServers
}

/** Adds the alternative names of attributes, which constraints may use. */
function withAliasAttributes(
  attributes: Readonly<Record<string, string>>,
  { nodeAttributes }: TaskAliases,
): Readonly<Record<string, string>> {
  const others = Object.entries(nodeAttributes).flatMap(([own, other]) => {
    const value = attributes[own]
    return value === undefined ? [] : [[other, value] as const]
  })
  return { ...attributes, ...Object.fromEntries(others) }
}

function createNetworks(
  { bridge, cni }: AgentConfig['client'],
  { dataDir, log }: { readonly dataDir: string; readonly log: Logger },
): NodeNetworks {
  const stateFile = join(dataDir, 'agent', 'networks.json')
  const recordsDir = join(dataDir, 'agent', 'cni')
  return new NodeNetworks({
    bridge: new BridgeNetwork({ stateFile, settings: toBridgeSettings(bridge), log }),
    cni: new CniNetworks({ settings: cni, recordsDir, log }),
  })
}

function hostVolumes(volumes: AgentConfig['client']['hostVolumes']): NodeSettings['HostVolumes'] {
  const named = Object.entries(volumes).map(([name, { path, readOnly }]) => {
    return [name, { Name: name, Path: path, ReadOnly: readOnly, ID: '' }] as const
  })
  return named.length === 0 ? null : Object.fromEntries(named)
}

/**
 * Connection options. A server in this process has the agent's own certificate; other servers must
 * present a server certificate.
 */
function dialOptions(
  tls: TlsCredentials | undefined,
  { server, localServers }: { readonly server: string; readonly localServers: readonly string[] },
): ConnectionOptions {
  if (tls === undefined) return {}
  return localServers.includes(server) ? tls.selfDialOptions() : tls.dialOptions(tls.region)
}
