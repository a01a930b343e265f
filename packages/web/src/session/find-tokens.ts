import { ApiError, createClient } from '@reeve/sdk'
import type { Api } from './api.ts'
import type { Tokens } from './tokens.ts'

interface SecretToFind {
  readonly address: string
  readonly secret: string
  /** Where access control is off, the workload API knows no tokens: it is not asked. */
  readonly isAclEnabled: boolean
}

/**
 * Which API a secret is for: a management token opens both, other tokens one of them. Throws what
 * the server said when it knows the secret nowhere.
 */
export async function findTokens(asked: SecretToFind): Promise<Partial<Tokens>> {
  const { address, secret, isAclEnabled } = asked
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
  // Where access control is off, only the other API has an opinion.
  const told = failures.find((error) => error instanceof ApiError) ?? failures[0]
  throw told instanceof Error ? told : new Error('the server does not know this token')
}

export async function exchangeOneTimeSecret(api: Api, secret: string): Promise<Partial<Tokens>> {
  const { data } = await api.v1.exchangeOneTimeToken({ body: { OneTimeSecretID: secret } })
  const { SecretID, Type } = data.Token
  return Type === 'management'
    ? { workload: SecretID, governance: SecretID }
    : { workload: SecretID }
}
