import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Header of a request that a server has forwarded: time, nonce, client address and an HMAC with the
 * cluster's key. It prevents loops, and its client address is trusted; it grants nothing else.
 */
export const FORWARDED_HEADER = 'x-service-forwarded'

/** Accepted age; clocks of servers differ by less. */
const VALIDITY_MS = 60_000
const NONCE_BYTES = 12
/**
 * Headers that authenticate the client: a forward header of one client must not be used for
 * another.
 */
const CREDENTIALS = ['authorization', 'x-service-token'] as const

/** The signed parts of a request. Bodies are not signed: they may be endless streams. */
interface SignedRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface ForwardClaims {
  /** Address of the client of the first server. */
  readonly clientAddress: string
  /** Advertised address of the server to which the request was forwarded. */
  readonly target: string
  readonly nonce: string
}

/** Returns the header's value for a request to be forwarded. */
export function signForward(
  key: Buffer,
  request: SignedRequest,
  { caller, target, nowMs }: { caller: string; target: string; nowMs: number },
): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url')
  const addresses = [caller, target].map((text) => Buffer.from(text).toString('base64url'))
  const payload = [nowMs, nonce, ...addresses].join('.')
  return `${payload}.${computeMac(key, request, payload)}`
}

/** Returns the claims if a server with one of the keys signed them recently. */
export function verifyForward(
  keys: readonly Buffer[],
  request: SignedRequest,
  { value, nowMs }: { readonly value: unknown; readonly nowMs: number },
): ForwardClaims | undefined {
  if (typeof value !== 'string') return undefined
  const [time = '', nonce = '', caller = '', target = '', mac = '', ...more] = value.split('.')
  const isRecent = time !== '' && Math.abs(nowMs - Number(time)) <= VALIDITY_MS
  if (more.length > 0 || !isRecent) return undefined
  const payload = [time, nonce, caller, target].join('.')
  if (!keys.some((key) => isSameMac(mac, computeMac(key, request, payload)))) return undefined
  return { nonce, clientAddress: decodeBase64Url(caller), target: decodeBase64Url(target) }
}

function isSameMac(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function decodeBase64Url(encoded: string): string {
  return Buffer.from(encoded, 'base64url').toString('utf8')
}

function computeMac(key: Buffer, { method, url, headers }: SignedRequest, payload: string): string {
  const credentials = CREDENTIALS.map((name) => headers[name] ?? '')
  // No part can contain a line break, so different requests never give the same text.
  const text = [method, url, ...credentials, payload].join('\n')
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Longer than a forward header is valid, so two generations hold every valid nonce. */
const GENERATION_MS = 120_000
/** Nonces per generation; when it is full, the next generation begins early. */
const NONCES_MAX = 200_000

/**
 * Remembers used nonces and their connections, so that a captured forward header cannot be
 * replayed. The same connection may use its nonce again: a request that waited is processed twice.
 */
export class NonceCache {
  #current = new Map<string, number>()
  #previous = new Map<string, number>()
  readonly #connectionIds = new WeakMap<object, number>()
  #lastConnectionId = 0
  #currentSinceMs = 0

  /**
   * Reports whether the connection may use the nonce: it is new, or the same connection used it.
   */
  useOnce(nonce: string, connection: object, nowMs: number): boolean {
    if (nowMs - this.#currentSinceMs > GENERATION_MS || this.#current.size >= NONCES_MAX) {
      this.#previous = this.#current
      this.#current = new Map()
      this.#currentSinceMs = nowMs
    }
    const usedBy = this.#current.get(nonce) ?? this.#previous.get(nonce)
    if (usedBy !== undefined) return usedBy === this.#connectionIds.get(connection)
    this.#current.set(nonce, this.#connectionIdOf(connection))
    return true
  }

  #connectionIdOf(connection: object): number {
    const id = this.#connectionIds.get(connection) ?? ++this.#lastConnectionId
    this.#connectionIds.set(connection, id)
    return id
  }
}
