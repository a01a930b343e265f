import type { Term } from '../syntax/ast.ts'
import type { VirtualDocument, TreeNode } from './ir.ts'

export function makeNode(path: readonly string[]): TreeNode {
  return { path, children: new Map(), group: undefined }
}

/** The node at a path, made when missing. */
export function ensureNode(root: TreeNode, path: readonly string[]): TreeNode {
  let node = root
  for (const segment of path) {
    let child = node.children.get(segment)
    if (child === undefined) {
      child = makeNode([...node.path, segment])
      node.children.set(segment, child)
    }
    node = child
  }
  return node
}

export function findNode(root: TreeNode, path: readonly string[]): TreeNode | undefined {
  let node: TreeNode | undefined = root
  for (const segment of path) node = node?.children.get(segment)
  return node
}

/** Groups at and below a node. */
export function documentsUnder(node: TreeNode): VirtualDocument[] {
  const groups = node.group === undefined ? [] : [node.group]
  for (const child of node.children.values()) groups.push(...documentsUnder(child))
  return groups
}

/** The names a rule's path begins with, up to the first key that is none. */
export function groundPrefix(path: readonly Term[]): string[] {
  const names: string[] = []
  for (const term of path) {
    if (term.type !== 'scalar' || typeof term.value !== 'string') break
    names.push(term.value)
  }
  return names
}
