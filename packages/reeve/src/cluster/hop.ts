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
export interface SignedRequest {
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

/** Returns the claims if a server of this cluster signed them recently; undefined otherwise. */
export function verifyForward(
  key: Buffer,
  request: SignedRequest,
  { value, nowMs }: { readonly value: unknown; readonly nowMs: number },
): ForwardClaims | undefined {
  if (typeof value !== 'string') return undefined
  const [time = '', nonce = '', caller = '', target = '', mac = '', ...more] = value.split('.')
  const isRecent = time !== '' && Math.abs(nowMs - Number(time)) <= VALIDITY_MS
  if (more.length > 0 || !isRecent) return undefined
  const expectedMac = Buffer.from(computeMac(key, request, [time, nonce, caller, target].join('.')))
  const actualMac = Buffer.from(mac)
  if (actualMac.length !== expectedMac.length || !timingSafeEqual(actualMac, expectedMac))
    return undefined
  return { nonce, clientAddress: decodeBase64Url(caller), target: decodeBase64Url(target) }
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
