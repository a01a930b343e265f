import type { FastifyInstance } from 'fastify'
import type { GovernanceAliases } from '../compat/index.ts'

/** Readers of the document check that its type is exactly this one, without a parameter. */
const JSON_TYPE = 'application/json'

/**
 * The document by which programs that know only the name of a host find its services. It needs no
 * token, because it says nothing but where the services are.
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
