import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import type { Commit, CommitLog, EventMark } from '../../state/index.ts'
import { closingLine, gapLine, HEARTBEAT, StreamedCommit } from './lines.ts'

/** Destination of a stream. Writing never blocks; `backlogBytes` is the amount not yet read. */
export interface Sink {
  write(text: string): void
  backlogBytes(): number
  /** Resolves when the reader can accept more, or has disconnected. */
  drained(): Promise<void>
  /** Writes a last line and closes. */
  end(lastLine: string): void
}

export interface Subscription {
  /** Readers with the same signature share the rendered lines. */
  readonly signature: string
  readonly wants: (event: EventMark) => boolean
  /**
   * Checked again after every change of tokens, policies and roles; a returned reason ends the
   * stream.
   */
  readonly refusalNow: () => string | undefined
  /** Expiration time of the token. */
  readonly expiresMs: number | undefined
  /** Yields the event loop while the backlog is read. */
  readonly yieldTurn: () => Promise<void>
  readonly sink: Sink
}

/** Heartbeats are sent every 30 s, independent of events. */
const HEARTBEAT_MS = 30_000
/**
 * Lines are batched into one write per reader. The batch interval is a millisecond, or longer with
 * many readers: a write takes about 5 µs, and other requests need their turn.
 */
const READERS_PER_MS = 100
/** Limits of a reader that works through the backlog: bytes sent at once, and time to read them. */
const HELD_BYTES_MAX = 1024 * 1024
const TAKE_MS_MAX = 40_000
/** Commits of a backlog that are read before the event loop is yielded. */
const COMMITS_PER_SLICE = 100
const SHUTTING_DOWN = 'the server is shutting down'
const ACL_TABLES: ReadonlySet<string> = new Set([
  'acl_tokens',
  'acl_policies',
  'acl_roles',
  'api_tokens',
])

interface Reader {
  readonly subscription: Subscription
  /** Next index that this reader receives. */
  nextIndex: number
  readonly cancelExpiry: () => void
}

interface Group {
  readonly wants: (event: EventMark) => boolean
  readonly readers: Set<Reader>
  gathered: string[]
}

/**
 * Sends durable commits to all event streams: each event is encoded once, each line rendered once
 * per group.
 */
