import type { Clock } from '@reeve/kit/clock.ts'
import {
  type AclTokenRow,
  aclTokenView,
  allocationRecord,
  type AllocationRow,
  governanceRecord,
  LIMITS,
  type NodeRow,
  nodeView,
  type OrganizationRow,
  policyCheckRecord,
  type PolicyCheckRow,
  policyEvaluationRecord,
  type PolicyEvaluationRow,
  policySetOutcomeRecord,
  type PolicySetOutcomeRow,
  type PolicySetRow,
  type ProjectRow,
  type RunPolicyRow,
  runRecord,
  type RunRow,
  variableMetadata,
  type VariableRow,
  type WorkspaceRow,
} from '../model/index.ts'
import {
  type Commit,
  type CommitLog,
  type EventRef,
  isRestore,
  joinRowJson,
} from '../state/index.ts'

/** Destination of a stream. Writing never blocks; `backlogBytes` is the amount not yet read. */
export interface EventSink {
  write(text: string): void
  backlogBytes(): number
  /** Resolves when the reader can accept more, or has disconnected. */
  whenDrained(): Promise<void>
  /** Writes a last line and closes. */
  end(lastLine: string): void
}

export interface Subscription {
  /** Readers with the same signature share the rendered lines. */
  readonly groupKey: string
  readonly matches: (event: EventRef) => boolean
  /**
   * Checked again after every change of tokens, policies and roles; a returned reason ends the
   * stream.
   */
  readonly recheckAccess: () => string | undefined
  /** Expiration time of the token. */
  readonly expiresMs: number | undefined
  /** Yields the event loop while the backlog is read. */
  readonly yieldToEventLoop: () => Promise<void>
  readonly sink: EventSink
}

/** Heartbeats are sent every 30 s, independent of events. */
const HEARTBEAT_MS = 30_000
/**
 * Lines are batched into one write per reader. The batch interval is a millisecond, or longer with
 * many readers: a write takes about 5 µs, and other requests need their turn.
 */
const READERS_PER_MS = 100
/** Limits of a reader that works through the backlog: bytes sent at once, and time to read them. */
const BACKLOG_BYTES_MAX = 1024 * 1024
const DRAIN_TIMEOUT_MS = 40_000
/** Commits of a backlog that are read before the event loop is yielded. */
const COMMITS_PER_SLICE = 100
const SHUTTING_DOWN = 'the server is shutting down'
const RESTORED = 'a snapshot was restored; read the state again'
const ACL_TABLES: ReadonlySet<string> = new Set([
  'acl_tokens',
  'acl_policies',
  'acl_roles',
  'api_tokens',
])

interface StreamReaderState {
  readonly subscription: Subscription
  /** Next index that this reader receives. */
  nextIndex: number
  readonly cancelExpiry: () => void
}

interface ReaderGroup {
  readonly matches: (event: EventRef) => boolean
  readonly readers: Set<StreamReaderState>
  pendingLines: string[]
}

/**
 * Sends durable commits to all event streams: each event is encoded once, each line rendered once
 * per group.
 */
export class EventBroker {
  readonly #log: CommitLog
  readonly #clock: Clock
  readonly #groups = new Map<string, ReaderGroup>()
  readonly #readers = new Set<StreamReaderState>()
  /** Readers that requested a future index. */
  readonly #waitingReaders = new Set<StreamReaderState>()
  readonly #unsubscribe: () => void
  #lastIndex: number
  #cancelFlush: (() => void) | undefined
  #cancelHeartbeat: () => void
  #closed = false

  constructor(log: CommitLog, clock: Clock, durableIndex: number) {
    this.#log = log
    this.#clock = clock
    this.#lastIndex = durableIndex
    this.#unsubscribe = log.subscribe((commits) => this.#publish(commits))
    this.#cancelHeartbeat = clock.after(HEARTBEAT_MS, () => this.#sendHeartbeats())
  }

  get readers(): number {
    return this.#readers.size
  }

