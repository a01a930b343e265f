import { randomUUID } from 'node:crypto'

/**
 * Returns the request ID of the client if it is short and printable, so that logs of client and
 * server can be correlated; otherwise a new one.
 */
export function requestId(clientId: string | readonly string[] | undefined): string {
  return typeof clientId === 'string' && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : randomUUID()
}
