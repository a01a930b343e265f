import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { formatTraceparent, type Tracer } from '@reeve/kit/trace.ts'
import type { AllocationRow } from '../../model/index.ts'
import { wholeText, type Commit, type CommittedRow, type Store } from '../../state/index.ts'
import { desiredTexts, JobTexts, type Desired } from './desired-texts.ts'

/** The server's side of one node's channel. */
export interface NodeSession {
  readonly nodeId: string
  /** Sends a message of the channel (contract: ServerMessage). */
  send(text: StringChunks): void
  /**
   * Reports whether the node still responds; without this check a new channel replaces the session.
   */
  answers?(): Promise<boolean>
  /**
   * Closes the session because another channel of the same node has replaced it, or the node must
   * send a new hello. With a reason the node is refused.
   */
  close(reason?: string): void
}

/**
 * Number of nodes that are sent changes before the event loop is yielded. Meanwhile further changes
 * for a waiting node are merged into one message: writing to thousands of connections for one
 * allocation each costs more than everything else in placing them (bench/cluster.bench.ts).
 */
const NODES_PER_TURN = 64

/** The connected nodes; each receives changes of its desired state as soon as they are durable. */
export class NodeSessions {
  readonly #store: Store
  readonly #later: Later
  readonly #tracer: Pick<Tracer, 'recall'> | undefined
  readonly #sessions = new Map<string, NodeSession>()
  /** Nodes that have been connected to this server, including those that have disconnected. */
  readonly #seen = new Set<string>()
  readonly #unsubscribe: () => void
  readonly #revocationListeners = new Set<(nodeId: string) => void>()
  /** Changes of nodes that wait to be sent, in the order of waiting. */
  readonly #waiting = new Map<string, NodeChanges>()
  /** Nodes whose full listing is not durable yet; later changes are sent after it. */
  readonly #listing = new Set<string>()
  #isDrainDue = false

  /** `later` schedules work after all I/O that has arrived meanwhile. */
  constructor(store: Store, later: Later = setImmediate, tracer?: Pick<Tracer, 'recall'>) {
    this.#store = store
    this.#later = later
    this.#tracer = tracer
    this.#unsubscribe = store.log.subscribe((commits) => this.#forward(commits))
  }

  get size(): number {
    return this.#sessions.size
  }

  isConnected(nodeId: string): boolean {
    return this.#sessions.has(nodeId)
  }

  /**
   * Reports whether a disconnected node is expected to reconnect: it has not been connected to this
   * server yet, and its last heartbeat to the previous one has not expired.
   */
  isExpected(nodeId: string): boolean {
    return !this.#seen.has(nodeId) && this.#store.tables.nodes.find(nodeId)?.Status === 'ready'
  }

  /** Calls the listener with each revoked node, as soon as the revocation is durable. */
  onRevoked(listener: (nodeId: string) => void): () => void {
    this.#revocationListeners.add(listener)
    return () => this.#revocationListeners.delete(listener)
  }

  /** Returns the session of a connected node. */
  find(nodeId: string): NodeSession | undefined {
    return this.#sessions.get(nodeId)
  }

  /** Starts serving a node after its welcome: the full state first, then changes. */
  attach(session: NodeSession): void {
    const { nodeId } = session
    // The node was marked down or purged while its hello was being committed: it must send another
    // one.
    if (this.#isGone(nodeId)) return session.close(this.#revokedText(nodeId))
    this.#sessions.get(nodeId)?.close()
    this.#sessions.set(nodeId, session)
    this.#seen.add(nodeId)
    this.#waiting.delete(nodeId)
    this.#listing.delete(nodeId)
    const { index, durableIndex, tables } = this.#store
    const rows = tables.allocations.rowsIn('node', nodeId)
    const listing = { full: true, index, rows, removed: [] }
    if (index === durableIndex) return this.#send(session, listing)
    this.#listing.add(nodeId)
    this.#store.settled().then(
      () => this.#list(session, listing),
      // The storage has failed: the node sends hello again once writes succeed.
      () => session.close(),
    )
  }

