import { headers as HEADERS } from '../called-routes.ts'
import type { AnswerHeaders, Reply } from '../route-types.ts'

/** The server gives one to every call, or keeps the caller's. */
const REQUEST_ID = 'x-request-id'

/** What the headers of an answer say about the state that it was read from. */
export function stateIn(
  headers: AnswerHeaders,
): Omit<Reply<unknown>, 'data' | 'status' | 'headers'> {
  const knownLeader = headers.get(HEADERS.knownLeader)
  return {
    index: numberIn(headers, HEADERS.index),
    nextToken: headers.get(HEADERS.nextToken) || undefined,
    knownLeader: knownLeader === null ? undefined : knownLeader === 'true',
    lastContact: numberIn(headers, HEADERS.lastContact),
    requestId: headers.get(REQUEST_ID) ?? undefined,
  }
}

/** A whole number ≥ 0 in a header; undefined when it is absent or something else. */
function numberIn(headers: AnswerHeaders, name: string): number | undefined {
  const text = headers.get(name) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
