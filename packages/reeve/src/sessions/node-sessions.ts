import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { formatTraceparent, type Tracer } from '@reeve/kit/trace.ts'
import { type AllocationRow, assignedAllocation } from '../model/index.ts'
import {
  isRestore,
  joinRowJson,
  type Commit,
  type CommittedRow,
  type Store,
  jobVersionKey,
  type Tables,
} from '../state/index.ts'

/** The server's side of one node's channel. */
export interface NodeSession {
  readonly nodeId: string
  /** Sends a message of the channel (contract: ServerMessage). */
  send(text: StringChunks): void
  /**
   * Reports whether the node still responds; without this check a new channel replaces the session.
   */
  ping?(): Promise<boolean>
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
const NODES_PER_TICK = 64

/** The connected nodes; each receives changes of its desired state as soon as they are durable. */
export class NodeSessions {
  readonly #store: Store
  readonly #schedule: Schedule
  readonly #tracer: Pick<Tracer, 'recall'> | undefined
  readonly #sessions = new Map<string, NodeSession>()
  /** Nodes that have been connected to this server, including those that have disconnected. */
  readonly #everConnected = new Set<string>()
  readonly #unsubscribe: () => void
  readonly #revocationListeners = new Set<(nodeId: string) => void>()
  /** Changes of nodes that wait to be sent, in the order of waiting. */
  readonly #pendingChanges = new Map<string, NodeChanges>()
  /** Nodes whose full listing is not durable yet; later changes are sent after it. */
  readonly #pendingFullSync = new Set<string>()
  #isFlushScheduled = false

  /** `later` schedules work after all I/O that has arrived meanwhile. */
  constructor(store: Store, later: Schedule = setImmediate, tracer?: Pick<Tracer, 'recall'>) {
    this.#store = store
    this.#schedule = later
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
    return (
      !this.#everConnected.has(nodeId) && this.#store.tables.nodes.find(nodeId)?.Status === 'ready'
    )
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
    if (this.#isInvalid(nodeId)) return session.close(this.#revocationReason(nodeId))
    this.#sessions.get(nodeId)?.close()
    this.#sessions.set(nodeId, session)
    this.#everConnected.add(nodeId)
    this.#pendingChanges.delete(nodeId)
    this.#pendingFullSync.delete(nodeId)
    const { index, durableIndex, tables } = this.#store
    const rows = tables.allocations.rowsByIndex('node', nodeId)
    const fullSync = { full: true, index, rows, removed: [] }
    if (index === durableIndex) return this.#send(session, fullSync)
    this.#pendingFullSync.add(nodeId)
    this.#store.whenDurable().then(
      () => this.#sendFullSync(session, fullSync),
      // The storage has failed: the node sends hello again once writes succeed.
      () => session.close(),
    )
  }