  /**
   * Opens a stream from `fromIndex` (0: all retained events), which never sends an older commit.
   * Returns the function that closes it for the reader.
   */
  open(subscription: Subscription, fromIndex: number): () => void {
    const { expiresMs } = subscription
    const reader: StreamReaderState = {
      subscription,
      nextIndex: Math.max(fromIndex, 1),
      cancelExpiry:
        expiresMs === undefined
          ? () => undefined
          : this.#clock.after(Math.max(0, expiresMs - this.#clock.nowMs()), () =>
              this.#closeReader(reader, 'ACL token expired'),
            ),
    }
    this.#readers.add(reader)
    subscription.sink.write(HEARTBEAT)
    const first = this.#log.firstIndex
    if (fromIndex > 0 && fromIndex < first) subscription.sink.write(gapLine(fromIndex, first - 1))
    reader.nextIndex = Math.max(reader.nextIndex, first)
    // The connection was opened before the server began to stop.
    if (this.#closed) this.#closeReader(reader, SHUTTING_DOWN)
    void this.#catchUp(reader).catch(() =>
      this.#closeReader(reader, 'the event log could not be read'),
    )
    return () => this.#removeReader(reader)
  }

  /** Ends every stream when the server stops. */
  close(): void {
    this.#closed = true
    this.#flush()
    this.#unsubscribe()
    this.#cancelHeartbeat()
    this.#closeAll(SHUTTING_DOWN)
  }

  #closeAll(reason: string): void {
    for (const reader of this.#readers) this.#closeReader(reader, reason)
  }

  /**
   * Sends the backlog, and adds the reader to the live ones in the tick in which it is complete.
   */
  async #catchUp(reader: StreamReaderState): Promise<void> {
    while (this.#readers.has(reader) && reader.nextIndex <= this.#lastIndex) {
      const targetIndex = this.#lastIndex
      let readCommits = 0
      for await (const commit of this.#log.read(reader.nextIndex)) {
        if (!this.#readers.has(reader)) return
        this.#sendBacklog(reader, commit)
        if (reader.subscription.sink.backlogBytes() > BACKLOG_BYTES_MAX)
          await this.#waitForDrain(reader)
        else if (++readCommits % COMMITS_PER_SLICE === 0)
          await reader.subscription.yieldToEventLoop()
      }
      reader.nextIndex = Math.max(reader.nextIndex, targetIndex + 1)
    }
    if (!this.#readers.has(reader)) return
    if (reader.nextIndex > this.#lastIndex + 1) this.#waitingReaders.add(reader)
    else this.#joinGroup(reader)
  }

  /**
   * Sends a commit of the backlog. If the log has been truncated past a slow reader, it gets a gap
   * line first.
   */
  #sendBacklog(reader: StreamReaderState, commit: Commit): void {
    const { sink, matches } = reader.subscription
    const { index } = commit
    if (index > reader.nextIndex) sink.write(gapLine(reader.nextIndex, index - 1))
    reader.nextIndex = index + 1
    const line = new EncodedCommit(commit).renderLine(matches)
    if (line !== undefined) sink.write(line)
  }

  /** Waits until the reader has read the buffered output. A stalled reader is disconnected. */
  async #waitForDrain(reader: StreamReaderState): Promise<void> {
    const cancel = this.#clock.after(DRAIN_TIMEOUT_MS, () => this.#closeSlowReader(reader))
    await reader.subscription.sink.whenDrained()
    cancel()
  }

  #joinGroup(reader: StreamReaderState): void {
    const { groupKey, matches } = reader.subscription
    // The current batch of the group is older than what this reader has received, so send it first.
    this.#flush()
    this.#waitingReaders.delete(reader)
    const group = this.#groups.get(groupKey) ?? { matches, readers: new Set(), pendingLines: [] }
    group.readers.add(reader)
    this.#groups.set(groupKey, group)
  }

  #publish(commits: readonly Commit[]): void {
    for (const commit of commits) {
      for (const reader of this.#waitingReaders)
        if (reader.nextIndex <= commit.index) this.#joinGroup(reader)
      this.#lastIndex = commit.index
      if (commit.events.length > 0) this.#addToGroups(new EncodedCommit(commit))
      if (isRestore(commit)) this.#closeAll(RESTORED)
      else if (commit.rows.some((row) => ACL_TABLES.has(row.table))) this.#recheckReaders()
    }
    // The first line is sent at once; lines that follow within the interval are batched.
    if (this.#groups.size > 0 && this.#cancelFlush === undefined) this.#flushAndScheduleNext()
  }

  #flushAndScheduleNext(): void {
    if (!this.#flush()) return
    const batchMs = Math.ceil(this.#readers.size / READERS_PER_MS)
    this.#cancelFlush = this.#clock.after(batchMs, () => this.#flushAndScheduleNext())
  }

  #addToGroups(streamed: EncodedCommit): void {
    for (const group of this.#groups.values()) {
      const line = streamed.renderLine(group.matches)
      if (line !== undefined) group.pendingLines.push(line)
    }
  }

  /** Sends the batches; false if there was nothing to send. */
  #flush(): boolean {
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    let hasSent = false
    for (const group of this.#groups.values()) {
      if (group.pendingLines.length === 0) continue
      const text = group.pendingLines.join('')
      group.pendingLines = []
      for (const reader of group.readers) this.#send(reader, text)
      hasSent = true
    }
    return hasSent
  }

  #send(reader: StreamReaderState, text: string): void {
    const { sink } = reader.subscription
    sink.write(text)
    reader.nextIndex = Math.max(reader.nextIndex, this.#lastIndex + 1)
    if (sink.backlogBytes() > LIMITS.streamBacklogBytesMax) this.#closeSlowReader(reader)
  }

  #sendHeartbeats(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => this.#sendHeartbeats())
    for (const reader of this.#readers) {
      reader.subscription.sink.write(HEARTBEAT)
      if (reader.subscription.sink.backlogBytes() > LIMITS.streamBacklogBytesMax)
        this.#closeSlowReader(reader)
    }
  }

  /** Rechecks permissions. Called only when an ACL row has changed. */
  #recheckReaders(): void {
    for (const reader of this.#readers) {
      const reason = reader.subscription.recheckAccess()
      if (reason !== undefined) this.#closeReader(reader, reason)
    }
  }

  #closeSlowReader(reader: StreamReaderState): void {
    this.#closeReader(reader, 'the reader is too slow; resume at Index + 1')
  }

  #closeReader(reader: StreamReaderState, reason: string): void {
    if (!this.#readers.has(reader)) return
    this.#removeReader(reader)
    reader.subscription.sink.end(closingLine(reason, reader.nextIndex - 1))
  }

  #removeReader(reader: StreamReaderState): void {
    this.#readers.delete(reader)
    this.#waitingReaders.delete(reader)
    reader.cancelExpiry()
    const group = this.#groups.get(reader.subscription.groupKey)
    group?.readers.delete(reader)
    if (group?.readers.size === 0) this.#groups.delete(reader.subscription.groupKey)
  }
}

