import { AclToken } from '@reeve/contract'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type { Change } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { RegionResponse, RegionClient } from '../region-client.ts'
import { diffVersions, REPLICATED_TABLES, type ReplicatedTable } from './replicated-tables.ts'

/** Wait time of the blocking query; the copies are confirmed at this interval. */
const WAIT_SECONDS = 5
/** Everything is compared after this many waits without a change, which repairs any divergence. */
const WAITS_PER_FULL_SYNC = 12
/** Response timeout of the authoritative region. */
const RESPONSE_TIMEOUT_MS = 15_000
/** Limits of the delay between attempts while the authoritative region does not respond. */
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 10_000
/** Records read in parallel, and records per commit. */
const READS_MAX = 64
const COMMIT_ROWS_MAX = 500

/** Status if ACLs are off, so that every caller sees every record. */
const ACL_DISABLED = 400
const UNKNOWN_TOKEN = 403
const TokenType = Type.Pick(AclToken, ['Type'])

interface ReplicationOptions {
  readonly context: WorkloadContext
  readonly client: Pick<RegionClient, 'request'>
  /** The authoritative region. */
  readonly region: string
  /** Secret of a token that may read all records there; empty if ACLs are off. */
  readonly token: string
  readonly status: ReplicationStatus
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/**
 * Keeps copies of the authoritative region's records. Runs on the leader. No position is stored: a
 * new leader compares everything once, by hash, and then waits for changes with blocking queries.
 */
export class ReplicationLoop {
  readonly #options: ReplicationOptions
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: ReplicationOptions) {
    this.#options = options
  }

  start(): void {
    const { context, status } = this.#options
    const tables = REPLICATED_TABLES.filter(({ isAcl }) => context.aclEnabled || !isAcl)
    status.begin(tables.map(({ name }) => name))
    this.#running = Promise.all(tables.map((collection) => this.#replicate(collection)))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#options.status.end()
    await this.#running
  }

  async #replicate(table: ReplicatedTable): Promise<void> {
    const { status, log, region } = this.#options
    const { name } = table
    let index = 0
    let unchangedWaits = 0
    let retryMs = RETRY_MS_MIN
    while (!this.#isStopped) {
      try {
        const isUnchanged = index > 0 && !(await this.#waitForChange(table, index))
        unchangedWaits =
          isUnchanged && !status.hasUndeletable(name) ? unchangedWaits + 1 : WAITS_PER_FULL_SYNC
        if (unchangedWaits >= WAITS_PER_FULL_SYNC) {
          index = await this.#sync(table)
          unchangedWaits = 0
        }
        if (status.recordSuccess(name, index))
          log.info({ region, collection: name }, 'copies are kept')
        retryMs = RETRY_MS_MIN
      } catch (thrown) {
        if (this.#isStopped) return
        if (status.recordFailure(name, errorMessage(thrown)))
          log.warn({ region, collection: name, err: errorMessage(thrown) }, 'replication failed')
        // The last read may have been stored partly: the next round compares everything.
        index = 0
        await this.#pause(retryMs)
        retryMs = Math.min(RETRY_MS_MAX, retryMs * 2)
      }
    }
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  /**
   * Waits for a change. Reads at most one row: otherwise a list of thousands would cross the ocean
   * every few seconds without a change.
   */
  async #waitForChange({ listUrl }: ReplicatedTable, index: number): Promise<boolean> {
    const query = `index=${index}&wait=${WAIT_SECONDS}s&per_page=1`
    // An index that went back means a restored installation.
    return (await this.#read(withQuery(listUrl, query))).index !== index
  }

  /** Makes the copies equal to the authoritative records, and returns the index of those. */
  async #sync(collection: ReplicatedTable): Promise<number> {
    const { context } = this.#options
    await this.#assertManagementToken()
    const response = await this.#read(collection.listUrl)
    const listed: unknown = JSON.parse(response.text)
    if (!Array.isArray(listed)) throw unexpectedResponse(response)
    const nowMs = context.clock.nowMs()
    const byKey = new Map<string, unknown>()
    const remoteVersions = listed.flatMap((one: unknown) => {
      const version = collection.versionOf(one, nowMs)
      if (version === undefined) return []
      byKey.set(version.key, one)
      return [version]
    })
    const { changed, removed } = diffVersions(remoteVersions, collection.localVersions(context))
    await this.#copyRecords(collection, changed, byKey)
    for (const key of removed) await this.#remove(collection, key)
    return Math.max(1, response.index)
  }

  /**
   * Asserts that the token is a management token. Lists contain only what a token may see; with a
   * weaker one, missing records would be deleted here.
   */
  async #assertManagementToken(): Promise<void> {
    const { token, region } = this.#options
    const response = await this.#read('/v1/acl/token/self', [200, ACL_DISABLED, UNKNOWN_TOKEN])
    const { status, text } = response
    if (status === ACL_DISABLED) return
    const tokenInfo: unknown = status === UNKNOWN_TOKEN ? undefined : JSON.parse(text)
    if (Value.Check(TokenType, tokenInfo) && tokenInfo.Type === 'management') return
    const unknown = `is not known in region "${region}"`
    const insufficient = token === '' ? 'is not set' : 'is not that of a management token'
    const reason = tokenInfo === undefined ? unknown : insufficient
    throw new Fault('replication-token', `acl.replication_token ${reason}`)
  }

