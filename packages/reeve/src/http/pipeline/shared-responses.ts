import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import type { Answer } from '../answer.ts'

/** What a read is answered with. */
export interface ReadResult {
  readonly index: number
  readonly answer: Result<Answer, Refusal>
}

/** A read that was woken, and all that its result depends on besides the state. */
export interface WokenRead {
  /** The very object: the authenticator makes another one when the rights of a token change. */
  readonly caller: Caller
  readonly secret: string | undefined
  /** Path and query as they came. */
  readonly url: string
  /** The commit that woke it: an older state is no answer to it. */
  readonly wokenBy: number
}

interface SharedResponse {
  readonly caller: Caller
  /** The state that it was read from. */
  readonly stateIndex: number
  readonly result: Promise<ReadResult>
  bytes: number
}

/**
 * Results that identical parked queries share: one commit wakes thousands of them, and they are
 * computed and rendered once (decision 0066).
 *
 * A result may be given to another query only if it has the same caller, the same secret and the
 * same URL, and if the result was read from a state that holds the commit which woke the query.
 * Then it is what the query would have read itself at that moment, which was while it waited.
 */
export class SharedResponses {
  readonly #clock: Clock
  /** The oldest first. */
  readonly #responses = new Map<string, SharedResponse>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#responses.size
  }

  /** The result of an identical query, or what `compute` gives for this one and those to come. */
  read(
    read: WokenRead,
    stateIndex: number,
    compute: () => Promise<ReadResult>,
  ): Promise<ReadResult> {
    const key = `${read.secret ?? ''}\n${read.url}`
    const known = this.#responses.get(key)
    if (known?.caller === read.caller && known.stateIndex >= read.wokenBy) return known.result
    if (known !== undefined) this.#remove(key, known)
    const response = { caller: read.caller, stateIndex, result: compute(), bytes: 0 }
    this.#add(key, response)
    response.result.then(
      ({ answer }) => this.#computed(key, response, answer),
      () => this.#remove(key, response),
    )
    return response.result
  }

  #add(key: string, response: SharedResponse): void {
    this.#responses.set(key, response)
    this.#clock.after(LIMITS.sharedResponseMs, () => this.#remove(key, response))
    if (this.#responses.size > LIMITS.sharedResponsesMax) this.#removeOldest()
  }

  /** Bodies that are written piece by piece are too large to be kept. */
  #computed(key: string, response: SharedResponse, answer: Result<Answer, Refusal>): void {
    if (this.#responses.get(key) !== response) return
    const body = answer.ok ? answer.value.body : undefined
    if (body !== undefined && body.kind !== 'json-bytes') return this.#remove(key, response)
    response.bytes = answerBytes(answer)
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

/** Bytes of an answer that is rendered already. */
export function answerBytes(answer: Result<Answer, Refusal>): number {
  const body = answer.ok ? answer.value.body : undefined
  return body?.kind === 'json-bytes' ? body.bytes.length : 0
}
