import type { Clock } from '@reeve/kit/clock.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { EventBroker, NodeRpcClient, NodeSessions } from '../../sessions/index.ts'
import type { Admission } from '../pipeline/admission.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'
import type { AgentInfo } from '../v1/agent.ts'
import type { GaugeSources, LabelledSources } from './metrics.ts'

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

/** Minimum interval between two reads of the limits: each read visits every tenant. */
const CACHE_MS = 1_000

/** Returns the metrics of configurable limits: usage and rejections. `reeve doctor` prints them. */
export function limitMetrics(
  clock: Clock,
  read: () => Promise<readonly LimitUsage[]>,
): LabelledSources {
  let cached:
    | { readonly atMs: number; readonly readUsages: Promise<readonly LimitUsage[]> }
    | undefined
  const readUsages = (): Promise<readonly LimitUsage[]> => {
    const nowMs = clock.nowMs()
    if (cached === undefined || nowMs - cached.atMs >= CACHE_MS)
      cached = { atMs: nowMs, readUsages: read() }
    return cached.readUsages
  }
  const readEach = async (value: (use: LimitUsage) => number) =>
    new Map((await readUsages()).map((use) => [use.name, value(use)]))
  return {
    limit: {
      help: 'Limits that are in force on this server; those of the block limits are settings.',
      label: 'limit',
      read: () => readEach(({ max }) => max),
    },
    limit_used: {
      help: 'Use of each limit by the token or address that uses most of it.',
      label: 'limit',
      read: () => readEach(({ used }) => used),
    },
    requests_rejected_total: {
      help: 'Requests rejected because their client exceeded a limit.',
      label: 'reason',
      isCounter: true,
      read: () => readEach(({ rejected }) => rejected),
    },
  }
}
