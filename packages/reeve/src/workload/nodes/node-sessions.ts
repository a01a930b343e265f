import type { DesiredAllocation, ServerMessage } from '@reeve/contract'
import { allocationRecord, type AllocationRow } from '../../model/index.ts'
import { jobVersionKey, type Commit, type Store } from '../../state/index.ts'

/** The server's end of one node's channel. */
export interface NodeSession {
  readonly nodeId: string
  send(message: ServerMessage): void
  /** Another channel of the same node took over. */
  close(): void
}

/**
 * Allocations in one message: far below the channel's limit even with large jobs (a job is at most
 * 4 MiB).
 */
const ALLOCATIONS_PER_MESSAGE = 200
const MESSAGE_CHARS_TARGET = 2 * 1024 * 1024

/** The nodes that are connected here, each told what it should run as soon as that is durable. */
export class NodeSessions {
  readonly #store: Store
  readonly #sessions = new Map<string, NodeSession>()
  readonly #unsubscribe: () => void

  constructor(store: Store) {
    this.#store = store
    this.#unsubscribe = store.log.subscribe((commits) => this.#forward(commits))
  }

  get size(): number {
    return this.#sessions.size
  }

  isConnected(nodeId: string): boolean {
    return this.#sessions.has(nodeId)
  }

  /** Begins to serve a node that has been welcomed: everything first, changes from then on. */
  attach(session: NodeSession): void {
    this.#sessions.get(session.nodeId)?.close()
    this.#sessions.set(session.nodeId, session)
    const rows = this.#store.tables.allocations.rowsIn('node', session.nodeId)
    this.#send(session, { full: true, index: this.#store.durableIndex, rows, removed: [] })
  }

  detach(session: NodeSession): void {
    if (this.#sessions.get(session.nodeId) === session) this.#sessions.delete(session.nodeId)
  }

  close(): void {
    this.#unsubscribe()
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
  }

  /** Changes by the servers only: what the node itself reported it knows. */
  #forward(commits: readonly Commit[]): void {
    const { allocations } = this.#store.tables
    const changed = new Map<string, Set<string>>()
    const removed = new Map<string, Set<string>>()
    for (const commit of commits)
      for (const row of commit.rows) {
        // A node that was forgotten has to join anew.
        if (row.table === 'nodes' && row.header === undefined) this.#sessions.get(row.key)?.close()
        if (row.table !== 'allocations') continue
        // A deleted row's last text still names its node.
        const { NodeID, AllocModifyIndex } =
          allocations.find(row.key) ?? (JSON.parse(row.body) as AllocationRow)
        if (!this.#sessions.has(NodeID)) continue
        if (row.header === undefined) addTo(removed, NodeID, row.key)
        else if (AllocModifyIndex === commit.index) addTo(changed, NodeID, row.key)
      }
    for (const nodeId of new Set([...changed.keys(), ...removed.keys()])) {
      const session = this.#sessions.get(nodeId)
      if (session === undefined) continue
      const rows = [...(changed.get(nodeId) ?? [])].flatMap((id) => allocations.find(id) ?? [])
      const gone = [...(removed.get(nodeId) ?? [])]
      this.#send(session, { full: false, index: commits.at(-1)?.index ?? 0, rows, removed: gone })
    }
  }

  #send(session: NodeSession, desired: Desired): void {
    const { full, index, removed } = desired
    const all = desired.rows.flatMap((row) => this.#desiredOf(row))
    const parts = inParts(all)
    parts.forEach((allocations, i) => {
      const last = i === parts.length - 1
      session.send({
        kind: 'desired',
        full,
        more: !last,
        index,
        allocations,
        removed: last ? [...removed] : [],
      })
    })
  }

  #desiredOf(row: AllocationRow): DesiredAllocation[] {
    const job = this.#store.tables.job_versions.find(
      jobVersionKey(row.Namespace, row.JobID, row.JobVersion),
    )
    return job === undefined ? [] : [{ allocation: allocationRecord(row), job }]
  }
}

interface Desired {
  readonly full: boolean
  readonly index: number
  readonly rows: readonly AllocationRow[]
  readonly removed: readonly string[]
}

/** At least one part, so that an empty listing is said too. */
function inParts(all: readonly DesiredAllocation[]): DesiredAllocation[][] {
  const parts: DesiredAllocation[][] = [[]]
  let chars = 0
  for (const one of all) {
    const size = JSON.stringify(one).length
    const part = parts.at(-1) ?? []
    if (
      part.length >= ALLOCATIONS_PER_MESSAGE ||
      (part.length > 0 && chars + size > MESSAGE_CHARS_TARGET)
    ) {
      parts.push([one])
      chars = size
    } else {
      part.push(one)
      chars += size
    }
  }
  return parts
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}
