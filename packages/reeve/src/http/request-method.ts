import type { IncomingMessage } from 'node:http'

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
