import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import type { HttpResponse } from '../answer.ts'

/** Result of a read. */
export interface ReadResult {
  readonly index: number
  readonly answer: Result<HttpResponse, Refusal>
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
    const response = { caller: read.caller, stateIndex, result: compute(), bytes: 0 }
    this.#add(key, response)
    response.result.then(
      ({ answer }) => this.#onComputed(key, response, answer),
      () => this.#remove(key, response),
    )
    return response.result
  }

  #add(key: string, response: SharedResponse): void {
    this.#responses.set(key, response)
    this.#clock.after(LIMITS.sharedResponseMs, () => this.#remove(key, response))
    if (this.#responses.size > LIMITS.sharedResponsesMax) this.#removeOldest()
  }

  /** Keeps the size of a computed response. Streamed bodies are too large to be kept. */
  #onComputed(key: string, response: SharedResponse, answer: Result<HttpResponse, Refusal>): void {
    if (this.#responses.get(key) !== response) return
    const body = answer.ok ? answer.value.body : undefined
    if (body !== undefined && body.kind !== 'json-bytes') return this.#remove(key, response)
    response.bytes = responseBytes(answer)
    this.#bytes += response.bytes
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

/** Returns the size of a rendered answer in bytes. */
export function responseBytes(answer: Result<HttpResponse, Refusal>): number {
  const body = answer.ok ? answer.value.body : undefined
  return body?.kind === 'json-bytes' ? body.bytes.length : 0
}
