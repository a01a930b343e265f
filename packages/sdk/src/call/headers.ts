import { headers as HEADERS } from '../called-routes.ts'
import type { ResponseHeaders, Reply } from '../route-types.ts'

/** Assigned to each call by the server, unless the caller sent one. */
const REQUEST_ID = 'x-request-id'

/** Returns the metadata that response headers carry about the state that was read. */
export function readStateHeaders(
  headers: ResponseHeaders,
): Omit<Reply<unknown>, 'data' | 'status' | 'headers'> {
  const knownLeader = headers.get(HEADERS.knownLeader)
  return {
    index: integerHeader(headers, HEADERS.index),
    nextToken: headers.get(HEADERS.nextToken) || undefined,
    knownLeader: knownLeader === null ? undefined : knownLeader === 'true',
    lastContact: integerHeader(headers, HEADERS.lastContact),
    requestId: headers.get(REQUEST_ID) ?? undefined,
  }
}

/** Returns a header as a whole number ≥ 0; undefined if it is absent or invalid. */
function integerHeader(headers: ResponseHeaders, name: string): number | undefined {
  const text = headers.get(name) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