  #sendFullSync(session: NodeSession, fullSync: NodeDesiredState): void {
    if (this.#sessions.get(session.nodeId) !== session) return
    this.#pendingFullSync.delete(session.nodeId)
    this.#send(session, fullSync)
    if (!this.#isFlushScheduled) this.#flush()
  }

  detach(session: NodeSession): void {
    const { nodeId } = session
    if (this.#sessions.get(nodeId) !== session) return
    this.#sessions.delete(nodeId)
    this.#pendingChanges.delete(nodeId)
    this.#pendingFullSync.delete(nodeId)
  }

  close(): void {
    this.#unsubscribe()
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
    this.#pendingChanges.clear()
    this.#pendingFullSync.clear()
  }

  /**
   * Forwards changes made by servers only: the node knows the state that it has reported itself.
   */
  #forward(commits: readonly Commit[]): void {
    for (const commit of commits) {
      if (isRestore(commit)) {
        this.#closeAll()
        continue
      }
      for (const row of commit.rows) {
        if (row.table === 'node_revocations' && row.header !== undefined)
          this.#closeRevoked(row.key)
        if (row.table === 'nodes' && this.#isInvalid(row.key))
          this.#sessions.get(row.key)?.close(this.#revocationReason(row.key))
        if (row.table === 'allocations') this.#recordChange(commit, row)
      }
    }
    if (!this.#isFlushScheduled) this.#flush()
  }

  /** A snapshot was restored: every node sends hello, and gets all of its allocations. */
  #closeAll(): void {
    for (const session of this.#sessions.values()) session.close()
    this.#pendingChanges.clear()
  }

  #closeRevoked(nodeId: string): void {
    this.#sessions.get(nodeId)?.close(this.#revocationReason(nodeId))
    for (const listener of this.#revocationListeners) listener(nodeId)
  }

  #revocationReason(nodeId: string): string | undefined {
    const isRevoked = this.#store.tables.node_revocations.has(nodeId)
    return isRevoked ? `node ${nodeId} was revoked by an operator` : undefined
  }

  /**
   * Reports whether a session is invalid. A purged node must join again. A node that was marked
   * down must send hello on a new channel, with the status of all its allocations.
   */
  #isInvalid(nodeId: string): boolean {
    const status = this.#store.tables.nodes.find(nodeId)?.Status
    return status !== 'ready' && status !== 'initializing'
  }

  #recordChange(commit: Commit, row: CommittedRow): void {
    const { allocations } = this.#store.tables
    const nodeId = allocations.indexKeyOf('node', row.key) ?? lastNodeOf(row)
    if (!this.#sessions.has(nodeId)) return
    if (row.header === undefined) this.#changesOf(nodeId).removed.add(row.key)
    else if (allocations.find(row.key)?.AllocModifyIndex === commit.index)
      this.#changesOf(nodeId).changed.add(row.key)
  }

  #changesOf(nodeId: string): NodeChanges {
    const existing = this.#pendingChanges.get(nodeId)
    if (existing !== undefined) return existing
    const changes = { changed: new Set<string>(), removed: new Set<string>() }
    this.#pendingChanges.set(nodeId, changes)
    return changes
  }

