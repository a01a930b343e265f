import type { NodeStatus } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  triggersEvaluations,
  nextNodeStatus,
  withNodeEvent,
  type AllocationRow,
  type NewNodeEvent,
  type NodeRow,
} from '../model/index.ts'
import {
  nodeEvaluations,
  put,
  joinRowJson,
  withDerivedRows,
  withVolumeRows,
  type Commit,
  type CommittedRow,
  type Stamp,
  type Store,
} from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'
import {
  type NodeLossConsequence,
  type LostNode,
  HEARTBEAT_MISSED,
  computeNodeLoss,
  nodeLossChanges,
  nonTerminalOn,
  latestReconnectDeadlineMs,
} from './node-loss.ts'

/**
 * Heartbeats are a few bytes on an open channel, so they can be frequent: a lost node is detected
 * after 20 s, and ten thousand nodes cost a few percent of a server's CPU.
 */
export const DEFAULT_HEARTBEAT_SETTINGS: HeartbeatSettings = {
  heartbeatMsMin: 5_000,
  heartbeatsPerSecondMax: 1_000,
  graceMs: 15_000,
  failoverTtlMs: 60_000,
}

/** Default heartbeat interval. */
export const DEFAULT_HEARTBEAT_MS = DEFAULT_HEARTBEAT_SETTINGS.heartbeatMsMin
/** Minimum time between two checks. */
const MIN_CHECK_INTERVAL_MS = 50
/**
 * If the timer fires this late, the server itself was stalled, and missed heartbeats prove nothing.
 */
const TIMER_DRIFT_MS_MAX = 1_000
/** Nodes marked per check; during a network failure other work must run in between. */
const NODES_PER_CHECK = 50
/** Interval at which a disconnected node is checked for allocations that may still reconnect. */
const RECHECK_INTERVAL_MS = 30_000

interface HeartbeatMonitorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Omit<Logger, 'debug'>
  readonly settings?: HeartbeatSettings
}

/**
 * Monitors node heartbeats. A node that misses them is marked down, or disconnected while its
 * allocations may reconnect. A returning node becomes ready after it has reported its allocations.
 * Decisions are based on the state; only contact times are in memory.
 */
export class HeartbeatMonitor {
  readonly #options: HeartbeatMonitorOptions
  readonly #settings: HeartbeatSettings
  readonly #deadlines = new HeartbeatDeadlines()
  /** Initializing nodes with the allocations that they have not reported yet. */
  readonly #initializing = new Map<string, Set<string>>()
  /** Initializing nodes to check for readiness. */
  readonly #toAdmit = new Set<string>()
  #timerMs = Infinity
  #cancelTimer: () => void = () => undefined
  #cancelAdmission: (() => void) | undefined
  #unsubscribe: () => void = () => undefined
  #isStopped = false

  constructor(options: HeartbeatMonitorOptions) {
    this.#options = options
    this.#settings = options.settings ?? DEFAULT_HEARTBEAT_SETTINGS
  }

  /** No heartbeat was received yet, so all nodes get time to reconnect. */
  start(): void {
    const { store, clock } = this.#options
    this.#unsubscribe = store.log.subscribe((commits) => this.#onCommits(commits))
    const dueMs = clock.monotonicMs() + this.#settings.failoverTtlMs
    for (const node of store.tables.nodes.rows()) {
      if (node.Status !== 'down') this.#deadlines.set(node.ID, dueMs)
      this.#trackNode(node.ID)
    }
    this.#armTimer()
  }

  /** No node is marked after this: a stopping server closes the channels of healthy nodes. */
  stop(): void {
    this.#isStopped = true
    this.#unsubscribe()
    this.#cancelTimer()
    this.#cancelAdmission?.()
  }

