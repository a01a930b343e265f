import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import {
  BridgeNetwork,
  bridgeSettings,
  canDial,
  CniNetworks,
  diskStorage,
  fingerprint,
  NodeAgent,
  NodeNetworks,
  type NodeSettings,
  websocketDial,
} from '../agent/index.ts'
import { aliasesOf, type TaskAliases } from '../compat/index.ts'
import type { NodeServers } from '../http/index.ts'
import { CGROUP_PARENT } from '../drivers/index.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import type { Tls } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { DialledServers, serverUrl } from './dialled-servers.ts'
import { createDrivers } from './drivers.ts'
import { infrastructureAttributes } from './infrastructure-tools.ts'
import type { FollowableLog, ProgramLog } from './log.ts'
import { systemClock, systemIds, systemRandom } from './system.ts'

export interface NodeOptions {
  readonly log: FollowableLog
  readonly version: string
  /** Of the server in this process, if there is one. */
  readonly httpAddress: string | undefined
  readonly joinToken: string | undefined
  /** Undefined where nothing is encrypted. */
  readonly tls: Tls | undefined
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
}

/** The node of this machine. It reaches even a server in the same process only over the channel. */
export function createNode(config: AgentConfig, options: NodeOptions): CreatedNode {
  const { client } = config
  const { tls } = options
  const usesTls = tls !== undefined
  const dataDir = join(config.dataDirectory, 'client')
  const own = options.httpAddress === undefined ? [] : [options.httpAddress]
  const configured = client.joinToken ?? config.server.joinToken
  const joinToken = configured?.reveal() ?? options.joinToken
  const isRoot = process.getuid?.() === 0
  const aliases = aliasesOf(config.compatibility).task
  const tlsOf = (server: string): ConnectionOptions => dialOptions(tls, { server, own })
  const servers = new DialledServers(
    client.servers.length > 0 ? client.servers.map((server) => serverUrl(server, usesTls)) : own,
    { usesTls, canDial: (server) => canDial(server, tlsOf) },
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
    storage: diskStorage(dataDir, { keepsSecretsInMemory: client.secretsInMemory && isRoot }),
    drivers: createDrivers(client, dataDir),
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    log: options.log,
    feed: options.log.feed,
    dial: websocketDial(() => servers.urls, tlsOf),
    probe: async () => {
      const found = await fingerprint({
        dataDir,
        version: options.version,
        address: config.advertise.host,
        cniDirectories: client.cni.pluginDirectories,
      })
      const tools = await infrastructureAttributes()
      const Attributes = withOtherNames({ ...found.Attributes, ...tools }, aliases)
      return { ...found, Attributes }
    },
    ...(joinToken === undefined ? {} : { joinToken }),
    allowsExec: client.remoteExec,
    artifacts: client.artifacts,
    killTimeoutMsMax: client.killTimeoutMsMax,
    garbage: client.garbage,
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

/** Constraints of job files may ask for an attribute by either name. */
function withOtherNames(
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
  { dataDir, log }: { readonly dataDir: string; readonly log: ProgramLog },
): NodeNetworks {
  const stateFile = join(dataDir, 'agent', 'networks.json')
  const recordsDir = join(dataDir, 'agent', 'cni')
  return new NodeNetworks({
    bridge: new BridgeNetwork({ stateFile, settings: bridgeSettings(bridge), log }),
    cni: new CniNetworks({ settings: cni, recordsDir, log }),
  })
}

function hostVolumes(volumes: AgentConfig['client']['hostVolumes']): NodeSettings['HostVolumes'] {
  const named = Object.entries(volumes).map(([name, { path, readOnly }]) => {
    return [name, { Name: name, Path: path, ReadOnly: readOnly, ID: '' }] as const
  })
  return named.length === 0 ? null : Object.fromEntries(named)
}

/** The server of this process has our certificate; the others prove that they are servers. */
function dialOptions(
  tls: Tls | undefined,
  { server, own }: { readonly server: string; readonly own: readonly string[] },
): ConnectionOptions {
  if (tls === undefined) return {}
  return own.includes(server) ? tls.ownDialOptions() : tls.dialOptions(tls.region)
}
