import type { IncomingMessage, ServerResponse } from 'node:http'
import { TEXT_TYPE } from '../answer.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from '../error-codes.ts'
import { HttpError } from '../http-error.ts'
import { requestId } from '../request-id.ts'

/** Why a request is rejected, and how long its client waits for the response. */
export interface RateProblem {
  readonly message: string
  readonly retrySeconds: number
  readonly delayMs: number
}

const TOO_MANY_REQUESTS = 429

/** The same as an error, for requests that take the way through Fastify. */
export function rateError({ message, retrySeconds }: RateProblem): HttpError {
  return new HttpError(TOO_MANY_REQUESTS, message, { 'retry-after': String(retrySeconds) })
}

/**
 * Whether a request can be rejected by a few writes: it has no body that would have to be
 * discarded, its connection waits for no other response, and it is not of a page or of JSON:API,
 * whose responses have more to them.
 */
export function isQuickToReject(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers, url = '' } = request
  return (
    response.socket !== null &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.origin === undefined &&
    !url.startsWith('/api/v2/')
  )
}

/** Rejects a request without Fastify; its connection is kept. */
export function sendRateProblem(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { message, retrySeconds }: RateProblem,
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
    TEXT_TYPE,
    'content-length',
    String(Buffer.byteLength(message)),
  ])
  response.end(message)
}