  #list(session: NodeSession, listing: Desired): void {
    if (this.#sessions.get(session.nodeId) !== session) return
    this.#listing.delete(session.nodeId)
    this.#send(session, listing)
    if (!this.#isDrainDue) this.#drain()
  }

  detach(session: NodeSession): void {
    const { nodeId } = session
    if (this.#sessions.get(nodeId) !== session) return
    this.#sessions.delete(nodeId)
    this.#waiting.delete(nodeId)
    this.#listing.delete(nodeId)
  }

  close(): void {
    this.#unsubscribe()
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
    this.#waiting.clear()
    this.#listing.clear()
  }

  /**
   * Forwards changes made by servers only: the node knows the state that it has reported itself.
   */
  #forward(commits: readonly Commit[]): void {
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.table === 'node_revocations' && row.header !== undefined) this.#shutOut(row.key)
        if (row.table === 'nodes' && this.#isGone(row.key))
          this.#sessions.get(row.key)?.close(this.#revokedText(row.key))
        if (row.table === 'allocations') this.#note(commit, row)
      }
    if (!this.#isDrainDue) this.#drain()
  }

  #shutOut(nodeId: string): void {
    this.#sessions.get(nodeId)?.close(this.#revokedText(nodeId))
    for (const listener of this.#revocationListeners) listener(nodeId)
  }

  #revokedText(nodeId: string): string | undefined {
    const isRevoked = this.#store.tables.node_revocations.has(nodeId)
    return isRevoked ? `node ${nodeId} was revoked by an operator` : undefined
  }

  /**
   * Reports whether a session is invalid. A purged node must join again. A node that was marked
   * down must send hello on a new channel, with the status of all its allocations.
   */
  #isGone(nodeId: string): boolean {
    const status = this.#store.tables.nodes.find(nodeId)?.Status
    return status !== 'ready' && status !== 'initializing'
  }

  #note(commit: Commit, row: CommittedRow): void {
    const { allocations } = this.#store.tables
    const nodeId = allocations.groupOf('node', row.key) ?? lastNodeOf(row)
    if (!this.#sessions.has(nodeId)) return
    if (row.header === undefined) this.#changesOf(nodeId).removed.add(row.key)
    else if (allocations.find(row.key)?.AllocModifyIndex === commit.index)
      this.#changesOf(nodeId).changed.add(row.key)
  }

  #changesOf(nodeId: string): NodeChanges {
    const known = this.#waiting.get(nodeId)
    if (known !== undefined) return known
    const changes = { changed: new Set<string>(), removed: new Set<string>() }
    this.#waiting.set(nodeId, changes)
    return changes
  }

  /**
   * Sends changes to the nodes that have waited longest; the others follow in the next tick.
   * Changes that are not durable yet are skipped: each completed write calls this again.
   */
  #drain(): void {
    this.#isDrainDue = false
    let unseen = this.#waiting.size
    let told = 0
    const jobs = new JobTexts(this.#store.tables)
    for (const [nodeId, changes] of this.#waiting) {
      if (unseen-- === 0 || told === NODES_PER_TURN) break
      if (this.#listing.has(nodeId)) continue
      this.#waiting.delete(nodeId)
      this.#tell(nodeId, changes, jobs)
      told += 1
    }
    if (told < NODES_PER_TURN || this.#waiting.size === 0) return
    this.#isDrainDue = true
    this.#later(() => this.#drain())
  }

  #tell(nodeId: string, { changed, removed }: NodeChanges, jobs: JobTexts): void {
    const session = this.#sessions.get(nodeId)
    if (session === undefined) return
    const { tables, durableIndex } = this.#store
    const rows: AllocationRow[] = []
    for (const id of changed) {
      const row = tables.allocations.find(id)
      if (row === undefined) continue
      if (row.ModifyIndex <= durableIndex) rows.push(row)
      // Not durable yet: keep the change.
      else this.#changesOf(nodeId).changed.add(id)
    }
    if (rows.length + removed.size > 0)
      this.#send(session, { full: false, index: durableIndex, rows, removed: [...removed] }, jobs)
  }

  #send(session: NodeSession, desired: Desired, jobs = new JobTexts(this.#store.tables)): void {
    const traces = this.#tracesOf(desired.rows)
    for (const text of desiredTexts(jobs, { ...desired, traces })) session.send(text)
  }

  /** Returns the traces of allocations that the node may start now. */
  #tracesOf(rows: readonly AllocationRow[]): Desired['traces'] {
    if (this.#tracer === undefined) return undefined
    const traces: Record<string, string> = {}
    for (const { ID: id, ClientStatus: status } of rows) {
      const context = status === 'pending' ? this.#tracer.recall(id) : undefined
      if (context?.isSampled === true) traces[id] = formatTraceparent(context)
    }
    return Object.keys(traces).length === 0 ? undefined : traces
  }
}

/** Returns the node of a deleted row, from its last text, also if the row was deleted since. */
function lastNodeOf({ text }: CommittedRow): string {
  // The text of a row of that table.
  return (JSON.parse(wholeText(text)) as AllocationRow).NodeID
}

type Later = (work: () => void) => void

interface NodeChanges {
  readonly changed: Set<string>
  readonly removed: Set<string>
}
