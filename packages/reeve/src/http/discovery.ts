import type { FastifyInstance } from 'fastify'

/** A document by which programs that know only the name of a host find its services. */
export interface ServiceDiscovery {
  readonly path: string
  /** Paths by the names of the services. */
  readonly services: Readonly<Record<string, string>>
}

/** Readers of the document check that its type is exactly this one, without a parameter. */
const JSON_TYPE = 'application/json'

/** Needs no token: it says nothing but where the services are. */
export function mountDiscovery(
  app: FastifyInstance,
  discovery: ServiceDiscovery | undefined,
): void {
  if (discovery === undefined) return
  const text = JSON.stringify(discovery.services)
  app.get(discovery.path, (_request, reply) =>
    reply
      .type(JSON_TYPE)
      .serializer((body: string) => body)
      .send(text),
  )
}
