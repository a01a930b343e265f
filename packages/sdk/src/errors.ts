import type { v2 } from '@reeve/contract'
import { LIMITS } from './limits.ts'

/** The route of a call, without the values in its path, which may be secret. */
export interface ErrorRoute {
  readonly method: string
  /** `/v1/job/:job_id` */
  readonly path: string
}

interface ApiErrorParts {
  readonly route: ErrorRoute
  readonly status: number
  readonly code?: string | undefined
  readonly text: string
  readonly errors: readonly v2.ErrorObject[]
  readonly requestId: string | undefined
  readonly index: number | undefined
  readonly retryAfterMs: number | undefined
}

/** The server was reached, and answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly route: ErrorRoute
  readonly status: number
  /**
   * Which error it is: `job-not-found`, `policy-denied` … Undefined when the answer does not come
   * from a server, or from one of a version without codes. Compare this, never the text.
   */
  readonly code: string | undefined
  /** Workload API: the body. Governance API: the details of all errors, one on each line. */
  readonly text: string
  /** Governance API: the errors of the document. Empty for the workload API. */
  readonly errors: readonly v2.ErrorObject[]
  /** Names the call in the logs of the server. */
  readonly requestId: string | undefined
  /** What to block on until a missing record appears: a query for it blocks too. */
  readonly index: number | undefined
  /** How long the server asked to be left alone. */
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

  /** What is wrong with one member of the body, such as `/data/attributes/name`. */
  detailsAt(pointer: string): readonly string[] {
    const here = this.errors.filter((error) => error.source?.pointer === pointer)
    return here.map((error) => error.detail)
  }
}

function messageOf({ route, status, text, requestId }: ApiErrorParts): string {
  const said = text === '' ? '' : ` ${text.slice(0, LIMITS.messageCharsMax)}`
  const where = requestId === undefined || status < 500 ? '' : ` (request ${requestId})`
  return `${route.method} ${route.path}: ${status}${said}${where}`
}

/**
 * - `unreachable`: no answer came.
 * - `wrong-scheme`: the server speaks http where https was used, or closed the connection at once.
 * - `untrusted`: the certificate of the server is not trusted.
 * - `certificate-rejected`: the server asks for a certificate, or rejects the one it was shown.
 * - `timeout`: none came in time.
 * - `redirect`: the address leads elsewhere; following it would carry the token there.
 * - `cut`: the answer ended before its end.
 * - `unreadable`: it is not what this server would send.
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
  /** What happened and what to try, in sentences for a person. */
  readonly message: string
  readonly cause?: unknown
}

/** The server was not reached, or what came back is not from one. */
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
 * The session ended before the command did. 1008 says that the request is wrong, 1011 that the
 * server or the driver failed.
 */
export class ExecError extends Error {
  override readonly name = 'ExecError'
  /** The close code of the WebSocket. */
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string) {
    super(`the session was closed with code ${code}${reason === '' ? '' : `: ${reason}`}`)
    this.code = code
    this.reason = reason
  }
}
