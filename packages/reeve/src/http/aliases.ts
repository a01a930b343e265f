import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HttpAliases } from '../compat/index.ts'

/** Copies request headers with alias names to the product's own names, unless those are set too. */
export function applyHeaderAliases(
  { requestHeaders }: HttpAliases,
  { headers }: { readonly headers: IncomingHttpHeaders },
): void {
  for (const alias in requestHeaders) {
    const name = requestHeaders[alias]
    const value = headers[alias]
    if (value !== undefined && name !== undefined) headers[name] ??= value
  }
}

/** Repeats the headers of a reply under their alias names. */
export function addAliasHeaders({ responseHeaders }: HttpAliases, reply: FastifyReply): void {
  for (const name in responseHeaders) {
    const alias = responseHeaders[name]
    const value = reply.getHeader(name)
    if (value !== undefined && alias !== undefined) void reply.header(alias, value)
  }
}