  /** Current heartbeat interval. */
  get heartbeatIntervalMs(): number {
    return heartbeatIntervalMs(this.#options.store.tables.nodes.size, this.#settings)
  }

  /** Records a message of the node. */
  recordHeartbeat(nodeId: string): void {
    if (this.#isStopped) return
    const dueMs =
      this.#options.clock.monotonicMs() + this.heartbeatIntervalMs + this.#settings.graceMs
    this.#deadlines.set(nodeId, dueMs)
    this.#armTimer()
    if (this.#initializing.has(nodeId)) this.#scheduleAdmission(nodeId)
  }

  /** Arms the timer for the next deadline, unless it is armed early enough. */
  #armTimer(): void {
    const { nextMs } = this.#deadlines
    if (nextMs === undefined || nextMs >= this.#timerMs) return
    const nowMs = this.#options.clock.monotonicMs()
    this.#cancelTimer()
    this.#timerMs = Math.max(nextMs, nowMs + MIN_CHECK_INTERVAL_MS)
    this.#cancelTimer = this.#options.clock.after(this.#timerMs - nowMs, () => {
      const lateMs = this.#options.clock.monotonicMs() - this.#timerMs
      this.#timerMs = Infinity
      if (lateMs > TIMER_DRIFT_MS_MAX) this.#extendDeadlines(lateMs)
      else this.#markOverdue()
      this.#armTimer()
    })
  }

  /**
   * The server was stalled, and heartbeats sent meanwhile are still unread; all overdue nodes get
   * more time.
   */
  #extendDeadlines(lateMs: number): void {
    const { clock, log } = this.#options
    const nowMs = clock.monotonicMs()
    const dueMs = nowMs + this.heartbeatIntervalMs + this.#settings.graceMs
    let count = 0
    for (
      let id = this.#deadlines.takeDue(nowMs);
      id !== undefined;
      id = this.#deadlines.takeDue(nowMs)
    ) {
      this.#deadlines.set(id, dueMs)
      count += 1
    }
    if (count > 0) log.warn({ lateMs, nodes: count }, 'server was stalled; deadlines extended')
  }

