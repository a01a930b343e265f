import type { Node } from '@reeve/contract'

/** A node as it is stored: with the hash of the secret that authenticates its agent. */
export interface NodeRow extends Omit<Node, 'SecretID'> {
  readonly SecretHash: string
  /**
   * Hashes of secrets that the node was offered and has not confirmed, oldest first. The node may
   * have stored any of them or still have the old one, so each of them authenticates it.
   */
  readonly NextSecretHashes?: readonly string[]
  /** Requirements of the node's join token, which apply to every later registration. */
  readonly JoinedAs?: JoinLimits
}

/** Requirements of a join token; empty fields require nothing. */
export interface JoinLimits {
  readonly NodeName: string
  readonly NodePool: string
}

/** Returns the node for the API; `SecretID` is always empty. */
export function nodeView(row: NodeRow): Node {
  const { SecretHash: _hash, NextSecretHashes: _next, JoinedAs: _joined, ...node } = row
  return { ...node, SecretID: '' }
}
