import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { formatTraceparent, type Tracer } from '@reeve/kit/trace.ts'
import type { AllocationRow } from '../../model/index.ts'
import { wholeText, type Commit, type CommittedRow, type Store } from '../../state/index.ts'
import { desiredTexts, JobTexts, type Desired } from './desired-texts.ts'

/** The server's end of one node's channel. */
export interface NodeSession {
  readonly nodeId: string
  /** A message as the channel carries it (contract: ServerMessage). */
  send(text: StringChunks): void
  /** Whether the node's end still answers; who cannot be asked gives way to another channel. */
  answers?(): Promise<boolean>
  /**
   * Another channel of the same node took over, or the node has to say hello anew. With a reason
   * the node is refused.
   */
  close(reason?: string): void
}

/**
 * Nodes that are told what changed before others get their turn. While there is more to tell, what
 * comes for a node that waits goes into the same message: writing to thousands of connections for
 * one allocation each costs more than all else that placing them does (bench/cluster.bench.ts).
 */
const NODES_PER_TURN = 64

/** The nodes that are connected here, each told what it should run as soon as that is durable. */
export class NodeSessions {
  readonly #store: Store
  readonly #later: Later
  readonly #tracer: Pick<Tracer, 'recall'> | undefined
  readonly #sessions = new Map<string, NodeSession>()
  /** Nodes that have been connected here, also those that have left. */
  readonly #seen = new Set<string>()
  readonly #unsubscribe: () => void
  readonly #revocationListeners = new Set<(nodeId: string) => void>()
  /** Nodes that have yet to be told something, the one that has waited longest first. */
  readonly #waiting = new Map<string, NodeChanges>()
  /** Nodes whose listing is not durable yet; what changes meanwhile is told after it. */
  readonly #listing = new Set<string>()
  #isDrainDue = false

  /** `later` runs work after everything that has arrived meanwhile. */
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
   * Whether a node that is not connected is on its way back: it was not connected here yet, and its
   * last heartbeat to the server before this one has not expired.
   */
  isExpected(nodeId: string): boolean {
    return !this.#seen.has(nodeId) && this.#store.tables.nodes.find(nodeId)?.Status === 'ready'
  }

  /** Calls the listener with each node that is revoked, as soon as that is durable. */
  onRevoked(listener: (nodeId: string) => void): () => void {
    this.#revocationListeners.add(listener)
    return () => this.#revocationListeners.delete(listener)
  }

  /** The channel of a node that is connected here. */
  find(nodeId: string): NodeSession | undefined {
    return this.#sessions.get(nodeId)
  }

  /** Begins to serve a node that has been welcomed: everything first, changes from then on. */
  attach(session: NodeSession): void {
    const { nodeId } = session
    // Given up or purged while its hello was being written: it has to say it again.
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
      // The storage has failed: the node says hello again when somebody can write.
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

  /** Changes by the servers only: what the node itself reported it knows. */
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
   * A node that was forgotten has to join anew. One that was given up and still has a channel says
   * hello on a new one, and there how all its allocations are.
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
   * Tells those who have waited longest; the others get their turn in the next one. Who cannot be
   * told yet because something is not durable is told when it is: each write ends here.
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
      // Nobody may be told of it yet.
      else this.#changesOf(nodeId).changed.add(id)
    }
    if (rows.length + removed.size > 0)
      this.#send(session, { full: false, index: durableIndex, rows, removed: [...removed] }, jobs)
  }

  #send(session: NodeSession, desired: Desired, jobs = new JobTexts(this.#store.tables)): void {
    const traces = this.#tracesOf(desired.rows)
    for (const text of desiredTexts(jobs, { ...desired, traces })) session.send(text)
  }

  /** Of allocations that a node may start because of it. */
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

/** A deleted row's last text still names its node; so does that of a row deleted since. */
function lastNodeOf({ text }: CommittedRow): string {
  // The text of a row of that table.
  return (JSON.parse(wholeText(text)) as AllocationRow).NodeID
}

type Later = (work: () => void) => void

interface NodeChanges {
  readonly changed: Set<string>
  readonly removed: Set<string>
}
