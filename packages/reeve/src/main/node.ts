import { join } from 'node:path'
import {
  BridgeNetwork,
  diskStorage,
  fingerprint,
  NodeAgent,
  websocketDial,
} from '../agent/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { createDrivers } from './drivers.ts'
import type { ProgramLog } from './log.ts'
import { systemClock, systemIds, systemRandom } from './system.ts'

export interface NodeOptions {
  readonly log: ProgramLog
  readonly version: string
  /** Of the server in this process, if there is one. */
  readonly httpAddress: string | undefined
  readonly joinToken: string | undefined
}

/** The node of this machine. It reaches even a server in the same process only over the channel. */
export function createNode(config: AgentConfig, options: NodeOptions): NodeAgent {
  const { client } = config
  const dataDir = join(config.dataDirectory, 'client')
  const own = options.httpAddress === undefined ? [] : [options.httpAddress]
  const servers = client.servers.length > 0 ? client.servers.map(toUrl) : own
  const joinToken = client.joinToken?.reveal() ?? options.joinToken
  return new NodeAgent({
    settings: {
      Name: config.name,
      Region: config.region,
      Datacenter: config.datacenter,
      NodePool: client.nodePool,
      NodeClass: client.nodeClass,
      HTTPAddr: options.httpAddress === undefined ? '' : new URL(options.httpAddress).host,
      TLSEnabled: false,
      Meta: client.meta,
      HostVolumes: null,
      ReservedResources: {
        Cpu: { CpuShares: client.reserved.cpuMHz, ReservedCpuCores: null },
        Memory: { MemoryMB: client.reserved.memoryMB },
        Disk: { DiskMB: client.reserved.diskMB },
        Networks: { ReservedHostPorts: client.reserved.ports },
      },
    },
    storage: diskStorage(dataDir),
    drivers: createDrivers(client, join(dataDir, 'drivers')),
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    log: options.log,
    dial: websocketDial(servers),
    probe: () => fingerprint({ dataDir, version: options.version, address: config.advertise.host }),
    ...(joinToken === undefined ? {} : { joinToken }),
    allowsExec: client.remoteExec,
    ...(process.getuid?.() === 0
      ? { networks: new BridgeNetwork({ stateFile: join(dataDir, 'agent', 'networks.json') }) }
      : {}),
  })
}

function toUrl(server: string): string {
  return server.includes('://') ? server : `http://${server}`
}
