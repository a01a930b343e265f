import type { NodeJoinTokenStub, NodeRevocation } from '@reeve/contract'

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
