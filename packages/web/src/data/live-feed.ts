import type { Query, QueryClient } from '@tanstack/react-query'
import type { Event, EventTopic } from '@reeve/contract'
import { ApiError, ConnectionError, type EventsRequest } from '@reeve/sdk'
import type { Api } from '../session/api.ts'

/**
 * - `connecting`: nothing was received yet.
 * - `live`: the event stream is open.
 * - `polling`: the token may not read the stream; queries are refetched every few seconds.
 * - `lost`: the server cannot be reached.
 */
export type LiveStatus = 'connecting' | 'live' | 'polling' | 'lost'

/** Events are batched this long, so that a busy cluster does not render once per event. */
const BATCH_MS = 250
/**
 * Poll interval without the stream. Blocking queries are not used: each would occupy one of the
 * six connections that a browser opens to a server.
 */
const POLL_MS = 5_000
const RECONNECT_MS = 3_000

const JOB_TOPICS: readonly EventTopic[] = [
  'Job',
  'Allocation',
  'Evaluation',
  'Deployment',
  'Service',
]

/** Subscriptions, widest first: if the server rejects one, the next is tried. */
const SUBSCRIPTIONS: readonly Pick<EventsRequest, 'topics' | 'namespace'>[] = [
  { namespace: '*' },
  { namespace: '*', topics: [...JOB_TOPICS, 'Node'] },
  { namespace: '*', topics: JOB_TOPICS },
  { namespace: 'default', topics: JOB_TOPICS },
]

type BatchListener = (events: readonly Event[]) => void

/** The event stream of the tab: it invalidates the cached queries that an event affects. */
export class LiveFeed {
  readonly #api: Api
  readonly #queries: QueryClient
  readonly #statusListeners = new Set<() => void>()
  readonly #batchListeners = new Set<BatchListener>()
  readonly #staleQueries = new Set<Query>()
  #batch: Event[] = []
  /** Index at which the stream resumes; undefined before the first event and after an outage. */
  #nextIndex: number | undefined
  #status: LiveStatus = 'connecting'
  /** The cached data is older than an outage of the server. */
  #isStale = false
  #abortController = new AbortController()
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

  /** Subscribes to batches of events, for lists that patch rows instead of refetching. */
  onBatch(listener: BatchListener): () => void {
    this.#batchListeners.add(listener)
    return () => this.#batchListeners.delete(listener)
  }

  start(): void {
    this.#abortController = new AbortController()
    void this.#run(this.#abortController.signal)
  }

  /** Restarts at the current index and invalidates all queries. */
  restart(): void {
    this.stop()
    this.#nextIndex = undefined
    this.start()
    void this.#queries.invalidateQueries()
  }

  /** Stops the stream; `start` resumes it at the same index. */
  stop(): void {
    this.#abortController.abort()
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isPermitted = await this.#followStream(signal)
      if (signal.aborted) return
      if (!isPermitted) return this.#poll(signal)
      this.#setStatus('lost')
      await pause(RECONNECT_MS, signal)
      // Events were missed, and the address may now belong to a server with another state.
      this.#nextIndex = undefined
      this.#isStale = true
    }
  }

  /** Refetches only once the server is reachable: earlier, errors would flicker. */
  #refetchIfStale(): void {
    if (!this.#isStale) return
    this.#isStale = false
    void this.#queries.invalidateQueries()
  }

  /** Returns false if the server rejects every subscription, and true if a connection was lost. */
  async #followStream(signal: AbortSignal): Promise<boolean> {
    for (const attempt of SUBSCRIPTIONS) {
      try {
        const index = this.#nextIndex ?? (await this.#findIndex(signal))
        // Without `reconnect`: pages must not look live while the server is unreachable.
        const request = { ...attempt, index, heartbeats: true, signal }
        for await (const line of this.#api.events(request)) {
          this.#setStatus('live')
          this.#refetchIfStale()
          if (line.Gap !== undefined) void this.#queries.invalidateQueries()
          if (line.Index !== undefined) this.#nextIndex = line.Index + 1
          this.#collect(line.Events ?? [])
        }
        return true
      } catch (error) {
        const isRejected = error instanceof ApiError && error.status < 500
        if (!isRejected) return true
      }
    }
    return false
  }

  /** Returns the current index: pages do not need the backlog of events. */
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
    this.#refetchIfStale()
    while (!signal.aborted) {
      await pause(POLL_MS, signal)
      if (signal.aborted) return
      const isLive = ({ meta }: Query) => watchesOf(meta).length > 0
      if (document.visibilityState !== 'visible') continue
      await this.#queries.invalidateQueries({ predicate: isLive }, { cancelRefetch: false })
      if (!signal.aborted) this.#setStatus(this.#isServerUnreachable() ? 'lost' : 'polling')
    }
  }

  /** Pages keep showing cached data; only the status says that it may be stale. */
  #isServerUnreachable(): boolean {
    const shown = this.#queries.getQueryCache().getAll()
    return shown.some((one) => one.isActive() && one.state.error instanceof ConnectionError)
  }

  #collect(events: readonly Event[]): void {
    if (events.length === 0) return
    this.#batch.push(...events)
    for (const query of this.#queries.getQueryCache().getAll()) {
      const watches = watchesOf(query.meta)
      if (events.some((event) => isWatched(watches, event))) this.#staleQueries.add(query)
    }
    this.#flushTimer ??= setTimeout(() => this.#flush(), BATCH_MS)
  }

  #flush(): void {
    this.#flushTimer = undefined
    const batch = this.#batch
    this.#batch = []
    for (const listener of this.#batchListeners) listener(batch)
    for (const query of this.#staleQueries) {
      // The response in flight may be older than the change, so it is invalidated afterwards.
      if (query.state.fetchStatus === 'fetching') continue
      this.#staleQueries.delete(query)
      void this.#queries.invalidateQueries({ queryKey: query.queryKey, exact: true })
    }
    if (this.#staleQueries.size > 0) this.#flushTimer = setTimeout(() => this.#flush(), BATCH_MS)
  }

  #setStatus(status: LiveStatus): void {
    if (this.#status === status) return
    this.#status = status
    for (const listener of this.#statusListeners) listener()
  }
}

/** Returns the watches that a query declares in its `meta`. */
function watchesOf(meta: Query['meta']): readonly Watch[] {
  const watches = meta?.['watches']
  // Only the query and list hooks of this folder write this member, always with this type.
  return Array.isArray(watches) ? (watches as readonly Watch[]) : []
}

/** Events that invalidate a query. */
export interface Watch {
  readonly topic: EventTopic
  /** Every namespace if absent or `*`. */
  readonly namespace?: string | undefined
  /** The event's key or one of its filter keys; every key if absent. */
  readonly key?: string | undefined
}

type EventName = Pick<Event, 'Topic' | 'Namespace' | 'Key' | 'FilterKeys'>

export function isWatched(watches: readonly Watch[], event: EventName): boolean {
  return watches.some(
    ({ topic, namespace, key }) =>
      topic === event.Topic &&
      (namespace === undefined || namespace === '*' || namespace === event.Namespace) &&
      (key === undefined || key === event.Key || (event.FilterKeys ?? []).includes(key)),
  )
}

/** Resolves after the delay, or when the signal aborts. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, delayMs)
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    resolve()
  })
  return promise
}
