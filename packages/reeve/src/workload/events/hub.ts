import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import type { Commit, CommitLog, EventMark } from '../../state/index.ts'
import { closingLine, gapLine, HEARTBEAT, StreamedCommit } from './lines.ts'

/**
 * Where a stream's text goes. Writing never blocks; `backlogBytes` tells what the reader has not
 * taken.
 */
export interface Sink {
  write(text: string): void
  backlogBytes(): number
  /** Resolves when the reader can take more, or has gone. */
  drained(): Promise<void>
  /** Writes a last line and closes. */
  end(lastLine: string): void
}

export interface Subscription {
  /** Readers with the same text share every line that is made. */
  readonly signature: string
  readonly wants: (event: EventMark) => boolean
  /** Asked again after every change of tokens, policies and roles; a reason ends the stream. */
  readonly refusalNow: () => string | undefined
  /** When the token ends. */
  readonly expiresMs: number | undefined
  /** Gives the event loop to others while the backlog is read. */
  readonly yieldTurn: () => Promise<void>
  readonly sink: Sink
}

/** Every 30 s, whatever else is sent. */
const HEARTBEAT_MS = 30_000
/**
 * After a write lines are gathered: one write per reader for many commits. For a millisecond, or
 * longer with many readers: a write takes some 5 µs, and others want their turn.
 */
const READERS_PER_MS = 100
/**
 * A reader that works through the backlog is given this much at a time, and this long to take it.
 */
const HELD_BYTES_MAX = 1024 * 1024
const TAKE_MS_MAX = 40_000
/** Commits of a backlog that are read before others get their turn. */
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
  /** Next index this reader has not been given. */
  nextIndex: number
  readonly cancelExpiry: () => void
}

interface Group {
  readonly wants: (event: EventMark) => boolean
  readonly readers: Set<Reader>
  gathered: string[]
}

/**
 * Hands durable commits to all event streams: each event is encoded once, each line made once per
 * group.
 */
export class EventHub {
  readonly #log: CommitLog
  readonly #clock: Clock
  readonly #groups = new Map<string, Group>()
  readonly #readers = new Set<Reader>()
  /** Readers that asked for an index that does not exist yet. */
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
   * Opens a stream that starts at `fromIndex` (0: all that is kept), and never sends an older
   * commit. Returns the way to close it from the reader's side.
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
    // Asked for on a connection that was open before the server began to stop.
    if (this.#closed) this.#cut(reader, SHUTTING_DOWN)
    void this.#catchUp(reader).catch(() => this.#cut(reader, 'the event log could not be read'))
    return () => this.#drop(reader)
  }

  /** Ends every stream: the server stops. */
  close(): void {
    this.#closed = true
    this.#flush()
    this.#unsubscribe()
    this.#cancelHeartbeat()
    for (const reader of this.#readers) this.#cut(reader, SHUTTING_DOWN)
  }

  /** Sends the backlog, then joins the live readers in the turn in which nothing is missing. */
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

  /** A reader may take so long that the log goes on without it; then it is told what it missed. */
  #sendOld(reader: Reader, commit: Commit): void {
    const { sink, wants } = reader.subscription
    const { index } = commit
    if (index > reader.nextIndex) sink.write(gapLine(reader.nextIndex, index - 1))
    reader.nextIndex = index + 1
    const line = new StreamedCommit(commit).line(wants)
    if (line !== undefined) sink.write(line)
  }

  /** Waits until the reader has taken what was written. Who takes nothing is cut off. */
  async #taken(reader: Reader): Promise<void> {
    const cancel = this.#clock.after(TAKE_MS_MAX, () => this.#cutSlow(reader))
    await reader.subscription.sink.drained()
    cancel()
  }

  #join(reader: Reader): void {
    const { signature, wants } = reader.subscription
    // What was gathered for the others is older than what this reader has been given.
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
    // The first goes out at once; what comes right after it is gathered.
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

  /** False when there was nothing to send. */
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

  /**
   * Rights are asked again only when something about them changed, so it costs nothing in between.
   */
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