  #markOverdue(): void {
    const { clock, log } = this.#options
    const nowMs = clock.monotonicMs()
    for (let count = 0; count < NODES_PER_CHECK; count++) {
      const nodeId = this.#deadlines.takeDue(nowMs)
      if (nodeId === undefined) return
      try {
        this.#markMissed(nodeId)
      } catch (thrown) {
        // Storage fault: the next check finds the node overdue again.
        if (!(thrown instanceof Fault)) throw thrown
        log.warn({ nodeId, err: errorMessage(thrown) }, 'node could not be marked as missed')
        this.#deadlines.set(nodeId, nowMs + RECHECK_INTERVAL_MS)
        return
      }
    }
  }

  #markMissed(nodeId: string): void {
    const { store, clock, log } = this.#options
    const nowMs = clock.nowMs()
    const node = store.tables.nodes.find(nodeId)
    if (node === undefined) return
    const reconnectUntilMs = latestReconnectDeadlineMs(store.tables, nodeId, nowMs)
    const status = nextNodeStatus(node.Status, 'silence', {
      ...DEFAULT_STATUS_INPUTS,
      mayReconnect: reconnectUntilMs !== undefined,
    })
    if (status === 'disconnected' && reconnectUntilMs !== undefined)
      this.#deadlines.set(
        nodeId,
        clock.monotonicMs() + Math.min(reconnectUntilMs - nowMs, RECHECK_INTERVAL_MS),
      )
    if (status === node.Status) return
    log.warn({ nodeId, name: node.Name, status }, 'node missed its heartbeats')
    this.#commitLoss(node, status, nowMs)
  }

  /** Commits the node, the delayed or quarantined jobs, and their evaluations together. */
  #commitLoss(node: NodeRow, status: NodeStatus, nowMs: number): void {
    const { store, ids, log } = this.#options
    const { tables } = store
    const lost = { id: node.ID, ...this.#contactTimes(nowMs) }
    // A node that was already disconnected has no new loss.
    const isNewLoss = node.Status !== 'disconnected'
    const quarantined: NodeLossConsequence[] = []
    store.commit({
      by: 'system',
      cause: 'NodeEvent',
      changes: (stamp) => {
        const { consequences, details } = isNewLoss ? computeNodeLoss(tables, lost, stamp) : NO_LOSS
        quarantined.push(...consequences.filter(({ quarantine }) => quarantine !== undefined))
        const event = {
          subsystem: 'Heartbeat',
          message: HEARTBEAT_MISSED,
          details: { status, ...details },
        } as const
        const reason = { description: 'heartbeat missed', event }
        return withDerivedRows(tables, [
          ...withVolumeRows(
            tables,
            [put('nodes', withNodeStatus(node, status, { why: reason, stamp }))],
            stamp,
          ),
          ...nodeLossChanges(consequences, stamp, ids),
          ...nodeEvaluations(tables, node, { stamp, ids }),
        ])
      },
    })
    for (const { job, quarantine } of quarantined)
      log.warn({ namespace: job.Namespace, job: job.ID, ...quarantine }, 'job quarantined')
  }

  /** Estimated contact times of a node that has just missed its heartbeats. */
  #contactTimes(nowMs: number): Omit<LostNode, 'id'> {
    const { heartbeatIntervalMs: heartbeatMs } = this
    const { graceMs } = this.#settings
    const detectionMs = heartbeatMs + graceMs
    return { lastContactMs: nowMs - detectionMs, heartbeatDueMs: nowMs - graceMs, detectionMs }
  }

  /** Tracks status changes of nodes and reports of initializing nodes. */
  #onCommits(commits: readonly Commit[]): void {
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.table === 'nodes') this.#trackNode(row.key)
        else if (row.table === 'allocations' && this.#initializing.size > 0)
          this.#trackReport(row, commit.index)
      }
  }

  /** On every new channel a node reports all its allocations, so earlier reports count. */
  #trackNode(nodeId: string): void {
    const { tables } = this.#options.store
    if (tables.nodes.find(nodeId)?.Status !== 'initializing') this.#initializing.delete(nodeId)
    else if (!this.#initializing.has(nodeId))
      this.#initializing.set(nodeId, new Set(nonTerminalOn(tables, nodeId)))
  }

  #trackReport(row: CommittedRow, index: number): void {
    const nodeId = this.#options.store.tables.allocations.indexKeyOf('node', row.key)
    const unreported = nodeId === undefined ? undefined : this.#initializing.get(nodeId)
    if (nodeId === undefined || unreported?.has(row.key) !== true) return
    // The text is a row of that table. Changes by the servers are no reports of the node.
    if ((JSON.parse(joinRowJson(row.text)) as AllocationRow).AllocModifyIndex === index) return
    unreported.delete(row.key)
    if (unreported.size === 0) this.#scheduleAdmission(nodeId)
  }

  #scheduleAdmission(nodeId: string): void {
    this.#toAdmit.add(nodeId)
    this.#cancelAdmission ??= this.#options.clock.after(0, () => {
      this.#cancelAdmission = undefined
      const nodeIds = [...this.#toAdmit]
      this.#toAdmit.clear()
      for (const one of nodeIds) this.#admit(one)
    })
  }

  #admit(nodeId: string): void {
    const { store, log } = this.#options
    const unreported = this.#initializing.get(nodeId)
    const node = store.tables.nodes.find(nodeId)
    if (unreported === undefined || node === undefined) return
    for (const id of unreported)
      if (store.tables.allocations.indexKeyOf('live', id) === undefined) unreported.delete(id)
    const status = nextNodeStatus(node.Status, 'heartbeat', {
      ...DEFAULT_STATUS_INPUTS,
      awaitsReports: unreported.size > 0,
      hasPool: store.tables.node_pools.has(node.NodePool),
    })
    if (status !== 'ready' || node.Status === 'ready') return
    try {
      this.#commitStatus(node, status, {
        description: '',
        event: { subsystem: 'Heartbeat', message: 'Node is back and ready' },
      })
    } catch (thrown) {
      // Storage fault: the next heartbeat retries.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ nodeId, err: errorMessage(thrown) }, 'reconnected node could not be marked ready')
    }
  }

  #commitStatus(node: NodeRow, status: NodeStatus, reason: StatusReason): void {
    const { store, ids } = this.#options
    store.commit({
      by: 'system',
      cause: 'NodeEvent',
      changes: (stamp) =>
        withDerivedRows(store.tables, [
          ...withVolumeRows(
            store.tables,
            [put('nodes', withNodeStatus(node, status, { why: reason, stamp }))],
            stamp,
          ),
          ...(triggersEvaluations(node.Status, status)
            ? nodeEvaluations(store.tables, node, { stamp, ids })
            : []),
        ]),
    })
  }
}

