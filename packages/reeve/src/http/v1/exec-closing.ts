import type { Refusal } from '../../model/index.ts'
import { STATUS_OF } from './statuses.ts'

/** Close code and reason of a channel. */
export interface Closing {
  readonly code: number
  readonly reason: string
  /** HTTP status of the same error; undefined for an invalid request. */
  readonly status?: number
}

/** Returns the closing of a refusal: code 1011 for server errors, otherwise 1008. */
export function closingOf({ code, message }: Refusal): Closing {
  const status = STATUS_OF[code]
  return { code: status >= 500 ? 1011 : 1008, reason: message, status }
}
