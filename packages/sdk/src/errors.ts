import type { v2 } from '@reeve/contract'
import { LIMITS } from './limits.ts'

/** The route of a call. Path parameters are left out because they may be secret. */
export interface RouteName {
  readonly method: string
  /** `/v1/job/:job_id` */
  readonly path: string
}

interface ApiErrorParts {
  readonly route: RouteName
  readonly status: number
  readonly code?: string | undefined
  readonly text: string
  readonly errors: readonly v2.ErrorObject[]
  readonly requestId: string | undefined
  readonly index: number | undefined
  readonly retryAfterMs: number | undefined
}

/** An error response of the server. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly route: RouteName
  readonly status: number
  /**
   * Error code such as `job-not-found` or `policy-denied`. Undefined if the response is not from a
   * server, or from a version without codes. Compare this instead of the text.
   */
  readonly code: string | undefined
  /** Workload API: the body. Governance API: the details of all errors, one per line. */
  readonly text: string
  /** Governance API: the errors of the document. Empty for the workload API. */
  readonly errors: readonly v2.ErrorObject[]
  /** ID of the call in the server's logs. */
  readonly requestId: string | undefined
  /** Index for a blocking query that waits until the missing record appears. */
  readonly index: number | undefined
  /** Value of `Retry-After`. */
  readonly retryAfterMs: number | undefined

  constructor(parts: ApiErrorParts) {
    super(messageOf(parts))
    this.route = parts.route
    this.status = parts.status
    this.code = parts.code
    this.text = parts.text
    this.errors = parts.errors
    this.requestId = parts.requestId
    this.index = parts.index
    this.retryAfterMs = parts.retryAfterMs
  }

  /**
   * Returns the details of the errors of one member of the body, such as `/data/attributes/name`.
   */
  detailsAt(pointer: string): readonly string[] {
    const here = this.errors.filter((error) => error.source?.pointer === pointer)
    return here.map((error) => error.detail)
  }
}

function messageOf({ route, status, text, requestId }: ApiErrorParts): string {
  const bodyText = text === '' ? '' : ` ${text.slice(0, LIMITS.messageCharsMax)}`
  const requestText = requestId === undefined || status < 500 ? '' : ` (request ${requestId})`
  return `${route.method} ${route.path}: ${status}${bodyText}${requestText}`
}

/**
 * - `unreachable`: no connection or no response.
 * - `wrong-scheme`: the server does not speak https, or closed a plain connection at once.
 * - `untrusted`: the certificate of the server is not trusted.
 * - `certificate-rejected`: the server requires a client certificate, or rejected the given one.
 * - `timeout`: no response in time.
 * - `redirect`: the address redirects; following it would send the token elsewhere.
 * - `cut`: the response ended prematurely.
 * - `unreadable`: the response is not in the format of this server.
 */
export type ConnectionFailure =
  | 'unreachable'
  | 'wrong-scheme'
  | 'untrusted'
  | 'certificate-rejected'
  | 'timeout'
  | 'redirect'
  | 'cut'
  | 'unreadable'

interface ConnectionErrorParts {
  readonly reason: ConnectionFailure
  readonly address: string
  /** The cause and the suggested action, for display. */
  readonly message: string
  readonly cause?: unknown
}

/** The server was not reached, or the response is not from a server. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly reason: ConnectionFailure
  readonly address: string

  constructor(parts: ConnectionErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause })
    this.reason = parts.reason
    this.address = parts.address
  }
}

/**
 * The session closed before the command ended. Code 1008 reports an invalid request, 1011 an error
 * of the server or driver.
 */
export class ExecError extends Error {
  override readonly name = 'ExecError'
  /** Close code of the WebSocket. */
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string) {
    super(`the session was closed with code ${code}${reason === '' ? '' : `: ${reason}`}`)
    this.code = code
    this.reason = reason
  }
}
