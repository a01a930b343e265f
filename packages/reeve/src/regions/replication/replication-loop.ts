import { AclToken } from '@reeve/contract'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Change } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { RegionAnswer, RegionClient } from '../region-client.ts'
import { COLLECTIONS, type Collection } from './collections.ts'
import { diffCopies } from './diff-copies.ts'
import type { ReplicationStatus } from './replication-status.ts'

/** How long a question for news waits there. The copies are known to be right that often. */
const WAIT_SECONDS = 5
/** Without news everything is compared after so many of them all the same: that is what heals. */
const QUIET_WAITS_MAX = 12
/** A server that has not answered by then is away. */
const ANSWER_MS_MAX = 15_000
/** Between two tries while the authoritative region does not answer. */
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 10_000
/** Things that are read at once, and that one commit holds. */
const READS_MAX = 64
const COMMIT_ROWS_MAX = 500

/** The answer where there are no tokens, and so everybody sees everything. */
const ACL_DISABLED = 400
const UNKNOWN_TOKEN = 403
const OwnToken = Type.Pick(AclToken, ['Type'])

interface ReplicationLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface ReplicationOptions {
  readonly context: WorkloadContext
  readonly client: Pick<RegionClient, 'call'>
  /** The authoritative region. */
  readonly region: string
  /** The secret of a token that may read all of it there; empty where ACLs are off. */
  readonly token: string
  readonly status: ReplicationStatus
  readonly log: ReplicationLog
}

