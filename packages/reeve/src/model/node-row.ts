import type { Node } from '@reeve/contract'

/** A node as it is stored: with the hash of the secret its agent proves itself by. */
export interface NodeRow extends Omit<Node, 'SecretID'> {
  readonly SecretHash: string
}

/** Reference §4.8: `SecretID` is always empty. */
export function nodeView(row: NodeRow): Node {
  const { SecretHash: _hash, ...node } = row
  return { ...node, SecretID: '' }
}
