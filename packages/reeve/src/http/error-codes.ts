import { HEADERS } from '@reeve/contract'

/** Name of the error code header in lower case. */
export const ERROR_CODE_HEADER = HEADERS.errorCode.toLowerCase()

/**
 * Error codes of the HTTP server itself, by status. Refusals of use cases and faults have other
 * codes; docs/reference/errors.md lists all of them.
 */
export const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'route-not-found',
  405: 'method-not-allowed',
  406: 'not-acceptable',
  408: 'request-timeout',
  413: 'body-too-large',
  414: 'url-too-long',
  415: 'unsupported-media-type',
  421: 'misdirected-request',
  429: 'too-many-requests',
  431: 'headers-too-large',
  500: 'internal-error',
  503: 'unavailable',
}

/** Returns the error code if only the status is known. */
export function codeOfStatus(status: number): string {
  return CODE_OF_STATUS[status] ?? (status < 500 ? 'bad-request' : 'internal-error')
}
