import type { Clock, Random } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import type { Caller } from '../../acl/index.ts'
import { blockingWaitMs, LIMITS, type Refusal } from '../../model/index.ts'
import type { Store, WatchTarget } from '../../state/index.ts'
import type { WaitHandle } from '../transport/shutdown.ts'
import { QueryError } from '../query.ts'
import type { HttpResponse } from '../response.ts'

/** The source of a blocking query. It is cheap enough to be checked at every wake-up. */
interface BlockingSource {
  /** Current index of the result. */
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
}

/** Outcome of a wait. */
export interface WaitResult {
  /** Current index of the result. */
  readonly index: number
  /** Index of the commit that woke the query last; undefined if it timed out. */
  readonly wokenBy: number | undefined
}

/** Blocking parameters of a query. */
export interface WaitRequest {
  /** Wait until the result's index is larger than this; 0 does not wait. */
  readonly minIndex: number
  readonly wait: string | undefined
}

interface BlockingOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Maximum number of waiting queries per tenant; unlimited unless given. */
  readonly perTenantMax?: number | undefined
}

/** Waiting blocking queries: counts them by tenant, wakes and limits them. */
export class ParkedQueries {
  readonly responses: SharedResponses
  readonly #options: BlockingOptions
  /** Number of waiting queries by tenant. */
  readonly slots: TenantSlots
  readonly #wakeQueue = new WakeQueue()

  constructor(options: BlockingOptions) {
    this.#options = options
    this.responses = new SharedResponses(options.clock)
    this.slots = new TenantSlots('blocking_queries_per_token', options.perTenantMax)
  }

  get count(): number {
    return this.slots.held
  }

  /** Reports whether a read must wait; all others are answered at once. */
  shouldBlock({ minIndex, wait }: WaitRequest, source: BlockingSource): boolean {
    if (minIndex === 0) return false
    parseWaitMs(wait)
    return source.index() <= minIndex && this.count < LIMITS.parkedQueriesMax
  }

  /** Waits until the condition holds, the handle is cancelled, or the time is up. */
  async waitUntil(
    tenant: string,
    isDone: () => boolean,
    handle: WaitHandle,
    { watch, timeoutMs }: { readonly watch: readonly WatchTarget[]; readonly timeoutMs: number },
  ): Promise<void> {
    const { clock } = this.#options
    if (this.count >= LIMITS.parkedQueriesMax) return
    const deadlineMs = clock.monotonicMs() + timeoutMs
    this.slots.acquire(tenant)
    try {
      while (!isDone() && !handle.isCancelled) {
        const remainingMs = deadlineMs - clock.monotonicMs()
        if (remainingMs <= 0) return
        await this.#waitForChange(watch, remainingMs, handle)
      }
    } finally {
      this.slots.release(tenant)
    }
  }

  /**
   * Waits until the result's index exceeds the one of the request, or the deadline. A wake-up does
   * not imply a change. Queries of one tenant that are woken together continue a few at a time, as
   * `turn` schedules them.
   */
  async waitForIndex(
    tenant: string,
    { minIndex, wait }: WaitRequest,
    handle: WaitHandle,
    source: BlockingSource,
    turn?: Turn,
  ): Promise<WaitResult> {
    const { clock, random } = this.#options
    let index = source.index()
    let wokenBy: number | undefined
    if (minIndex === 0 || this.count >= LIMITS.parkedQueriesMax) return { index, wokenBy }
    const deadlineMs = clock.monotonicMs() + waitMs(wait, random)
    this.slots.acquire(tenant)
    try {
      while (index <= minIndex && !handle.isCancelled) {
        const remainingMs = deadlineMs - clock.monotonicMs()
        if (remainingMs <= 0) break
        wokenBy = await this.#waitForChange(source.watch, remainingMs, handle)
        if (turn !== undefined && !handle.isCancelled) await this.#wakeQueue.next(tenant, turn)
        index = source.index()
      }
    } finally {
      this.slots.release(tenant)
    }
    return { index, wokenBy }
  }

  /**
   * Resolves when a woken query may send its response. Queries with a shared response receive it at
   * the same moment, and each write of a large response is a system call of a millisecond.
   */
  async waitToSend(tenant: string, { response }: ReadResult, turn: Turn): Promise<void> {
    await this.#wakeQueue.next(tenant, turn, responseBytes(response))
  }

  /**
   * Subscribes to changes in the tick of the read: an earlier commit was seen by the read, a later
   * one wakes the query when it is durable.
   */
  #waitForChange(
    targets: readonly WatchTarget[],
    timeoutMs: number,
    handle: WaitHandle,
  ): Promise<number | undefined> {
    const { store, clock } = this.#options
    return new Promise((resolve) => {
      const done = (index: number | undefined): void => {
        cancelWatch()
        cancelTimer()
        handle.onCancel(undefined)
        resolve(index)
      }
      const cancelWatch = store.watches.watch(targets, done)
      const cancelTimer = clock.after(timeoutMs, () => done(undefined))
      handle.onCancel(() => done(undefined))
    })
  }
}

/** Returns the wait time: default 5 minutes, maximum 10, plus up to a sixteenth as jitter. */
export function waitMs(wait: string | undefined, random: Random): number {
  const base = parseWaitMs(wait)
  return base + random.next() * (base / LIMITS.waitJitterShare)
}

