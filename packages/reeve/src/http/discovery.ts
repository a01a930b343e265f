import type { FastifyInstance } from 'fastify'
import type { GovernanceAliases } from '../compat/index.ts'

/** Clients check that the type is exactly this one, without a parameter. */
const JSON_TYPE = 'application/json'

/**
 * Serves the service discovery document, with which clients that know only a host name find its
 * services. It needs no token: it contains only the paths of the services.
 */
export function mountDiscovery(
  app: FastifyInstance,
  { discoveryPath, discovery }: GovernanceAliases,
): void {
  if (discoveryPath === undefined) return
  const text = JSON.stringify(discovery)
  app.get(discoveryPath, (_request, reply) =>
    reply
      .type(JSON_TYPE)
      .serializer((body: string) => body)
      .send(text),
  )
}
