import type { AclToken } from '@reeve/contract'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'

/** A server with ACLs on and bootstrapped. */
export interface SecuredServer {
  readonly server: TestServer
  /** The bootstrap token. */
  readonly root: AclToken
  /** The options of a call, with the bootstrap token. */
  readonly as: (token: { readonly SecretID: string }, options?: CallOptions) => CallOptions
  /** A new client token with these rules as its only policy. */
  readonly client: (rules: string) => Promise<AclToken>
  /** A new token of the fields; type `client` and a policy that does not exist unless given. */
  readonly token: (fields?: object) => Promise<AclToken>
}

export async function aSecuredServer(
  options: Parameters<typeof createTestServer>[0] = {},
): Promise<SecuredServer> {
  const server = await createTestServer(options)
  const root = await server.ok('bootstrapAcl')
  let count = 0
  const as: SecuredServer['as'] = (token, call = {}) => ({ ...call, token: token.SecretID })
  const token: SecuredServer['token'] = (fields = {}) =>
    server.ok(
      'createAclToken',
      as(root, { body: { Type: 'client', Policies: ['nothing'], ...fields } }),
    )
  return {
    server,
    root,
    as,
    token,
    async client(rules) {
      const name = `policy-${++count}`
      const params = { policy_name: name }
      await server.ok('writeAclPolicy', as(root, { params, body: { Name: name, Rules: rules } }))
      return token({ Policies: [name] })
    },
  }
}
