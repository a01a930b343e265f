import type { NodeJoinTokenStub, NodeRevocation } from '@reeve/contract'

/** A join token as it is stored: its secret is shown once, so the hash is enough. */
export interface NodeJoinTokenRow extends NodeJoinTokenStub {
  readonly SecretHash: string
}

/** Outlives the row of its node, so that a node that was purged or collected stays refused. */
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
