import type { Refusal } from '../../model/index.ts'
import { STATUS_OF } from './statuses.ts'

/** Why a channel is closed. */
export interface Closing {
  readonly code: number
  readonly reason: string
  /** What the same refusal is over HTTP; undefined for what could not be read. */
  readonly status?: number
}

/** Reference §7.1: what is our fault is 1011, everything else 1008. */
export function closingOf({ code, message }: Refusal): Closing {
  const status = STATUS_OF[code]
  return { code: status >= 500 ? 1011 : 1008, reason: message, status }
}

const CLOSE_BYTES_MAX = 123

/** RFC 6455 §5.5 leaves 123 bytes for the reason; a character is not cut in half. */
export function closeReason(text: string): string {
  let bytes = 0
  let kept = ''
  for (const character of text.toWellFormed()) {
    bytes += Buffer.byteLength(character)
    if (bytes > CLOSE_BYTES_MAX) break
    kept += character
  }
  return kept
}
