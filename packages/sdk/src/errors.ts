import type { v2 } from '@reeve/contract'
import { LIMITS } from './limits.ts'

interface ApiErrorParts {
  /** `GET /v1/job/:job_id`: the route, not the values, which may be secret. */
  readonly call: string
  readonly status: number
  readonly text: string
  readonly errors: readonly v2.ErrorObject[]
  readonly requestId: string | undefined
  readonly index: number | undefined
  readonly retryAfterMs: number | undefined
}

/** The server was reached and said no. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Workload API: the body. Governance API: the details of all errors, one on each line. */
  readonly text: string
  /** Governance API: the errors of the document. Empty for the workload API. */
  readonly errors: readonly v2.ErrorObject[]
  /** Names the call in the logs of the server. */
  readonly requestId: string | undefined
  /** What to block on until a missing record appears (reference §1.4: not found blocks too). */
  readonly index: number | undefined
  /** How long the server asked to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(parts: ApiErrorParts) {
    super(messageOf(parts))
    this.status = parts.status
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

function messageOf({ call, status, text, requestId }: ApiErrorParts): string {
  const said = text === '' ? '' : ` ${text.slice(0, LIMITS.messageCharsMax)}`
  const where = requestId === undefined || status < 500 ? '' : ` (request ${requestId})`
  return `${call}: ${status}${said}${where}`
}

/**
 * - `unreachable`: no answer came.
 * - `timeout`: none came in time.
 * - `redirect`: the address leads elsewhere; following it would carry the token there.
 * - `cut`: the answer ended before its end.
 * - `unreadable`: it is not what this server would send.
 */
export type ConnectionFailure = 'unreachable' | 'timeout' | 'redirect' | 'cut' | 'unreadable'

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
 * The session ended before the command did. Reference §7.1: 1008 says that the request is wrong,
 * 1011 that the server or the driver failed.
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

/**
 * Whether a node was asked for files of an allocation that it has nothing of: it has removed them,
 * as nodes do with ended allocations, or has not begun with it.
 */
export function isGoneFromNode({ status, text }: ApiError): boolean {
  return status === 404 && GONE_FROM_NODE.test(text)
}

const GONE_FROM_NODE = /^state for allocation \S+ not found on client$/