/** A commit whose events are encoded at most once, for all readers. */
class EncodedCommit {
  readonly commit: Commit
  readonly #eventJson: (string | undefined)[] = []

  constructor(commit: Commit) {
    this.commit = commit
  }

  /** Returns the NDJSON line with the events that `wants` matches; undefined if there are none. */
  renderLine(matches: (event: EventRef) => boolean): string | undefined {
    const { events, index } = this.commit
    const selected: string[] = []
    events.forEach((event, i) => {
      if (matches(event)) selected.push((this.#eventJson[i] ??= this.#render(event)))
    })
    return selected.length === 0
      ? undefined
      : `{"Index":${index},"Events":[${selected.join(',')}]}\n`
  }

  #render({ row, ...event }: EventRef): string {
    const head = JSON.stringify({ ...event, Index: this.commit.index })
    return `${head.slice(0, -1)},"Payload":${payloadJson(this.commit, event.Topic, row)}}`
  }
}

/** The heartbeat. */
const HEARTBEAT = '{}\n'

/**
 * Line that reports commits between two indexes (both included) that are no longer available, so
 * that no gap is silent.
 */
function gapLine(fromIndex: number, toIndex: number): string {
  return `${JSON.stringify({ Index: toIndex, Events: [], Gap: { From: fromIndex, To: toIndex } })}\n`
}

/**
 * Last line of a stream that the server closes. As in every line, all commits up to its index have
 * been delivered, so a reader resumes at the next one.
 */
function closingLine(reason: string, deliveredIndex: number): string {
  return `${JSON.stringify({ Index: deliveredIndex, Events: [], Closed: reason })}\n`
}

/**
 * Views of rows whose event payload differs from the stored form. Other rows are sent as stored.
 */
const EVENT_VIEWS: Readonly<Record<string, (row: never) => object>> = {
  ACLToken: (row: AclTokenRow) => aclTokenView(row, ''),
  Allocation: (row: AllocationRow) => allocationRecord(row),
  Node: (row: NodeRow) => nodeView(row),
  Variable: (row: VariableRow) => variableMetadata(row),
  Organization: (row: OrganizationRow) => governanceRecord('organizations', row),
  Project: (row: ProjectRow) => governanceRecord('projects', row),
  Workspace: (row: WorkspaceRow) => governanceRecord('workspaces', row),
  Policy: (row: RunPolicyRow) => governanceRecord('policies', row),
  PolicySet: (row: PolicySetRow) => governanceRecord('policy-sets', row),
  Run: (row: RunRow) => runRecord(row),
  PolicyCheck: (row: PolicyCheckRow) => policyCheckRecord(row),
  PolicyEvaluation: (row: PolicyEvaluationRow) => policyEvaluationRecord(row),
  PolicySetOutcome: (row: PolicySetOutcomeRow) => policySetOutcomeRecord(row),
}

function viewJson(topic: string, body: string): string {
  const view = Object.hasOwn(EVENT_VIEWS, topic) ? EVENT_VIEWS[topic] : undefined
  // The JSON was encoded from a row of the topic's table.
  return view === undefined ? body : JSON.stringify(view(JSON.parse(body) as never))
}

/**
 * The payload contains the row under the name of its topic, and `Deleted` for deleted jobs and
 * variables.
 */
function payloadJson(commit: Commit, topic: string, row: number): string {
  const committed = commit.rows[row]
  const body = committed === undefined ? 'null' : joinRowJson(committed.text)
  const view = viewJson(topic, body)
  if (topic === 'Variable')
    return `{"Metadata":${view},"Deleted":${committed?.header === undefined}}`
  if (topic === 'HostVolume') return `{"Volume":${view}}`
  const deleted = topic === 'Job' && committed?.header === undefined ? ',"Deleted":true' : ''
  return `{"${topic}":${view}${deleted}}`
}
