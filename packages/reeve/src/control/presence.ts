import type { Clock, IdSource } from '../kit/clock.ts'
import { Fault, messageOf } from '../kit/fault.ts'
import { withNodeEvent, type NodeRow } from '../model/index.ts'
import { nodeEvaluations, put, type Stamp, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** How often a node says that it is there, and how long it may be silent. */
export const HEARTBEAT_MS = 5_000
const SILENCE_MS_MAX = 20_000
/**
 * After a start nobody has been heard yet; nodes get this long to come back (reference: failover
 * TTL).
 */
const RETURN_MS_MAX = 60_000
const CHECK_EVERY_MS = 1_000

export interface PresenceOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: ControlLog
}

/** Who is there. A node that was silent too long is down, and its jobs are evaluated. */
export class Presence {
  readonly #options: PresenceOptions
  /** Until when each ready node counts as there. Rebuilt at every start. */
  readonly #deadlines = new Map<string, number>()
  #cancelTimer: () => void = () => undefined

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  start(): void {
    const { store, clock } = this.#options
    for (const node of store.tables.nodes.rows())
      if (node.Status === 'ready') this.#deadlines.set(node.ID, clock.nowMs() + RETURN_MS_MAX)
    this.#arm()
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** The node said something. */
  seen(nodeId: string): void {
    this.#deadlines.set(nodeId, this.#options.clock.nowMs() + SILENCE_MS_MAX)
  }

  #arm(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.#arm()
      this.#markSilent()
    })
  }

  #markSilent(): void {
    const nowMs = this.#options.clock.nowMs()
    for (const [nodeId, deadlineMs] of this.#deadlines) {
      if (deadlineMs > nowMs) continue
      try {
        this.#markDown(nodeId)
      } catch (thrown) {
        // The storage has failed. The node stays in the list, so the next round tries again.
        if (!(thrown instanceof Fault)) throw thrown
        this.#options.log.warn({ nodeId, err: messageOf(thrown) }, 'silent node not marked down')
        return
      }
      this.#deadlines.delete(nodeId)
    }
  }

  #markDown(nodeId: string): void {
    const { store, ids, log } = this.#options
    const node = store.tables.nodes.find(nodeId)
    if (node === undefined || node.Status !== 'ready') return
    log.warn({ nodeId, name: node.Name }, 'node missed its heartbeats and is down')
    store.commit({
      cause: 'NodeEvent',
      changes: (stamp) => [
        put('nodes', downRow(node, stamp)),
        ...nodeEvaluations(store.tables, node, { stamp, ids }),
      ],
    })
  }
}

function downRow(node: NodeRow, stamp: Stamp): NodeRow {
  const event = { subsystem: 'Cluster', message: 'Node heartbeat missed' } as const
  return {
    ...node,
    Status: 'down',
    StatusDescription: 'heartbeat missed',
    StatusUpdatedAt: Math.floor(stamp.timeMs / 1000),
    Events: withNodeEvent(node.Events, event, stamp),
  }
}
