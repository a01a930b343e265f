import type {
  AclToken,
  AclTokenStub,
  NodeJoinTokenStub,
  NodeRevocation,
  OneTimeToken,
} from '@reeve/contract'

/**
 * A stored token. It is looked up by the hash of its secret; the sealed secret can be shown again.
 */
export interface AclTokenRow extends Omit<AclToken, 'SecretID'> {
  readonly SecretHash: string
  readonly SealedSecret: string
}

/** A stored one-time token. Its secret is shown once, so only the hash is stored. */
export interface OneTimeTokenRow extends Omit<OneTimeToken, 'OneTimeSecretID'> {
  readonly SecretHash: string
}

/** Returns the token for the API; `secretId` is empty where it must not be shown. */
export function aclTokenView(row: AclTokenRow, secretId: string): AclToken {
  const { SecretHash: _hash, SealedSecret: _sealed, ...token } = row
  return { ...token, SecretID: secretId }
}

export function aclTokenStub(row: AclTokenRow): AclTokenStub {
  const { SecretHash: _hash, SealedSecret: _sealed, ExpirationTTL: _ttl, ...stub } = row
  return stub
}

/** A stored join token. Its secret is shown once, so only the hash is stored. */
export interface NodeJoinTokenRow extends NodeJoinTokenStub {
  readonly SecretHash: string
}

/** Revocation of a node. Outlives the row of the node, so that a purged node is still rejected. */
export interface NodeRevocationRow extends NodeRevocation {
  readonly SecretHash: string
}

export function nodeJoinTokenStub(row: NodeJoinTokenRow): NodeJoinTokenStub {
  const { SecretHash: _hash, ...stub } = row
  return stub
}

export function nodeRevocationView(row: NodeRevocationRow): NodeRevocation {
  const { SecretHash: _hash, ...revocation } = row
  return revocation
}