const NO_LOSS = { consequences: [], details: {} } as const
const DEFAULT_STATUS_INPUTS = { awaitsReports: false, hasPool: true, mayReconnect: false } as const

interface StatusReason {
  readonly description: string
  readonly event: NewNodeEvent
}

function withNodeStatus(
  node: NodeRow,
  status: NodeStatus,
  { why, stamp }: { readonly why: StatusReason; readonly stamp: Stamp },
): NodeRow {
  return {
    ...node,
    Status: status,
    StatusDescription: why.description,
    StatusUpdatedAt: Math.floor(stamp.timeMs / 1000),
    Events: withNodeEvent(node.Events, why.event, stamp),
  }
}

/** Heartbeat interval and tolerance. */
interface HeartbeatSettings {
  /** Minimum interval between heartbeats of a node. */
  readonly heartbeatMsMin: number
  /** Limit for the heartbeats of all nodes; with many nodes the interval grows. */
  readonly heartbeatsPerSecondMax: number
  /** Time that a heartbeat may be late. */
  readonly graceMs: number
  /** Time for nodes to reconnect after a start of the server. */
  readonly failoverTtlMs: number
}

export function heartbeatIntervalMs(
  nodeCount: number,
  { heartbeatMsMin, heartbeatsPerSecondMax }: HeartbeatSettings,
): number {
  return Math.max(heartbeatMsMin, Math.ceil((nodeCount * 1_000) / heartbeatsPerSecondMax))
}

interface HeapEntry {
  readonly id: string
  readonly heapMs: number
}

interface DeadlineRecord {
  dueMs: number
  /** Time of its current heap entry, not later than the deadline. Other entries are stale. */
  heapMs: number
}

/**
 * Deadline heap with lazy updates: extending a deadline only updates its record; the heap entry is
 * corrected when it is popped. A heartbeat is therefore O(1).
 */
export class HeartbeatDeadlines {
  readonly #records = new Map<string, DeadlineRecord>()
  readonly #heap = new Heap<HeapEntry>((a, b) => a.heapMs - b.heapMs || compareText(a.id, b.id))

  /** Lower bound of the next deadline; undefined if there is none. */
  get nextMs(): number | undefined {
    return this.#heap.peek()?.heapMs
  }

  set(id: string, dueMs: number): void {
    const record = this.#records.get(id)
    if (record !== undefined && record.heapMs <= dueMs) {
      record.dueMs = dueMs
      return
    }
    this.#records.set(id, { dueMs, heapMs: dueMs })
    this.#heap.push({ id, heapMs: dueMs })
  }

  /** Removes and returns one that is due; undefined if none is. */
  takeDue(nowMs: number): string | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (first.heapMs > nowMs) return undefined
      this.#heap.pop()
      const { id, heapMs } = first
      const record = this.#records.get(id)
      if (record?.heapMs !== heapMs) continue
      if (record.dueMs <= nowMs) {
        this.#records.delete(id)
        return id
      }
      record.heapMs = record.dueMs
      this.#heap.push({ id, heapMs: record.dueMs })
    }
    return undefined
  }
}
