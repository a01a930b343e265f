import { codeOfStatus } from './error-codes.ts'

/**
 * A request that is rejected before it reaches a route. The server renders it in the dialect of
 * the path.
 */
export class HttpError extends Error {
  /** Status, under Fastify's name, so that its own errors can be handled alike. */
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
    // The stack is not used, and capturing it takes longer than the rest of a rejection.
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = limit
    this.statusCode = statusCode
    this.headers = headers
    this.code = code
  }
}
