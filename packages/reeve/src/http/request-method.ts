import type { IncomingMessage } from 'node:http'

/**
 * The methods that paths are mounted for. Fastify's router has a tree for each method, and to build
 * seven of them would take longer than all else that creates a server: HEAD is routed as GET,
 * others as POST, and each path then chooses its route, or rejects the method.
 */
export const MOUNTED_METHODS = ['GET', 'POST'] as const

/** The methods that some path has, and how each is routed. */
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

/** What clients sent, where it is not what the router is given. */
const sentMethods = new WeakMap<IncomingMessage, string>()

/**
 * Lets the router find the path whatever the method is; `restoreMethod` takes it back. A method
 * that is unknown is rejected like PATCH where there is none.
 */
export function routeAsMounted(request: IncomingMessage): void {
  const { method: sent = '' } = request
  const method = isKnownMethod(sent) ? sent : 'PATCH'
  const routed = ROUTED_AS[method] ?? method
  if (routed === sent) return
  sentMethods.set(request, method)
  request.method = routed
}

/** Gives the request its method back, before anything but the router has read it. */
export function restoreMethod(request: IncomingMessage): void {
  const method = sentMethods.get(request)
  if (method !== undefined) request.method = method
}
