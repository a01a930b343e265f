import type { VirtualDocument, TreeNode } from '../compile/ir.ts'
import { compareStrings, ObjectBuilder, ObjectValue, type Value } from '../value/value.ts'
import type { Program } from './codegen.ts'
import type { Env } from './env.ts'
import { lookup, lookupPath } from './lookup.ts'

/** The group whose value is the document at a node. */
export function documentAt(node: TreeNode): VirtualDocument | undefined {
  return node.group?.kind === 'function' ? undefined : node.group
}

/** A document made by rules, unless a replacement hides them: then what stands in `data`. */
export function readDocument(
  program: Program,
  env: Env,
  group: VirtualDocument,
): Value | undefined {
  if (env.hidden?.has(group) === true) return lookupPath(env.data, group.path)
  return program.evaluateDocument(env, group)
}

/** All below a place in the tree: rules and base data as one object. */
export function readExtent(
  program: Program,
  env: Env,
  place: { readonly node: TreeNode; readonly base: Value | undefined },
): Value | undefined {
  const { node, base } = place
  if (node.children.size === 0 && node.group !== undefined) return base
  const builder = new ObjectBuilder()
  if (base instanceof ObjectValue) builder.setAll(base)
  for (const [name, child] of node.children) {
    env.shared.step()
    const group = documentAt(child)
    const value =
      group === undefined
        ? readExtent(program, env, { node: child, base: childBase(base, name) })
        : readDocument(program, env, group)
    // Where both have a value, the whole shows the base's and a reference to it the rules'.
    if (value !== undefined && (group === undefined || builder.get(name) === undefined))
      builder.set(name, value)
  }
  return builder.build()
}

export function childBase(base: Value | undefined, key: Value): Value | undefined {
  return base === undefined ? undefined : lookup(base, key)
}

/** Names of the documents directly below, of rules and of base data, in order. */
export function childNames(node: TreeNode, base: Value | undefined): readonly Value[] {
  if (!(base instanceof ObjectValue)) return [...node.children.keys()].toSorted(compareStrings)
  const names = new ObjectBuilder().setAll(base)
  for (const name of node.children.keys()) names.set(name, null)
  return names.build().keys()
}
