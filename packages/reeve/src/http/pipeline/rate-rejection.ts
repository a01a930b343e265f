import type { IncomingMessage, ServerResponse } from 'node:http'
import { TEXT_PLAIN } from '../answer.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from '../error-codes.ts'
import { HttpError } from '../http-error.ts'
import { requestId } from '../request-id.ts'

/** Reason for a rejection, and the delay of its response. */
export interface RateRejection {
  readonly message: string
  readonly retrySeconds: number
  readonly delayMs: number
}

const TOO_MANY_REQUESTS = 429

/** Returns the problem as an error, for requests that pass through Fastify. */
export function rateError({ message, retrySeconds }: RateRejection): HttpError {
  return new HttpError(TOO_MANY_REQUESTS, message, { 'retry-after': String(retrySeconds) })
}

/**
 * Reports whether a request can be rejected by a few writes: it has no body to discard, its
 * connection waits for no other response, and it comes neither from a page nor from JSON:API, whose
 * responses need more.
 */
export function canRejectEarly(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers, url = '' } = request
  return (
    response.socket !== null &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.origin === undefined &&
    !url.startsWith('/api/v2/')
  )
}

/** Rejects a request without Fastify; its connection stays open. */
export function sendRateRejection(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { message, retrySeconds }: RateRejection,
  sharedHeaders: readonly string[],
): void {
  response.writeHead(TOO_MANY_REQUESTS, [
    ...sharedHeaders,
    'x-request-id',
    requestId(request.headers['x-request-id']),
    ERROR_CODE_HEADER,
    codeOfStatus(TOO_MANY_REQUESTS),
    'retry-after',
    String(retrySeconds),
    'content-type',
    TEXT_PLAIN,
    'content-length',
    String(Buffer.byteLength(message)),
  ])
  response.end(message)
}