  async #copyRecords(
    collection: ReplicatedTable,
    keys: readonly string[],
    listed: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    const { context } = this.#options
    const { readUrl } = collection
    for (let start = 0; start < keys.length; start += COMMIT_ROWS_MAX) {
      const batch = keys.slice(start, start + COMMIT_ROWS_MAX)
      const records =
        readUrl === undefined
          ? batch.map((key) => listed.get(key))
          : await this.#readAll(batch.map(readUrl))
      const present = records.filter((record) => record !== undefined)
      const changes = present.map((record): Change => collection.toChange(context, record))
      await this.#commit(collection, changes)
    }
  }

  async #commit({ cause }: ReplicatedTable, changes: readonly Change[]): Promise<void> {
    if (changes.length === 0 || this.#isStopped) return
    const { durable } = this.#options.context.store.commit({
      by: 'system',
      cause,
      changes: () => changes,
    })
    await durable
  }

  /** Deletes a copy. One that is still in use here stays, and is retried with each round. */
  async #remove(collection: ReplicatedTable, key: string): Promise<void> {
    if (this.#isStopped) return
    const { context, status } = this.#options
    const removed = await collection.remove(context, key)
    status.recordUndeletable(collection.name, key, removed.ok ? undefined : removed.error.message)
  }

  /** Reads in parallel, so that a distant region is copied within seconds too. */
  async #readAll(urls: readonly string[]): Promise<unknown[]> {
    const records: unknown[] = []
    let next = 0
    const readNext = async (): Promise<void> => {
      for (let at = next++; at < urls.length; at = next++)
        records[at] = await this.#readOne(urls[at] ?? '')
    }
    const readers = Array.from({ length: Math.min(READS_MAX, urls.length) }, readNext)
    try {
      await Promise.all(readers)
    } finally {
      // After a failure the other readers stop.
      next = urls.length
    }
    return records
  }

  /** Undefined if it was deleted in the meantime: the next list will show that. */
  async #readOne(url: string): Promise<unknown> {
    const answer = await this.#read(url, [200, 404])
    return answer.status === 404 ? undefined : JSON.parse(answer.text)
  }

  async #read(url: string, statuses: readonly number[] = [200]): Promise<RegionResponse> {
    const { client, region, token } = this.#options
    const response = await client.request(region, {
      method: 'GET',
      url,
      forwardReason: 'named',
      token,
      signal: this.#stopping.signal,
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    })
    if (!statuses.includes(response.status)) throw unexpectedResponse(response)
    return response
  }

  async #pause(ms: number): Promise<void> {
    const { clock, random } = this.#options.context
    const { signal } = this.#stopping
    // Jitter: servers of many regions must not retry at the same time.
    const jittered = ms * (0.5 + random.next() / 2)
    await new Promise<void>((resolve) => {
      const cancel = clock.after(jittered, resolve)
      signal.addEventListener('abort', () => (cancel(), resolve()), { once: true })
    })
  }
}

