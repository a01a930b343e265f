export { closeOnRevoke, watchAuthorization } from './authorization-watch.ts'
export type { CloseFrame } from './authorization-watch.ts'
export { CatalogWatches } from './catalog-watches.ts'
export { DataMigrations } from './data-migrations.ts'
export { EventBroker, type EventSink, type Subscription } from './event-broker.ts'
export { type EventStreams, prepareStream } from './event-subscription.ts'
export { connectExec, ExecFrameLimits } from './exec-session.ts'
export { JobLogStream } from './job-log-stream.ts'
export { followLocalLog, followNodeLog, readableFromNode, withFrames } from './log-followers.ts'
export { type NodeChannelDeps, NodeChannelServer, type NodeSocket } from './node-channel.ts'
export { NodeRpcClient } from './node-requests.ts'
export { NodeSessions, type NodeSession } from './node-sessions.ts'
export { NodeStreamServer, tooManyStreams } from './node-streams.ts'
export {
  createStreamBuffers,
  streamSocket,
  type UpgradeRejection,
  WebSocketAcceptor,
  type WebSocketChannel,
} from './websocket.ts'
