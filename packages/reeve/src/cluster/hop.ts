import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Says that a server has passed the request on already. Nobody is trusted more for having it. */
export const HOP_HEADER = 'x-service-forwarded'

/** Clocks of servers differ; older ones are somebody else's. */
const AGE_MS_MAX = 5 * 60_000
const NONCE_BYTES = 12

export interface HoppedRequest {
  readonly method: string
  readonly url: string
}

/** The header's value: time, a nonce, and an HMAC over both and what is asked for. */
export function signHop(key: Buffer, request: HoppedRequest, nowMs: number): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url')
  return `${nowMs}.${nonce}.${macOf(key, request, `${nowMs}.${nonce}`)}`
}

/** Whether a server of the same cluster wrote it, for this request, lately. */
export function isHop(
  key: Buffer,
  request: HoppedRequest,
  { value, nowMs }: { readonly value: unknown; readonly nowMs: number },
): boolean {
  if (typeof value !== 'string') return false
  const [time = '', nonce = '', mac = '', ...more] = value.split('.')
  if (more.length > 0 || Math.abs(nowMs - Number(time)) > AGE_MS_MAX) return false
  const wanted = Buffer.from(macOf(key, request, `${time}.${nonce}`))
  const given = Buffer.from(mac)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function macOf(key: Buffer, { method, url }: HoppedRequest, stamp: string): string {
  return createHmac('sha256', key).update(`${method}\n${url}\n${stamp}`).digest('base64url')
}
