import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Says that a server has passed the request on already, and for whom: time, a nonce, the caller's
 * address, and an HMAC of the cluster. It ends loops, and the address is believed; nobody may do
 * more for having it.
 */
export const HOP_HEADER = 'x-service-forwarded'

/** Clocks of servers differ by less; older ones are somebody else's. */
const AGE_MS_MAX = 60_000
const NONCE_BYTES = 12
/** What proves who the caller is: a hop of one caller must not speak for another. */
const CREDENTIALS = ['authorization', 'x-service-token'] as const

/** What is asked, as both servers see it. Bodies are not in it: they may be streams without end. */
export interface HoppedRequest {
  readonly method: string
  /** With its query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface Hop {
  /** The address of whoever asked the first server. */
  readonly caller: string
  /** Whom it was passed on to, as that server is known to others. */
  readonly target: string
  readonly nonce: string
}

/** The header's value for a request that is passed on. */
export function signHop(
  key: Buffer,
  request: HoppedRequest,
  { caller, target, nowMs }: { caller: string; target: string; nowMs: number },
): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url')
  const names = [caller, target].map((text) => Buffer.from(text).toString('base64url'))
  const stamp = [nowMs, nonce, ...names].join('.')
  return `${stamp}.${macOf(key, request, stamp)}`
}

/** What a server of the same cluster wrote for this request, lately; undefined otherwise. */
export function readHop(
  key: Buffer,
  request: HoppedRequest,
  { value, nowMs }: { readonly value: unknown; readonly nowMs: number },
): Hop | undefined {
  if (typeof value !== 'string') return undefined
  const [time = '', nonce = '', caller = '', target = '', mac = '', ...more] = value.split('.')
  const isRecent = time !== '' && Math.abs(nowMs - Number(time)) <= AGE_MS_MAX
  if (more.length > 0 || !isRecent) return undefined
  const wanted = Buffer.from(macOf(key, request, [time, nonce, caller, target].join('.')))
  const given = Buffer.from(mac)
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
  return { nonce, caller: textOf(caller), target: textOf(target) }
}

function textOf(encoded: string): string {
  return Buffer.from(encoded, 'base64url').toString('utf8')
}

function macOf(key: Buffer, { method, url, headers }: HoppedRequest, stamp: string): string {
  const credentials = CREDENTIALS.map((name) => headers[name] ?? '')
  // No part can hold a line break, so no two requests give the same text.
  const text = [method, url, ...credentials, stamp].join('\n')
  return createHmac('sha256', key).update(text).digest('base64url')
}
