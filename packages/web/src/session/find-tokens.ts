import { ApiError, createClient } from '@reeve/sdk'
import type { Api } from './api.ts'
import type { Tokens } from './tokens.ts'

/**
 * Which API a secret is for: a management token opens both, other tokens one of them. Throws what
 * the server said when it knows the secret nowhere.
 */
export async function findTokens(address: string, secret: string): Promise<Partial<Tokens>> {
  const client = createClient({ address, token: secret })
  const [workload, governance] = await Promise.allSettled([
    client.v1.readOwnAclToken(),
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
  const told = failures.find((error) => !isOff(error)) ?? failures[0]
  throw told instanceof Error ? told : new Error('the server knows no such token')
}

function isOff(error: unknown): boolean {
  return error instanceof ApiError && error.status === 400
}

/** Spec W: Exchange one-time token. */
export async function exchangeOneTimeSecret(api: Api, secret: string): Promise<Partial<Tokens>> {
  const { data } = await api.v1.exchangeOneTimeToken({ body: { OneTimeSecretID: secret } })
  const { SecretID, Type } = data.Token
  return Type === 'management'
    ? { workload: SecretID, governance: SecretID }
    : { workload: SecretID }
}
