import type { NodeStatus } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  isStatusNews,
  nextNodeStatus,
  withNodeEvent,
  type AllocationRow,
  type NewNodeEvent,
  type NodeRow,
} from '../model/index.ts'
import {
  nodeEvaluations,
  put,
  wholeText,
  withJobRows,
  withVolumeRows,
  type Commit,
  type CommittedRow,
  type Stamp,
  type Store,
} from '../state/index.ts'
import type { ControlLog } from './control-log.ts'
import { Deadlines } from './presence/deadlines.ts'
import type { JobConsequence, LostNode } from './presence/decide-node-loss.ts'
import { liveOn, returnUntilMs } from './presence/node-facts.ts'
import { HEARTBEAT_MISSED, nodeLoss, nodeLossRows } from './presence/node-loss-rows.ts'
import { DEFAULT_PRESENCE, heartbeatMsFor, type PresenceSettings } from './presence/settings.ts'

/** Between two heartbeats of a node, unless the settings or the number of nodes say otherwise. */
export const HEARTBEAT_MS = DEFAULT_PRESENCE.heartbeatMsMin
/** Between two looks at whose time has come. */
const CHECK_MS_MIN = 50
/** A look that comes later than this says of the server, not of nodes, that it was not there. */
const LATE_MS_MAX = 1_000
/** Nodes given up in one turn; when a network breaks, others must get theirs in between. */
const NODES_PER_TURN = 50
/** How often a disconnected node is asked whether anything on it can still come back. */
const RECHECK_MS = 30_000

export interface PresenceOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: ControlLog
  readonly settings?: PresenceSettings
}

/**
 * Who is there. A node that was silent too long is down, or disconnected while something on it may
 * come back; one that is back is ready when it has said how its allocations are. What it decides
 * from is in the state; who spoke when is in memory only.
 */
