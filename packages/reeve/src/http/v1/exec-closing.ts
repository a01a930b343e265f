import type { Refusal } from '../../model/index.ts'
import { STATUS_OF } from './statuses.ts'

/** Why a channel is closed. */
export interface Closing {
  readonly code: number
  readonly reason: string
  /** What the same refusal is over HTTP; undefined for what could not be read. */
  readonly status?: number
}

/** What is our fault is 1011, everything else 1008. */
export function closingOf({ code, message }: Refusal): Closing {
  const status = STATUS_OF[code]
  return { code: status >= 500 ? 1011 : 1008, reason: message, status }
}