  /**
   * Sends changes to the nodes that have waited longest; the others follow in the next tick.
   * Changes that are not durable yet are skipped: each completed write calls this again.
   */
  #flush(): void {
    this.#isFlushScheduled = false
    let remaining = this.#pendingChanges.size
    let sentCount = 0
    const jobs = new JobJsonCache(this.#store.tables)
    for (const [nodeId, changes] of this.#pendingChanges) {
      if (remaining-- === 0 || sentCount === NODES_PER_TICK) break
      if (this.#pendingFullSync.has(nodeId)) continue
      this.#pendingChanges.delete(nodeId)
      this.#sendChanges(nodeId, changes, jobs)
      sentCount += 1
    }
    if (sentCount < NODES_PER_TICK || this.#pendingChanges.size === 0) return
    this.#isFlushScheduled = true
    this.#schedule(() => this.#flush())
  }

  #sendChanges(nodeId: string, { changed, removed }: NodeChanges, jobs: JobJsonCache): void {
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

  #send(
    session: NodeSession,
    desired: NodeDesiredState,
    jobs = new JobJsonCache(this.#store.tables),
  ): void {
    const traces = this.#tracesOf(desired.rows)
    for (const text of encodeDesiredState(jobs, { ...desired, traces })) session.send(text)
  }

  /** Returns the traces of allocations that the node may start now. */
  #tracesOf(rows: readonly AllocationRow[]): NodeDesiredState['traces'] {
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
  return (JSON.parse(joinRowJson(text)) as AllocationRow).NodeID
}

type Schedule = (work: () => void) => void

interface NodeChanges {
  readonly changed: Set<string>
  readonly removed: Set<string>
}

/** Desired state for one node: its full set of allocations, or the changes. */
export interface NodeDesiredState {
  readonly full: boolean
  /** Index of the state. */
  readonly index: number
  readonly rows: readonly AllocationRow[]
  /** IDs of deleted allocations. */
  readonly removed: readonly string[]
  /** The `traceparent` of allocations whose start is traced. */
  readonly traces?: Readonly<Record<string, string>> | undefined
}

/**
 * Maximum number of allocations in one message: far below the channel's limit even with large jobs
 * (a job is at most 4 MiB).
 */
const ALLOCATIONS_PER_MESSAGE = 200
const MESSAGE_CHARS_TARGET = 2 * 1024 * 1024

/**
 * Returns the `desired` messages of the channel (contract: channel.ts), as text in parts: the
 * stored text of a job is reused, because rendering it again for each allocation would be most of
 * the work of a server that places thousands of them a second. At least one message, so that an
 * empty listing is sent too.
 */
export function encodeDesiredState(
  jobs: JobJsonCache,
  desired: NodeDesiredState,
): readonly StringChunks[] {
  const messages = buildMessages(jobs, desired.rows)
  const { full, index, removed, traces } = desired
  const tracesJson = traces === undefined ? '' : `,"traces":${JSON.stringify(traces)}`
  return messages.map(({ entries }, i) => {
    const more = i < messages.length - 1
    const header = `{"kind":"desired","full":${full},"more":${more},"index":${index}${i === 0 ? tracesJson : ''}`
    entries[0] = `${header},"allocations":[`
    entries.push(`],"removed":${JSON.stringify(more ? [] : removed)}}`)
    return entries
  })
}

/**
 * Texts of jobs, each assembled once: allocations of one job are sent to many nodes at nearly the
 * same time. Valid for one tick.
 */
export class JobJsonCache {
  readonly #versions: Tables['job_versions']
  readonly #json = new Map<string, string>()

  constructor({ job_versions: versions }: Pick<Tables, 'job_versions'>) {
    this.#versions = versions
  }

  find(key: string): string | undefined {
    const cached = this.#json.get(key)
    if (cached !== undefined) return cached
    const text = this.#versions.rowJsonOf(key)
    if (text !== undefined) this.#json.set(key, text)
    return text
  }
}

interface DesiredMessage {
  /** Parts of the text. The first is reserved for the head. */
  readonly entries: string[]
  chars: number
  count: number
  /** Position of each job. */
  readonly positions: Map<string, number>
}

function newMessage(): DesiredMessage {
  return { entries: [''], chars: 0, count: 0, positions: new Map() }
}

/**
 * Returns the messages for some allocations. An allocation whose job version is missing cannot run
 * and is skipped.
 */
function buildMessages(
  jobs: JobJsonCache,
  rows: readonly AllocationRow[],
): readonly DesiredMessage[] {
  let message = newMessage()
  const messages = [message]
  for (const row of rows) {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = jobs.find(key)
    if (job === undefined) continue
    const allocation = JSON.stringify(assignedAllocation(row))
    const chars = allocation.length + job.length
    const isTooLong = message.count > 0 && message.chars + chars > MESSAGE_CHARS_TARGET
    if (message.count >= ALLOCATIONS_PER_MESSAGE || isTooLong) {
      message = newMessage()
      messages.push(message)
    }
    addEntry(message, { allocation, key, job })
  }
  return messages
}

interface EntryJson {
  readonly allocation: string
  /** Key of the job version. */
  readonly key: string
  readonly job: string
}

function addEntry(message: DesiredMessage, { allocation, key, job }: EntryJson): void {
  const { entries, positions, count } = message
  const first = positions.get(key)
  entries.push(count === 0 ? '{"allocation":' : ',{"allocation":', allocation)
  message.chars += allocation.length
  message.count += 1
  if (first !== undefined) return void entries.push(`,"jobOf":${first}}`)
  positions.set(key, count)
  entries.push(',"job":', job, '}')
  message.chars += job.length
}
