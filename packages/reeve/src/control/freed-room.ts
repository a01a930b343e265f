import type { Evaluation } from '@reeve/contract'
import { isClientTerminal } from '../model/index.ts'
import type { CommittedRow, Tables } from '../state/index.ts'

/**
 * Tracks where capacity may have been freed since blocked evaluations were last queued: node
 * classes, or everywhere.
 */
export class UnblockTracker {
  readonly #tables: Tables
  readonly #nodeClasses = new Set<string>()
  #isEverywhere = false

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Records a written row; returns true if it may have freed capacity. */
  record({ table, key }: CommittedRow): boolean {
    if (table === 'settings' || table === 'node_pools') return this.recordAll()
    if (table === 'nodes') return this.#recordNode(key)
    if (table === 'host_volumes') return this.#recordVolume(key)
    if (table !== 'allocations') return false
    const row = this.#tables.allocations.find(key)
    return row !== undefined && isClientTerminal(row) && this.#recordNode(row.NodeID)
  }

  recordAll(): true {
    this.#isEverywhere = true
    return true
  }

  /** Returns the blocked evaluations that may succeed now, and resets the tracker. */
  takeUnblocked(): readonly Evaluation[] {
    const classes = [...this.#nodeClasses]
    const isEverywhere = this.#isEverywhere
    this.#nodeClasses.clear()
    this.#isEverywhere = false
    return this.#tables.evaluations
      .rowsByIndex('status', 'blocked')
      .filter((row) => isEverywhere || classes.some((one) => isClassEligible(row, one)))
  }

  /** Records a volume that became ready or was changed. */
  #recordVolume(key: string): boolean {
    const volume = this.#tables.host_volumes.find(key)
    return volume?.State === 'ready' && this.#recordNode(volume.NodeID)
  }

  #recordNode(nodeId: string): boolean {
    const node = this.#tables.nodes.find(nodeId)
    if (node?.Status !== 'ready') return false
    this.#nodeClasses.add(node.ComputedClass)
    return true
  }
}

/**
 * True if nodes of the class may be eligible; classes that were unknown when it blocked count as
 * eligible.
 */
function isClassEligible(
  { EscapedComputedClass, ClassEligibility }: Evaluation,
  nodeClass: string,
): boolean {
  return EscapedComputedClass || ClassEligibility?.[nodeClass] !== false
}
