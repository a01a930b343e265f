import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HttpAliases } from '../compat/index.ts'

/**
 * Returns the request ID of the client if it is short and printable, so that logs of client and
 * server can be correlated; otherwise a new one.
 */
export function requestId(clientId: string | readonly string[] | undefined): string {
  return typeof clientId === 'string' && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : randomUUID()
}

/** Uploads and logs of runs have their key in the path. */
const KEY_PATTERN = /^(\/api\/v2\/(?:uploads\/[^/]*|run-logs)\/)[^?]+/

/**
 * Masks the key in a URL for the log: such keys replace a token, and logs must not contain secrets.
 */
export function redactUrl(url: string): string {
  return url.replace(KEY_PATTERN, '$1***')
}

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

/**
 * Methods for which paths are mounted. Fastify's router has a tree for each method, and building
 * seven of them would take longer than all other work of creating a server: HEAD is routed as GET,
 * others as POST, and each path then chooses its route or rejects the method.
 */
export const MOUNTED_METHODS = ['GET', 'POST'] as const

/** Known methods, and the method that each is routed as. */
const ROUTED_AS: Readonly<Record<string, string>> = {
  GET: 'GET',
  HEAD: 'GET',
  POST: 'POST',
  PUT: 'POST',
  PATCH: 'POST',
  DELETE: 'POST',
  OPTIONS: 'POST',
}

export function isKnownMethod(method: string): boolean {
  return Object.hasOwn(ROUTED_AS, method)
}

/** Original method of a request, if it differs from the routed one. */
const sentMethods = new WeakMap<IncomingMessage, string>()

/**
 * Replaces the method so that the router finds the path; `restoreMethod` undoes it. An unknown
 * method is rejected like PATCH on a path without it.
 */
export function routeAsMounted(request: IncomingMessage): void {
  const { method: sent = '' } = request
  const method = isKnownMethod(sent) ? sent : 'PATCH'
  const routed = ROUTED_AS[method] ?? method
  if (routed === sent) return
  sentMethods.set(request, method)
  request.method = routed
}

/** Restores the original method, before anything but the router has read it. */
export function restoreMethod(request: IncomingMessage): void {
  const method = sentMethods.get(request)
  if (method !== undefined) request.method = method
}
