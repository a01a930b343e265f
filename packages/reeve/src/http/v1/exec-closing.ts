import type { Refusal } from '../../model/index.ts'
import { HTTP_STATUS } from './statuses.ts'

/** Close code and reason of a channel. */
export interface CloseFrame {
  readonly code: number
  readonly reason: string
  /** HTTP status of the same error; undefined for an invalid request. */
  readonly status?: number
}

/** Returns the closing of a refusal: code 1011 for server errors, otherwise 1008. */
export function closeFrameFor({ code, message }: Refusal): CloseFrame {
  const status = HTTP_STATUS[code]
  return { code: status >= 500 ? 1011 : 1008, reason: message, status }
}
