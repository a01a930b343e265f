import { v2, type AclToken } from '@reeve/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AclTokenRow } from '../../model/index.ts'
import { asIs, sendV2Error } from './errors.ts'

export interface AccountHost {
  /** The management token a bearer secret belongs to; undefined for anything else. */
  readonly findAdministrator: (secret: string) => AclTokenRow | undefined
}

/** Governance calls so far: is somebody there, and who am I (reference governance §4.1). */
export const v2MountedRoutes = [v2.v2Routes.ping, v2.v2Routes.readAccount] as const

export function mountAccount(app: FastifyInstance, host: AccountHost): void {
  for (const { path } of v2MountedRoutes)
    app.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: path,
      handler: (request, reply) =>
        sendV2Error(
          reply.header('allow', 'GET, HEAD'),
          405,
          `${request.method} is not possible here`,
        ),
    })
  app.get(v2.v2Routes.ping.path, (_request, reply) => reply.code(204).send())
  app.get(v2.v2Routes.readAccount.path, (request, reply) => {
    const secret = bearerOf(request)
    const token = secret === undefined ? undefined : host.findAdministrator(secret)
    if (token === undefined)
      return sendV2Error(reply, 401, 'the bearer token is absent, malformed, expired or revoked')
    return reply
      .type(v2.JSON_API_TYPE)
      .serializer(asIs)
      .send(JSON.stringify({ data: administrator(token) }))
  })
}

function bearerOf(request: FastifyRequest): string | undefined {
  const [scheme, secret] = (request.headers.authorization ?? '').trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' ? secret : undefined
}

/** Architecture §9: the management token of `/v1` is the site administrator here. */
function administrator(token: Pick<AclToken, 'AccessorID'>): v2.Account {
  const id = `user-${userSuffix(token.AccessorID)}`
  return {
    id,
    type: 'users',
    attributes: {
      username: 'administrator',
      'is-service-account': true,
      'avatar-url': null,
      email: null,
      'is-admin': true,
      'two-factor': { enabled: false, verified: false },
      permissions: {
        'can-create-organizations': true,
        'can-change-email': false,
        'can-change-username': false,
        'can-manage-user-tokens': false,
      },
    },
    relationships: {
      'authentication-tokens': { links: { related: `/api/v2/users/${id}/authentication-tokens` } },
      'authenticated-resource': {
        data: { id, type: 'users' },
        links: { related: `/api/v2/users/${id}` },
      },
    },
    links: { self: `/api/v2/users/${id}`, 'auth-token': null },
  }
}

/** The id of the service user that stands for a token: the same for the same accessor. */
function userSuffix(accessorId: string): string {
  const digits = BigInt(`0x${accessorId.replaceAll('-', '')}`)
  let rest = digits
  let suffix = ''
  for (let i = 0; i < SUFFIX_CHARS; i++) {
    suffix += v2.ID_ALPHABET.charAt(Number(rest % BigInt(v2.ID_ALPHABET.length)))
    rest /= BigInt(v2.ID_ALPHABET.length)
  }
  return suffix
}

const SUFFIX_CHARS = 16