export class EventHub {
  readonly #log: CommitLog
  readonly #clock: Clock
  readonly #groups = new Map<string, Group>()
  readonly #readers = new Set<Reader>()
  /** Readers that requested a future index. */
  readonly #waiting = new Set<Reader>()
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
    this.#cancelHeartbeat = clock.after(HEARTBEAT_MS, () => this.#beat())
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
    const reader: Reader = {
      subscription,
      nextIndex: Math.max(fromIndex, 1),
      cancelExpiry:
        expiresMs === undefined
          ? () => undefined
          : this.#clock.after(Math.max(0, expiresMs - this.#clock.nowMs()), () =>
              this.#cut(reader, 'ACL token expired'),
            ),
    }
    this.#readers.add(reader)
    subscription.sink.write(HEARTBEAT)
    const first = this.#log.firstIndex
    if (fromIndex > 0 && fromIndex < first) subscription.sink.write(gapLine(fromIndex, first - 1))
    reader.nextIndex = Math.max(reader.nextIndex, first)
    // The connection was opened before the server began to stop.
    if (this.#closed) this.#cut(reader, SHUTTING_DOWN)
    void this.#catchUp(reader).catch(() => this.#cut(reader, 'the event log could not be read'))
    return () => this.#drop(reader)
  }

  /** Ends every stream when the server stops. */
  close(): void {
    this.#closed = true
    this.#flush()
    this.#unsubscribe()
    this.#cancelHeartbeat()
    for (const reader of this.#readers) this.#cut(reader, SHUTTING_DOWN)
  }

  /**
   * Sends the backlog, and adds the reader to the live ones in the tick in which it is complete.
   */
  async #catchUp(reader: Reader): Promise<void> {
    while (this.#readers.has(reader) && reader.nextIndex <= this.#lastIndex) {
      const upTo = this.#lastIndex
      let seen = 0
      for await (const commit of this.#log.read(reader.nextIndex)) {
        if (!this.#readers.has(reader)) return
        this.#sendOld(reader, commit)
        if (reader.subscription.sink.backlogBytes() > HELD_BYTES_MAX) await this.#taken(reader)
        else if (++seen % COMMITS_PER_SLICE === 0) await reader.subscription.yieldTurn()
      }
      reader.nextIndex = Math.max(reader.nextIndex, upTo + 1)
    }
    if (!this.#readers.has(reader)) return
    if (reader.nextIndex > this.#lastIndex + 1) this.#waiting.add(reader)
    else this.#join(reader)
  }

  /**
   * Sends a commit of the backlog. If the log has been truncated past a slow reader, it gets a gap
   * line first.
   */
  #sendOld(reader: Reader, commit: Commit): void {
    const { sink, wants } = reader.subscription
    const { index } = commit
    if (index > reader.nextIndex) sink.write(gapLine(reader.nextIndex, index - 1))
    reader.nextIndex = index + 1
    const line = new StreamedCommit(commit).line(wants)
    if (line !== undefined) sink.write(line)
  }

  /** Waits until the reader has read the buffered output. A stalled reader is disconnected. */
  async #taken(reader: Reader): Promise<void> {
    const cancel = this.#clock.after(TAKE_MS_MAX, () => this.#cutSlow(reader))
    await reader.subscription.sink.drained()
    cancel()
  }

  #join(reader: Reader): void {
    const { signature, wants } = reader.subscription
    // The current batch of the group is older than what this reader has received, so send it first.
    this.#flush()
    this.#waiting.delete(reader)
    const group = this.#groups.get(signature) ?? { wants, readers: new Set(), gathered: [] }
    group.readers.add(reader)
    this.#groups.set(signature, group)
  }

  #publish(commits: readonly Commit[]): void {
    for (const commit of commits) {
      for (const reader of this.#waiting) if (reader.nextIndex <= commit.index) this.#join(reader)
      this.#lastIndex = commit.index
      if (commit.events.length > 0) this.#gather(new StreamedCommit(commit))
      if (commit.rows.some((row) => ACL_TABLES.has(row.table))) this.#recheck()
    }
    // The first line is sent at once; lines that follow within the interval are batched.
    if (this.#groups.size > 0 && this.#cancelFlush === undefined) this.#flushAndGather()
  }

  #flushAndGather(): void {
    if (!this.#flush()) return
    const gatherMs = Math.ceil(this.#readers.size / READERS_PER_MS)
    this.#cancelFlush = this.#clock.after(gatherMs, () => this.#flushAndGather())
  }

  #gather(streamed: StreamedCommit): void {
    for (const group of this.#groups.values()) {
      const line = streamed.line(group.wants)
      if (line !== undefined) group.gathered.push(line)
    }
  }

  /** Sends the batches; false if there was nothing to send. */
  #flush(): boolean {
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    let hasSent = false
    for (const group of this.#groups.values()) {
      if (group.gathered.length === 0) continue
      const text = group.gathered.join('')
      group.gathered = []
      for (const reader of group.readers) this.#send(reader, text)
      hasSent = true
    }
    return hasSent
  }

  #send(reader: Reader, text: string): void {
    const { sink } = reader.subscription
    sink.write(text)
    reader.nextIndex = Math.max(reader.nextIndex, this.#lastIndex + 1)
    if (sink.backlogBytes() > LIMITS.streamBacklogBytesMax) this.#cutSlow(reader)
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => this.#beat())
    for (const reader of this.#readers) {
      reader.subscription.sink.write(HEARTBEAT)
      if (reader.subscription.sink.backlogBytes() > LIMITS.streamBacklogBytesMax)
        this.#cutSlow(reader)
    }
  }

  /** Rechecks permissions. Called only when an ACL row has changed. */
  #recheck(): void {
    for (const reader of this.#readers) {
      const reason = reader.subscription.refusalNow()
      if (reason !== undefined) this.#cut(reader, reason)
    }
  }

  #cutSlow(reader: Reader): void {
    this.#cut(reader, 'the reader is too slow; resume at Index + 1')
  }

  #cut(reader: Reader, reason: string): void {
    if (!this.#readers.has(reader)) return
    this.#drop(reader)
    reader.subscription.sink.end(closingLine(reason, reader.nextIndex - 1))
  }

  #drop(reader: Reader): void {
    this.#readers.delete(reader)
    this.#waiting.delete(reader)
    reader.cancelExpiry()
    const group = this.#groups.get(reader.subscription.signature)
    group?.readers.delete(reader)
    if (group?.readers.size === 0) this.#groups.delete(reader.subscription.signature)
  }
}
