export { RolloutLoop, type RolloutLoopOptions } from './multiregion/rollout-loop.ts'
export { RegionClient, type RegionResponse } from './region-client.ts'
export { RegionConnections, type RegionTls } from './region-connections.ts'
export { RegionDirectory, type RegionDirectoryOptions } from './region-directory.ts'
export { RemoteRegionRouter } from './region-proxy.ts'
export {
  ReplicationLoop,
  type ReplicationOptions,
  ReplicationStatus,
} from './replication/replication-loop.ts'