function parseWaitMs(wait: string | undefined): number {
  const base = blockingWaitMs(wait)
  if (base === undefined) throw new QueryError('Invalid wait time')
  return base
}

/** Result of a read. */
export interface ReadResult {
  readonly index: number
  readonly response: Result<HttpResponse, Refusal>
}

/** A woken read, with everything its result depends on besides the state. */
export interface WokenRead {
  /**
   * Compared by identity: the authenticator returns a new object when the token's permissions
   * change.
   */
  readonly caller: Caller
  readonly secret: string | undefined
  /** Path and query, undecoded. */
  readonly url: string
  /** Index of the commit that woke the query; its result must not be older. */
  readonly wokenBy: number
}

interface SharedResponse {
  readonly caller: Caller
  /** Index of the state that was read. */
  readonly stateIndex: number
  readonly result: Promise<ReadResult>
  bytes: number
}

/**
 * Results shared by identical parked queries: one commit wakes thousands of them, and they are
 * computed and rendered once (decision 0066). A result may be given to another query only if both
 * have the same caller, secret and URL, and if it was read from a state that includes the commit
 * which woke the query. It is then what the query could have read itself while it waited.
 */
export class SharedResponses {
  readonly #clock: Clock
  /** In insertion order, so the oldest is the first. */
  readonly #responses = new Map<string, SharedResponse>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#responses.size
  }

  /** Returns the result of an identical query, or computes and shares a new one. */
  read(
    read: WokenRead,
    stateIndex: number,
    compute: () => Promise<ReadResult>,
  ): Promise<ReadResult> {
    const key = `${read.secret ?? ''}\n${read.url}`
    const shared = this.#responses.get(key)
    if (shared?.caller === read.caller && shared.stateIndex >= read.wokenBy) return shared.result
    if (shared !== undefined) this.#remove(key, shared)
    const entry = { caller: read.caller, stateIndex, result: compute(), bytes: 0 }
    this.#add(key, entry)
    entry.result.then(
      ({ response }) => this.#onComputed(key, entry, response),
      () => this.#remove(key, entry),
    )
    return entry.result
  }

  #add(key: string, response: SharedResponse): void {
    this.#responses.set(key, response)
    this.#clock.after(LIMITS.sharedResponseMs, () => this.#remove(key, response))
    if (this.#responses.size > LIMITS.sharedResponsesMax) this.#removeOldest()
  }

  /** Keeps the size of a computed response. Streamed bodies are too large to be kept. */
  #onComputed(key: string, entry: SharedResponse, response: ReadResult['response']): void {
    if (this.#responses.get(key) !== entry) return
    const body = response.ok ? response.value.body : undefined
    if (body !== undefined && body.kind !== 'json-bytes') return this.#remove(key, entry)
    entry.bytes = responseBytes(response)
    this.#bytes += entry.bytes
    while (this.#bytes > LIMITS.sharedResponseBytesMax) this.#removeOldest()
  }

  #removeOldest(): void {
    for (const [key, response] of this.#responses) return this.#remove(key, response)
  }

  #remove(key: string, response: SharedResponse): void {
    if (this.#responses.get(key) !== response) return
    this.#responses.delete(key)
    this.#bytes -= response.bytes
  }
}

/** Returns the size of a rendered response in bytes. */
function responseBytes(response: ReadResult['response']): number {
  const body = response.ok ? response.value.body : undefined
  return body?.kind === 'json-bytes' ? body.bytes.length : 0
}

/** Resolves when the tenant has its next turn on the event loop. */
type Turn = (tenant: string) => Promise<void>

interface WokenQuery {
  readonly bytes: number
  readonly resolve: () => void
}

/**
 * Continues parked queries that were woken together a few at a time, in turns of their tenant:
 * other requests are served in between, however many queries one commit wakes.
 */
export class WakeQueue {
  readonly #waiting = new Map<string, WokenQuery[]>()

  /**
   * Resolves in one of the next turns of the tenant, in order. `bytes` is the size of the query's
   * response in that turn; large responses share a turn with fewer others.
   */
  next(tenant: string, turn: Turn, bytes = 0): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(tenant)
      if (queue !== undefined) return void queue.push({ bytes, resolve })
      this.#waiting.set(tenant, [{ bytes, resolve }])
      void this.#runTurns(tenant, turn)
    })
  }

  async #runTurns(tenant: string, turn: Turn): Promise<void> {
    for (;;) {
      await turn(tenant)
      const queue = this.#waiting.get(tenant) ?? []
      for (const { resolve } of queue.splice(0, queriesInTurn(queue))) resolve()
      if (queue.length > 0) continue
      this.#waiting.delete(tenant)
      return
    }
  }
}

/** Returns how many queries continue in one turn: at least one, however large its response. */
function queriesInTurn(queue: readonly WokenQuery[]): number {
  let length = 0
  let bytes = 0
  for (const waiting of queue) {
    if (length === LIMITS.parkedQueriesPerTurn) break
    bytes += waiting.bytes
    if (length > 0 && bytes > LIMITS.wokenBytesPerTurn) break
    length++
  }
  return length
}