function withQuery(url: string, query: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${query}`
}

/**
 * Enough of a response to diagnose it; responses with secrets have status 200 and are not shown.
 */
const QUOTED_CHARS_MAX = 200

function unexpectedResponse({ status, text }: RegionResponse): Fault {
  const reason = status === 200 ? 'something that is no list' : text.slice(0, QUOTED_CHARS_MAX)
  return new Fault('region-answer', `the authoritative region answered ${status}: ${reason}`)
}

interface TableStatus {
  /**
   * Index of the authoritative region up to which everything is copied; 0 before the first sync.
   */
  index: number
  /** Time at which the copies were last confirmed; undefined before the first sync. */
  confirmedMs: number | undefined
  error: string
  /** Records that were deleted there but are still in use here, with the reason. */
  readonly undeletable: Map<string, string>
}

/** Age and errors of the copies of the authoritative region's records. */
export class ReplicationStatus {
  readonly #clock: Clock
  readonly #region: string
  #tables = new Map<string, TableStatus>()

  constructor(clock: Clock, region: string) {
    this.#clock = clock
    this.#region = region
  }

  /** Called when this server becomes the leader and so replicates. */
  begin(names: readonly string[]): void {
    this.#tables = new Map(
      names.map((name) => [
        name,
        { index: 0, confirmedMs: undefined, error: '', undeletable: new Map() },
      ]),
    )
  }

  end(): void {
    this.#tables.clear()
  }

  /**
   * Records a success. Returns true if it should be logged: the first one, or one after a failure.
   */
  recordSuccess(name: string, index: number): boolean {
    const status = this.#tables.get(name)
    if (status === undefined) return false
    const isNoteworthy = status.index === 0 || status.error !== ''
    Object.assign(status, { index, confirmedMs: this.#clock.nowMs(), error: '' })
    return isNoteworthy
  }

  /** Records a failure. Returns true if it should be logged: its text differs from the last one. */
  recordFailure(name: string, error: string): boolean {
    const status = this.#tables.get(name)
    if (status === undefined || status.error === error) return false
    status.error = error
    return true
  }

  recordUndeletable(name: string, key: string, why: string | undefined): void {
    const undeletable = this.#tables.get(name)?.undeletable
    if (why === undefined) undeletable?.delete(key)
    else undeletable?.set(key, why)
  }

  /** Reports whether a record that was deleted there is still in use here. */
  hasUndeletable(name: string): boolean {
    return (this.#tables.get(name)?.undeletable.size ?? 0) > 0
  }

  /**
   * Milliseconds since the copies were last confirmed; 0 on servers that do not lead. Infinite
   * until a new leader has compared them: their age is unknown until then.
   */
  get lagMs(): number {
    const nowMs = this.#clock.nowMs()
    const ages = [...this.#tables.values()].map(({ confirmedMs }) =>
      confirmedMs === undefined ? Number.POSITIVE_INFINITY : nowMs - confirmedMs,
    )
    return Math.max(0, ...ages)
  }

  /** Statistics for `/v1/agent/self`: strings only. */
  stats(): Readonly<Record<string, string>> {
    const stats: Record<string, string> = { authoritative_region: this.#region }
    if (this.#tables.size === 0) return { ...stats, role: 'the leader of this region copies' }
    const { lagMs } = this
    if (Number.isFinite(lagMs)) stats['lag_ms'] = String(lagMs)
    for (const [name, { index, error, undeletable }] of this.#tables) {
      stats[`${name}_index`] = String(index)
      if (error !== '') stats[`${name}_error`] = error
      if (undeletable.size > 0) stats[`${name}_kept`] = [...undeletable.keys()].toSorted().join(' ')
    }
    return stats
  }
}
