/**
 * A request that is refused before it reaches a route; the shell writes it in the path's dialect.
 */
export class HttpError extends Error {
  /** Fastify's name for it, so that its own errors and these are read alike. */
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}
