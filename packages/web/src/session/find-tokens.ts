import { ApiError, createClient } from '@reeve/sdk'
import type { Api } from './api.ts'
import type { Tokens } from './tokens.ts'

interface TokenLookup {
  readonly address: string
  readonly secret: string
  /** With ACLs disabled, the workload API has no tokens and is not called. */
  readonly isAclEnabled: boolean
}

/**
 * Finds the APIs that accept a secret: both for a management token, one for other tokens. Throws the
 * error of the server if neither does.
 */
export async function findTokens(lookup: TokenLookup): Promise<Partial<Tokens>> {
  const { address, secret, isAclEnabled } = lookup
  const client = createClient({ address, token: secret })
  const [workload, governance] = await Promise.allSettled([
    isAclEnabled ? client.v1.readOwnAclToken() : Promise.reject(new Error('access control is off')),
    client.v2.readAccount(),
  ])
  const isKnown = {
    workload: workload.status === 'fulfilled',
    governance: governance.status === 'fulfilled',
  }
  if (isKnown.workload || isKnown.governance)
    return {
      ...(isKnown.workload ? { workload: secret } : {}),
      ...(isKnown.governance ? { governance: secret } : {}),
    }
  const failures = [workload, governance].flatMap((one): readonly unknown[] =>
    one.status === 'rejected' ? [one.reason] : [],
  )
  // With ACLs disabled, only the governance API has responded.
  const rejection = failures.find((error) => error instanceof ApiError) ?? failures[0]
  throw rejection instanceof Error ? rejection : new Error('the server does not know this token')
}

export async function exchangeOneTimeSecret(api: Api, secret: string): Promise<Partial<Tokens>> {
  const { data } = await api.v1.exchangeOneTimeToken({ body: { OneTimeSecretID: secret } })
  const { SecretID, Type } = data.Token
  return Type === 'management'
    ? { workload: SecretID, governance: SecretID }
    : { workload: SecretID }
}
