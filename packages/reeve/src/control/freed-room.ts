import type { Evaluation } from '@reeve/contract'
import { isClientTerminal } from '../model/index.ts'
import type { CommittedRow, Tables } from '../state/index.ts'

/**
 * Where room may have come free since blocked evaluations were last looked at: the classes of the
 * nodes concerned, or anywhere.
 */
export class FreedRoom {
  readonly #tables: Tables
  readonly #classes = new Set<string>()
  #isAnywhere = false

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Takes note of a row that was written; true when it may have made room. */
  note({ table, key }: CommittedRow): boolean {
    if (table === 'settings' || table === 'node_pools') return this.noteAnywhere()
    if (table === 'nodes') return this.#noteNode(key)
    if (table === 'host_volumes') return this.#noteVolume(key)
    if (table !== 'allocations') return false
    const row = this.#tables.allocations.find(key)
    return row !== undefined && isClientTerminal(row) && this.#noteNode(row.NodeID)
  }

  noteAnywhere(): true {
    this.#isAnywhere = true
    return true
  }

  /** The blocked evaluations that may find room now. Forgets what was noted. */
  takeConcerned(): readonly Evaluation[] {
    const classes = [...this.#classes]
    const isAnywhere = this.#isAnywhere
    this.#classes.clear()
    this.#isAnywhere = false
    return this.#tables.evaluations
      .rowsIn('status', 'blocked')
      .filter((row) => isAnywhere || classes.some((one) => mayUse(row, one)))
  }

  /** Notes a volume that is ready, because it is new or was changed. */
  #noteVolume(key: string): boolean {
    const volume = this.#tables.host_volumes.find(key)
    return volume?.State === 'ready' && this.#noteNode(volume.NodeID)
  }

  #noteNode(nodeId: string): boolean {
    const node = this.#tables.nodes.find(nodeId)
    if (node?.Status !== 'ready') return false
    this.#classes.add(node.ComputedClass)
    return true
  }
}

/** A class that was not there when it was blocked may do. */
function mayUse(
  { EscapedComputedClass, ClassEligibility }: Evaluation,
  nodeClass: string,
): boolean {
  return EscapedComputedClass || ClassEligibility?.[nodeClass] !== false
}