export class Presence {
  readonly #options: PresenceOptions
  readonly #settings: PresenceSettings
  readonly #deadlines = new Deadlines()
  /** Initializing nodes, each with the allocations that it has not spoken of since it is back. */
  readonly #returning = new Map<string, Set<string>>()
  /** Of those, the ones that have said something. */
  readonly #spoke = new Set<string>()
  #armedMs = Infinity
  #cancelTimer: () => void = () => undefined
  #cancelAdmission: (() => void) | undefined
  #unsubscribe: () => void = () => undefined
  #isStopped = false

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#settings = options.settings ?? DEFAULT_PRESENCE
  }

  /** Nobody has been heard yet: whoever was there gets the time to come back. */
  start(): void {
    const { store, clock } = this.#options
    this.#unsubscribe = store.log.subscribe((commits) => this.#follow(commits))
    const dueMs = clock.monotonicMs() + this.#settings.returnMs
    for (const node of store.tables.nodes.rows()) {
      if (node.Status !== 'down') this.#deadlines.set(node.ID, dueMs)
      this.#noteNode(node.ID)
    }
    this.#arm()
  }

  /** Nobody is given up from here on: whoever stops hangs up on nodes that are well. */
  stop(): void {
    this.#isStopped = true
    this.#unsubscribe()
    this.#cancelTimer()
    this.#cancelAdmission?.()
  }

  /** How long a node may wait before it speaks again. */
  get heartbeatMs(): number {
    return heartbeatMsFor(this.#options.store.tables.nodes.size, this.#settings)
  }

  /** The node said something. */
  seen(nodeId: string): void {
    if (this.#isStopped) return
    const dueMs = this.#options.clock.monotonicMs() + this.heartbeatMs + this.#settings.graceMs
    this.#deadlines.set(nodeId, dueMs)
    this.#arm()
    if (this.#returning.has(nodeId)) this.#admitSoon(nodeId)
  }

  /** Wakes when the next time comes; a wake that is set already is kept if it is early enough. */
  #arm(): void {
    const { nextMs } = this.#deadlines
    if (nextMs === undefined || nextMs >= this.#armedMs) return
    const nowMs = this.#options.clock.monotonicMs()
    this.#cancelTimer()
    this.#armedMs = Math.max(nextMs, nowMs + CHECK_MS_MIN)
    this.#cancelTimer = this.#options.clock.after(this.#armedMs - nowMs, () => {
      const lateMs = this.#options.clock.monotonicMs() - this.#armedMs
      this.#armedMs = Infinity
      if (lateMs > LATE_MS_MAX) this.#hearAgain(lateMs)
      else this.#giveUpSilent()
      this.#arm()
    })
  }

  /**
   * This server was paused, or had no processor: nodes spoke meanwhile and were not heard. What
   * they said is read after this turn, and whoever hung up dials again; all get time for that.
   */
  #hearAgain(lateMs: number): void {
    const { clock, log } = this.#options
    const nowMs = clock.monotonicMs()
    const dueMs = nowMs + this.heartbeatMs + this.#settings.graceMs
    let count = 0
    for (let id = this.#deadlines.take(nowMs); id !== undefined; id = this.#deadlines.take(nowMs)) {
      this.#deadlines.set(id, dueMs)
      count += 1
    }
    if (count > 0) log.warn({ lateMs, nodes: count }, 'this server was paused; nodes get more time')
  }

  #giveUpSilent(): void {
    const { clock, log } = this.#options
    const nowMs = clock.monotonicMs()
    for (let count = 0; count < NODES_PER_TURN; count++) {
      const nodeId = this.#deadlines.take(nowMs)
      if (nodeId === undefined) return
      try {
        this.#giveUp(nodeId)
      } catch (thrown) {
        // The storage has failed. Another round finds the node as silent as this one did.
        if (!(thrown instanceof Fault)) throw thrown
        log.warn({ nodeId, err: errorMessage(thrown) }, 'silent node not marked')
        this.#deadlines.set(nodeId, nowMs + RECHECK_MS)
        return
      }
    }
  }

  #giveUp(nodeId: string): void {
    const { store, clock, log } = this.#options
    const nowMs = clock.nowMs()
    const node = store.tables.nodes.find(nodeId)
    if (node === undefined) return
    const untilMs = returnUntilMs(store.tables, nodeId, nowMs)
    const status = nextNodeStatus(node.Status, 'silence', {
      ...NOTHING_AWAITED,
      mayReconnect: untilMs !== undefined,
    })
    if (status === 'disconnected' && untilMs !== undefined)
      this.#deadlines.set(nodeId, clock.monotonicMs() + Math.min(untilMs - nowMs, RECHECK_MS))
    if (status === node.Status) return
    log.warn({ nodeId, name: node.Name, status }, 'node missed its heartbeats')
    this.#writeLoss(node, status, nowMs)
  }

  /** One commit: the node, the jobs that are delayed or quarantined, and their evaluations. */
  #writeLoss(node: NodeRow, status: NodeStatus, nowMs: number): void {
    const { store, ids, log } = this.#options
    const { tables } = store
    const lost = { id: node.ID, ...this.#contactOf(nowMs) }
    // A node that was disconnected before has lost nothing more.
    const isNew = node.Status !== 'disconnected'
    const quarantined: JobConsequence[] = []
    store.commit({
      by: 'system',
      cause: 'NodeEvent',
      changes: (stamp) => {
        const { consequences, details } = isNew ? nodeLoss(tables, lost, stamp) : NO_LOSS
        quarantined.push(...consequences.filter(({ quarantine }) => quarantine !== undefined))
        const event = {
          subsystem: 'Heartbeat',
          message: HEARTBEAT_MISSED,
          details: { status, ...details },
        } as const
        const why = { description: 'heartbeat missed', event }
        return withJobRows(tables, [
          ...withVolumeRows(
            tables,
            [put('nodes', withStatus(node, status, { why, stamp }))],
            stamp,
          ),
          ...nodeLossRows(consequences, stamp, ids),
          ...nodeEvaluations(tables, node, { stamp, ids }),
        ])
      },
    })
    for (const { job, quarantine } of quarantined)
      log.warn({ namespace: job.Namespace, job: job.ID, ...quarantine }, 'job quarantined')
  }

  /** When a node whose time has just run out was last heard of, as far as that is known. */
  #contactOf(nowMs: number): Omit<LostNode, 'id'> {
    const { heartbeatMs } = this
    const { graceMs } = this.#settings
    const noticeMs = heartbeatMs + graceMs
    return { lastContactMs: nowMs - noticeMs, heartbeatDueMs: nowMs - graceMs, noticeMs }
  }

  /** Whatever became of nodes and of allocations on nodes that are coming back. */
  #follow(commits: readonly Commit[]): void {
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.table === 'nodes') this.#noteNode(row.key)
        else if (row.table === 'allocations' && this.#returning.size > 0)
          this.#noteReport(row, commit.index)
      }
  }

  /** On every channel a node says anew how all its allocations are: what it said before counts. */
  #noteNode(nodeId: string): void {
    const { tables } = this.#options.store
    if (tables.nodes.find(nodeId)?.Status !== 'initializing') this.#returning.delete(nodeId)
    else if (!this.#returning.has(nodeId))
      this.#returning.set(nodeId, new Set(liveOn(tables, nodeId)))
  }

  #noteReport(row: CommittedRow, index: number): void {
    const nodeId = this.#options.store.tables.allocations.groupOf('node', row.key)
    const awaited = nodeId === undefined ? undefined : this.#returning.get(nodeId)
    if (nodeId === undefined || awaited?.has(row.key) !== true) return
    // The text of a row of that table. What the servers wrote themselves is no word of the node.
    if ((JSON.parse(wholeText(row.text)) as AllocationRow).AllocModifyIndex === index) return
    awaited.delete(row.key)
    if (awaited.size === 0) this.#admitSoon(nodeId)
  }

  #admitSoon(nodeId: string): void {
    this.#spoke.add(nodeId)
    this.#cancelAdmission ??= this.#options.clock.after(0, () => {
      this.#cancelAdmission = undefined
      const spoke = [...this.#spoke]
      this.#spoke.clear()
      for (const one of spoke) this.#admit(one)
    })
  }

  #admit(nodeId: string): void {
    const { store, log } = this.#options
    const awaited = this.#returning.get(nodeId)
    const node = store.tables.nodes.find(nodeId)
    if (awaited === undefined || node === undefined) return
    for (const id of awaited)
      if (store.tables.allocations.groupOf('live', id) === undefined) awaited.delete(id)
    const status = nextNodeStatus(node.Status, 'heartbeat', {
      ...NOTHING_AWAITED,
      awaitsReports: awaited.size > 0,
      hasPool: store.tables.node_pools.has(node.NodePool),
    })
    if (status !== 'ready' || node.Status === 'ready') return
    try {
      this.#write(node, status, {
        description: '',
        event: { subsystem: 'Heartbeat', message: 'Node is back and ready' },
      })
    } catch (thrown) {
      // The storage has failed; its next heartbeat asks again.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ nodeId, err: errorMessage(thrown) }, 'node that is back not marked ready')
    }
  }

  #write(node: NodeRow, status: NodeStatus, why: StatusReason): void {
    const { store, ids } = this.#options
    store.commit({
      by: 'system',
      cause: 'NodeEvent',
      changes: (stamp) =>
        withJobRows(store.tables, [
          ...withVolumeRows(
            store.tables,
            [put('nodes', withStatus(node, status, { why, stamp }))],
            stamp,
          ),
          ...(isStatusNews(node.Status, status)
            ? nodeEvaluations(store.tables, node, { stamp, ids })
            : []),
        ]),
    })
  }
}

const NO_LOSS = { consequences: [], details: {} } as const
const NOTHING_AWAITED = { awaitsReports: false, hasPool: true, mayReconnect: false } as const

interface StatusReason {
  readonly description: string
  readonly event: NewNodeEvent
}

function withStatus(
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
