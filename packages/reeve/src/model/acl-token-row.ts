import type { AclToken, AclTokenStub, OneTimeToken } from '@reeve/contract'

/** A token as it is stored: its secret is found by hash and shown again by opening the seal. */
export interface AclTokenRow extends Omit<AclToken, 'SecretID'> {
  readonly SecretHash: string
  readonly SealedSecret: string
}

/** A one-time token as it is stored: its secret is shown once, so the hash is enough. */
export interface OneTimeTokenRow extends Omit<OneTimeToken, 'OneTimeSecretID'> {
  readonly SecretHash: string
}

/** The token as the API shows it; `secretId` is empty where it must not be seen. */
export function aclTokenView(row: AclTokenRow, secretId: string): AclToken {
  const { SecretHash: _hash, SealedSecret: _sealed, ...token } = row
  return { ...token, SecretID: secretId }
}

export function aclTokenStub(row: AclTokenRow): AclTokenStub {
  const { SecretHash: _hash, SealedSecret: _sealed, ExpirationTTL: _ttl, ...stub } = row
  return stub
}