/**
 * Keeps copies of what the authoritative region rules. Runs on the server that leads. Where it left
 * off is nowhere stored: whoever begins compares everything once, by hash, and then waits for news
 * with blocking queries.
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
    const wanted = COLLECTIONS.filter(({ isAcl }) => context.aclEnabled || !isAcl)
    status.begin(wanted.map(({ name }) => name))
    this.#running = Promise.all(wanted.map((collection) => this.#follow(collection)))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#options.status.end()
    await this.#running
  }

  async #follow(collection: Collection): Promise<void> {
    const { status, log, region } = this.#options
    const { name } = collection
    let index = 0
    let quietWaits = 0
    let retryMs = RETRY_MS_MIN
    while (!this.#isStopped) {
      try {
        const isQuiet = index > 0 && !(await this.#hasNews(collection, index))
        quietWaits = isQuiet && !status.hasKept(name) ? quietWaits + 1 : QUIET_WAITS_MAX
        if (quietWaits >= QUIET_WAITS_MAX) {
          index = await this.#round(collection)
          quietWaits = 0
        }
        if (status.answered(name, index)) log.info({ region, collection: name }, 'copies are kept')
        retryMs = RETRY_MS_MIN
      } catch (thrown) {
        if (this.#isStopped) return
        if (status.failed(name, errorMessage(thrown)))
          log.warn({ region, collection: name, err: errorMessage(thrown) }, 'copies are not kept')
        // What was read may have been half stored: the next round compares everything.
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
   * Waits a while for something to change. One row is asked for at most: a list of thousands would
   * cross the ocean every few seconds to say that there is nothing new.
   */
  async #hasNews({ listUrl }: Collection, index: number): Promise<boolean> {
    const query = `index=${index}&wait=${WAIT_SECONDS}s&per_page=1`
    // An index that went back is that of a restored installation.
    return (await this.#read(withQuery(listUrl, query))).index !== index
  }

  /** Makes the copies here what there is, and gives the index of that. */
  async #round(collection: Collection): Promise<number> {
    const { context } = this.#options
    await this.#mustSeeAll()
    const answer = await this.#read(collection.listUrl)
    const listed: unknown = JSON.parse(answer.text)
    if (!Array.isArray(listed)) throw unknownAnswer(answer)
    const nowMs = context.clock.nowMs()
    const byKey = new Map<string, unknown>()
    const there = listed.flatMap((one: unknown) => {
      const marked = collection.markOf(one, nowMs)
      if (marked === undefined) return []
      byKey.set(marked.key, one)
      return [marked]
    })
    const { changed, gone } = diffCopies(there, collection.here(context))
    await this.#copy(collection, changed, byKey)
    for (const key of gone) await this.#remove(collection, key)
    return Math.max(1, answer.index)
  }

  /**
   * Lists show what a token may see, and to one that may see little everything seems to be gone.
   * Whoever may do everything is shown everything.
   */
  async #mustSeeAll(): Promise<void> {
    const { token, region } = this.#options
    const answer = await this.#read('/v1/acl/token/self', [200, ACL_DISABLED, UNKNOWN_TOKEN])
    const { status, text } = answer
    if (status === ACL_DISABLED) return
    const shown: unknown = status === UNKNOWN_TOKEN ? undefined : JSON.parse(text)
    if (Value.Check(OwnToken, shown) && shown.Type === 'management') return
    const unknown = `is not known in region "${region}"`
    const weak = token === '' ? 'is not set' : 'is not that of a management token'
    const why = shown === undefined ? unknown : weak
    throw new Fault('replication-token', `acl.replication_token ${why}`)
  }

  async #copy(
    collection: Collection,
    keys: readonly string[],
    listed: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    const { context } = this.#options
    const { readUrl } = collection
    for (let at = 0; at < keys.length; at += COMMIT_ROWS_MAX) {
      const some = keys.slice(at, at + COMMIT_ROWS_MAX)
      const wholes =
        readUrl === undefined
          ? some.map((key) => listed.get(key))
          : await this.#readAll(some.map(readUrl))
      const present = wholes.filter((whole) => whole !== undefined)
      const changes = present.map((whole): Change => collection.copy(context, whole))
      await this.#commit(collection, changes)
    }
  }

  async #commit({ cause }: Collection, changes: readonly Change[]): Promise<void> {
    if (changes.length === 0 || this.#isStopped) return
    const { durable } = this.#options.context.store.commit({
      by: 'system',
      cause,
      changes: () => changes,
    })
    await durable
  }

  /** What is used here stays until it is not any more; it is tried again with each round. */
  async #remove(collection: Collection, key: string): Promise<void> {
    if (this.#isStopped) return
    const { context, status } = this.#options
    const removed = await collection.remove(context, key)
    status.kept(collection.name, key, removed.ok ? undefined : removed.error.message)
  }

  /** So many at once that a region an ocean away is copied in seconds too. */
  async #readAll(urls: readonly string[]): Promise<unknown[]> {
    const wholes: unknown[] = []
    let next = 0
    const readOn = async (): Promise<void> => {
      for (let at = next++; at < urls.length; at = next++)
        wholes[at] = await this.#readOne(urls[at] ?? '')
    }
    const readers = Array.from({ length: Math.min(READS_MAX, urls.length) }, readOn)
    try {
      await Promise.all(readers)
    } finally {
      // After one that failed the others have nothing more to read.
      next = urls.length
    }
    return wholes
  }

  /** Undefined when it has gone in the meantime: the next list tells. */
  async #readOne(url: string): Promise<unknown> {
    const answer = await this.#read(url, [200, 404])
    return answer.status === 404 ? undefined : JSON.parse(answer.text)
  }

  async #read(url: string, statuses: readonly number[] = [200]): Promise<RegionAnswer> {
    const { client, region, token } = this.#options
    const answer = await client.call(region, {
      method: 'GET',
      url,
      hop: 'named',
      token,
      signal: this.#stopping.signal,
      answerMsMax: ANSWER_MS_MAX,
    })
    if (!statuses.includes(answer.status)) throw unknownAnswer(answer)
    return answer
  }

  async #pause(ms: number): Promise<void> {
    const { clock, random } = this.#options.context
    const { signal } = this.#stopping
    // Servers of many regions must not come back in step.
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

/** Enough of an answer to see what is wrong, and no secret: those are in answers that are taken. */
const SHOWN_CHARS_MAX = 200

function unknownAnswer({ status, text }: RegionAnswer): Fault {
  const why = status === 200 ? 'something that is no list' : text.slice(0, SHOWN_CHARS_MAX)
  return new Fault('region-answer', `the authoritative region answered ${status}: ${why}`)
}
