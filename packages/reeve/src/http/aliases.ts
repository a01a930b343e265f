import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HttpAliases } from '../compat/index.ts'

/** Copies request headers with alias names to the product's own names, unless those are set too. */
export function receiveHeaders(
  { requestHeaders }: HttpAliases,
  { headers }: { readonly headers: IncomingHttpHeaders },
): void {
  for (const other in requestHeaders) {
    const own = requestHeaders[other]
    const value = headers[other]
    if (value !== undefined && own !== undefined) headers[own] ??= value
  }
}

/** Repeats the headers of a reply under their alias names. */
export function repeatHeaders({ responseHeaders }: HttpAliases, reply: FastifyReply): void {
  for (const own in responseHeaders) {
    const other = responseHeaders[own]
    const value = reply.getHeader(own)
    if (value !== undefined && other !== undefined) void reply.header(other, value)
  }
}
