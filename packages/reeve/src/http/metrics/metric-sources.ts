import type {
  EventBroker,
  NodeRpcClient,
  NodeSessions,
  WorkloadContext,
} from '../../workload/index.ts'
import type { Admission } from '../pipeline/admission.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'
import type { AgentInfo } from '../v1/agent.ts'
import type { GaugeSources } from './metrics.ts'

interface MeasuredApp {
  readonly context: WorkloadContext
  readonly hub: EventBroker
  readonly sessions: NodeSessions
  readonly agent: AgentInfo
  readonly metrics?: GaugeSources
}

/** The measured parts of a server besides its state. */
interface MeasuredParts {
  readonly requests: NodeRpcClient
  readonly parked: ParkedQueries
  readonly admission: Admission
}

/** Returns the metrics of a server by name, without prefix. */
export function metricSources(
  { context, hub, sessions, agent, metrics = {} }: MeasuredApp,
  { requests, parked, admission }: MeasuredParts,
): GaugeSources {
  const { store } = context
  return {
    state_index: { help: 'Index of the last applied commit.', read: () => store.index },
    state_durable_index: {
      help: 'Index of the last durable commit.',
      read: () => store.durableIndex,
    },
    state_dirty_rows: {
      help: 'Rows written since the last checkpoint.',
      read: () => store.dirtyRows,
    },
    storage_read_only: {
      help: 'Whether the storage takes no writes, or only deletes (1), or everything (0).',
      read: () => (store.fault === undefined && store.restriction === undefined ? 0 : 1),
    },
    leader: {
      help: 'Whether this server leads (1) or not (0).',
      read: () => (agent.member().Tags['leader'] === 'true' ? 1 : 0),
    },
    jobs: { help: 'Jobs of all namespaces.', read: () => store.tables.jobs.size },
    jobs_quarantined: {
      help: 'Jobs that are not placed because nodes were lost while they were starting.',
      read: () => store.tables.jobs.countByIndex('quarantined', 'yes'),
    },
    allocations: { help: 'Allocations of all states.', read: () => store.tables.allocations.size },
    evaluations_pending: {
      help: 'Evaluations that wait for the scheduler.',
      read: () => store.tables.evaluations.countByIndex('status', 'pending'),
    },
    evaluations_blocked: {
      help: 'Evaluations that wait for resources.',
      read: () => store.tables.evaluations.countByIndex('status', 'blocked'),
    },
    nodes: { help: 'Nodes that are known.', read: () => store.tables.nodes.size },
    nodes_connected: {
      help: 'Nodes that are connected to this server.',
      read: () => sessions.size,
    },
    blocking_queries: { help: 'Blocking queries that wait.', read: () => parked.count },
    requests_waiting: {
      help: 'Requests and slices of requests that wait for the event loop.',
      read: () => admission.scheduler.waiting,
    },
    request_body_bytes: {
      help: 'Memory of request bodies that are being received, and of large ones until the response.',
      read: () => admission.bodies.bytes,
    },
    event_streams: { help: 'Event streams that are open.', read: () => hub.readers },
    node_streams: {
      help: 'Exec, log and file streams that are open to nodes.',
      read: () => requests.openStreams,
    },
    database_lost_commits: {
      help: 'Acknowledged commits that this server has found missing from the database.',
      read: () => agent.commitsLost?.() ?? 0,
    },
    ...metrics,
  }
}
