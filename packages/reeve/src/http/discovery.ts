import type { FastifyInstance } from 'fastify'
import type { GovernanceAliases } from '../compat/index.ts'
import { codeOfStatus, ERROR_CODE_HEADER, TEXT_PLAIN } from './response.ts'

/**
 * Documents with which others would verify the identities of workloads. There are no such
 * identities, so there are no keys.
 */
const KEY_DOCUMENTS = ['/.well-known/jwks.json', '/.well-known/openid-configuration']
const NO_KEYS =
  'Reeve signs no workload identities, so it has no keys to publish. Give tasks the credentials ' +
  'that they need as variables.'

/** Answers the routes of key documents with the reason for which there are none. */
export function mountKeyDocuments(app: FastifyInstance): void {
  for (const path of KEY_DOCUMENTS)
    app.get(path, (_request, reply) =>
      reply.code(404).header(ERROR_CODE_HEADER, codeOfStatus(404)).type(TEXT_PLAIN).send(NO_KEYS),
    )
}

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
