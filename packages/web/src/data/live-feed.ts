import type { Query, QueryClient } from '@tanstack/react-query'
import type { Event, EventTopic } from '@reeve/contract'
import { ApiError, ConnectionError, type EventsRequest } from '@reeve/sdk'
import type { Api } from '../session/api.ts'
import { pause } from './pause.ts'
import { isWatched, type Watch } from './watch.ts'

/**
 * - `connecting`: nothing has come yet.
 * - `live`: changes come by the event stream.
 * - `polling`: the token may not read the stream; what is shown is read again every few seconds.
 * - `lost`: the server cannot be reached.
 */
export type LiveStatus = 'connecting' | 'live' | 'polling' | 'lost'

/** Changes are gathered this long: a busy cluster must not draw the page for each of them. */
const GATHER_MS = 250
/**
 * Without the stream. Not by blocking queries: each would hold one of the six connections that a
 * browser opens to a server, and the page's own requests would wait behind them.
 */
const POLL_MS = 5_000
const RESTART_MS = 3_000

const JOB_TOPICS: readonly EventTopic[] = [
  'Job',
  'Allocation',
  'Evaluation',
  'Deployment',
  'Service',
]

/** What to ask for, the most first: a refusal leads to the next. */
const ATTEMPTS: readonly Pick<EventsRequest, 'topics' | 'namespace'>[] = [
  { namespace: '*' },
  { namespace: '*', topics: [...JOB_TOPICS, 'Node'] },
  { namespace: '*', topics: JOB_TOPICS },
  { namespace: 'default', topics: JOB_TOPICS },
]

type BatchListener = (events: readonly Event[]) => void

/** The one event stream of the tab: it keeps what the pages have read up to date. */
export class LiveFeed {
  readonly #api: Api
  readonly #queries: QueryClient
  readonly #statusListeners = new Set<() => void>()
  readonly #batchListeners = new Set<BatchListener>()
  readonly #dirty = new Set<Query>()
  #batch: Event[] = []
  /** Where to go on after a pause; undefined when nothing was read, or it is not to be trusted. */
  #next: number | undefined
  #status: LiveStatus = 'connecting'
  /** What was read is older than the time that the server was away. */
  #isBehind = false
  #stopper = new AbortController()
  #flushTimer: ReturnType<typeof setTimeout> | undefined

  constructor(api: Api, queries: QueryClient) {
    this.#api = api
    this.#queries = queries
  }

  get status(): LiveStatus {
    return this.#status
  }

  onStatus(listener: () => void): () => void {
    this.#statusListeners.add(listener)
    return () => this.#statusListeners.delete(listener)
  }

  /** The events of a quarter of a second at once, for what is patched instead of read again. */
  onBatch(listener: BatchListener): () => void {
    this.#batchListeners.add(listener)
    return () => this.#batchListeners.delete(listener)
  }

  start(): void {
    this.#stopper = new AbortController()
    void this.#run(this.#stopper.signal)
  }

  /** Begins anew at the present, and takes all that was read for old. */
  restart(): void {
    this.stop()
    this.#next = undefined
    this.start()
    void this.#queries.invalidateQueries()
  }

  /** A later `start` goes on where this one ended. */
  stop(): void {
    this.#stopper.abort()
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isAllowed = await this.#follow(signal)
      if (signal.aborted) return
      if (!isAllowed) return this.#poll(signal)
      this.#setStatus('lost')
      await pause(RESTART_MS, signal)
      // Events meanwhile is not known, and it may be another server with another past.
      this.#next = undefined
      this.#isBehind = true
    }
  }

  /** Not before there is somebody to ask: pages would forget, again and again, what failed. */
  #catchUp(): void {
    if (!this.#isBehind) return
    this.#isBehind = false
    void this.#queries.invalidateQueries()
  }

  /** True when the stream was there and broke, or the server is away; false when it is refused. */
  async #follow(signal: AbortSignal): Promise<boolean> {
    for (const attempt of ATTEMPTS) {
      try {
        const index = this.#next ?? (await this.#findIndex(signal))
        // Not with `reconnect`: the pages would go on as if live while the server is away.
        const request = { ...attempt, index, heartbeats: true, signal }
        for await (const line of this.#api.events(request)) {
          this.#setStatus('live')
          this.#catchUp()
          if (line.Gap !== undefined) void this.#queries.invalidateQueries()
          if (line.Index !== undefined) this.#next = line.Index + 1
          this.#note(line.Events ?? [])
        }
        return true
      } catch (error) {
        const isRefused = error instanceof ApiError && error.status < 500
        if (!isRefused) return true
      }
    }
    return false
  }

  /** Where the present begins: the backlog is older than anything a page has read. */
  async #findIndex(signal: AbortSignal): Promise<number> {
    const query = { per_page: 1, namespace: '*' }
    try {
      return ((await this.#api.v1.listJobs({ query, signal })).index ?? 0) + 1
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return 0
      throw error
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    this.#setStatus('polling')
    this.#catchUp()
    while (!signal.aborted) {
      await pause(POLL_MS, signal)
      if (signal.aborted) return
      const isLive = ({ meta }: Query) => watchesOf(meta).length > 0
      if (document.visibilityState !== 'visible') continue
      await this.#queries.invalidateQueries({ predicate: isLive }, { cancelRefetch: false })
      if (!signal.aborted) this.#setStatus(this.#isAway() ? 'lost' : 'polling')
    }
  }

  /** Pages go on showing what they have: only the status says that it grows old. */
  #isAway(): boolean {
    const shown = this.#queries.getQueryCache().getAll()
    return shown.some((one) => one.isActive() && one.state.error instanceof ConnectionError)
  }

  #note(events: readonly Event[]): void {
    if (events.length === 0) return
    this.#batch.push(...events)
    for (const query of this.#queries.getQueryCache().getAll()) {
      const watches = watchesOf(query.meta)
      if (events.some((event) => isWatched(watches, event))) this.#dirty.add(query)
    }
    this.#flushTimer ??= setTimeout(() => this.#flush(), GATHER_MS)
  }

  #flush(): void {
    this.#flushTimer = undefined
    const batch = this.#batch
    this.#batch = []
    for (const listener of this.#batchListeners) listener(batch)
    for (const query of this.#dirty) {
      // An answer that is on its way may be older than the change: its turn comes after that.
      if (query.state.fetchStatus === 'fetching') continue
      this.#dirty.delete(query)
      void this.#queries.invalidateQueries({ queryKey: query.queryKey, exact: true })
    }
    if (this.#dirty.size > 0) this.#flushTimer = setTimeout(() => this.#flush(), GATHER_MS)
  }

  #setStatus(status: LiveStatus): void {
    if (this.#status === status) return
    this.#status = status
    for (const listener of this.#statusListeners) listener()
  }
}

/** Queries say in their `meta` what they watch; see `use-read.ts`. */
function watchesOf(meta: Query['meta']): readonly Watch[] {
  const watches = meta?.['watches']
  // Only `use-read.ts` and `use-list.ts` write this member, and they write this type.
  return Array.isArray(watches) ? (watches as readonly Watch[]) : []
}
