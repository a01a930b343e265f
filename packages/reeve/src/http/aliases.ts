import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HttpAliases } from '../compat/index.ts'

/** A header that came under another name is there under ours too, unless ours came as well. */
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

/** Sets the other names of the headers that a reply has by now. */
export function repeatHeaders({ responseHeaders }: HttpAliases, reply: FastifyReply): void {
  for (const own in responseHeaders) {
    const other = responseHeaders[own]
    const value = reply.getHeader(own)
    if (value !== undefined && other !== undefined) void reply.header(other, value)
  }
}
