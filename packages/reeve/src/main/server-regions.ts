import {
  RegionClient,
  RegionConnections,
  RegionDirectory,
  RemoteRegionRouter,
  ReplicationLoop,
  ReplicationStatus,
  RolloutLoop,
} from '../regions/index.ts'
import type { RemoteRegions, WorkloadContext } from '../workload/index.ts'
import type { TlsCredentials } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { Logger } from './log.ts'
import { systemClock, systemRandom } from './system.ts'

/** Everything of a server that concerns other regions; not created if there are none. */
export class RegionServices {
  readonly gate: RemoteRegionRouter
  /** Undefined in the authoritative region. */
  readonly replication: ReplicationStatus | undefined
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections
  readonly #client: RegionClient
  readonly #token: string

  static open(
    { region, server }: AgentConfig,
    tls: TlsCredentials | undefined,
  ): RegionServices | undefined {
    const { others, authoritative, replicationToken } = server.regions
    const random = systemRandom
    const directory = new RegionDirectory({
      localRegion: region,
      authoritative,
      remoteRegions: others,
      random,
    })
    if (directory.names.length === 1) return undefined
    const connections = new RegionConnections((name) => tls?.dialOptions(name) ?? {})
    return new RegionServices(directory, connections, replicationToken?.reveal() ?? '')
  }

  private constructor(directory: RegionDirectory, connections: RegionConnections, token: string) {
    this.#directory = directory
    this.#connections = connections
    this.#token = token
    this.#client = new RegionClient(directory, this.#connections)
    this.gate = new RemoteRegionRouter(directory, this.#connections)
    this.replication = directory.isAuthoritative
      ? undefined
      : new ReplicationStatus(systemClock, directory.authoritative)
  }

  /** Loops of a leader for its region. */
  loops(context: WorkloadContext, log: Logger): readonly (ReplicationLoop | RolloutLoop)[] {
    const shared = { context, client: this.#client, token: this.#token, log }
    const rollouts = new RolloutLoop(shared)
    const status = this.replication
    if (status === undefined) return [rollouts]
    const region = this.#directory.authoritative
    return [rollouts, new ReplicationLoop({ ...shared, region, status })]
  }

  /** The other regions as use cases access them. */
  get others(): RemoteRegions {
    return {
      remoteNames: () => this.#directory.names.filter((name) => this.#directory.isRemote(name)),
      isRemoteRegion: (region) => this.#directory.isRemote(region),
      addressesOf: (region) => this.#directory.addressesOf(region),
      request: (region, call) => this.#client.request(region, { ...call, forwardReason: 'part' }),
    }
  }

  /** Aborts forwarded requests. */
  close(): void {
    this.gate.close()
    this.#connections.close()
  }
}
