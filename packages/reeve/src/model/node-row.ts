import type { Node } from '@reeve/contract'

/** A node as it is stored: with the hash of the secret its agent proves itself by. */
export interface NodeRow extends Omit<Node, 'SecretID'> {
  readonly SecretHash: string
  /**
   * Secrets that the node was offered and has not confirmed, the oldest first. The node has stored
   * one of them or still has the old one, so it may prove itself by any of them.
   */
  readonly NextSecretHashes?: readonly string[]
  /** What the join token of the node demanded; it holds for every later registration. */
  readonly JoinedAs?: JoinLimits
}

/** Empty texts demand nothing. */
export interface JoinLimits {
  readonly NodeName: string
  readonly NodePool: string
}

/** `SecretID` is always empty. */
export function nodeView(row: NodeRow): Node {
  const { SecretHash: _hash, NextSecretHashes: _next, JoinedAs: _joined, ...node } = row
  return { ...node, SecretID: '' }
}
