import { codeOfStatus } from './error-codes.ts'

/**
 * A request that is rejected before it reaches a route. The server renders it in the dialect of
 * the path.
 */
export class HttpError extends Error {
  /** Fastify's name for it, so that its own errors and these are read alike. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>

  /** The error code of the response (docs/reference/errors.md). */
  readonly code: string

  constructor(
    statusCode: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    code: string = codeOfStatus(statusCode),
  ) {
    // Nobody reads its stack, and to record one takes longer than the rest of a rejection.
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = limit
    this.statusCode = statusCode
    this.headers = headers
    this.code = code
  }
}
