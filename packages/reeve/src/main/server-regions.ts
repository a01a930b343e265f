import {
  RegionClient,
  RegionConnections,
  RegionDirectory,
  RegionGate,
  ReplicationLoop,
  ReplicationStatus,
  RolloutLoop,
} from '../regions/index.ts'
import type { OtherRegions, WorkloadContext } from '../workload/index.ts'
import type { Tls } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { ProgramLog } from './log.ts'
import { systemClock, systemRandom } from './system.ts'

/** What a server has to do with other regions. Nothing of it exists where there are none. */
export class ServerRegions {
  readonly gate: RegionGate
  /** Undefined in the authoritative region. */
  readonly replication: ReplicationStatus | undefined
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections
  readonly #client: RegionClient
  readonly #token: string

  static open({ region, server }: AgentConfig, tls: Tls | undefined): ServerRegions | undefined {
    const { others, authoritative, replicationToken } = server.regions
    const random = systemRandom
    const directory = new RegionDirectory({ own: region, authoritative, others, random })
    if (directory.names.length === 1) return undefined
    const connections = new RegionConnections((name) => tls?.dialOptions(name) ?? {})
    return new ServerRegions(directory, connections, replicationToken?.reveal() ?? '')
  }

  private constructor(directory: RegionDirectory, connections: RegionConnections, token: string) {
    this.#directory = directory
    this.#connections = connections
    this.#token = token
    this.#client = new RegionClient(directory, this.#connections)
    this.gate = new RegionGate(directory, this.#connections)
    this.replication = directory.isAuthoritative
      ? undefined
      : new ReplicationStatus(systemClock, directory.authoritative)
  }

  /** What a leader does for its region. */
  loops(context: WorkloadContext, log: ProgramLog): readonly (ReplicationLoop | RolloutLoop)[] {
    const shared = { context, client: this.#client, token: this.#token, log }
    const rollouts = new RolloutLoop(shared)
    const status = this.replication
    if (status === undefined) return [rollouts]
    const region = this.#directory.authoritative
    return [rollouts, new ReplicationLoop({ ...shared, region, status })]
  }

  /** As use cases ask them. */
  get others(): OtherRegions {
    return {
      others: () => this.#directory.names.filter((name) => this.#directory.isRemote(name)),
      isOther: (region) => this.#directory.isRemote(region),
      addressesOf: (region) => this.#directory.addressesOf(region),
      ask: (region, call) => this.#client.call(region, { ...call, hop: 'part' }),
    }
  }

  /** Ends what is being passed on. */
  close(): void {
    this.gate.close()
    this.#connections.close()
  }
}
