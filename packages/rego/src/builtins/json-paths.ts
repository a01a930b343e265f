import {
  isArray,
  type Key,
  keyOf,
  kindOf,
  ObjectBuilder,
  ObjectValue,
  SetBuilder,
  SetValue,
  type Value,
} from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { membersOf } from './operand.ts'
import { applyPatches } from './json-patch.ts'
import { parsePath } from './json-pointer.ts'

const PATHS = ['set', 'array'] as const

export const JSON_PATH_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'json.filter', operands: ['object', PATHS], result: 'object' },
    (context, object, paths) => {
      const tree = pathTree(context, paths)
      return tree === undefined ? undefined : keep(context, object, tree)
    },
  ),
  define(
    { name: 'json.remove', operands: ['object', PATHS], result: 'object' },
    (context, object, paths) => {
      const tree = pathTree(context, paths)
      return tree === undefined ? undefined : drop(context, object, tree)
    },
  ),
  define({ name: 'json.patch', operands: ['any', 'array'], result: 'any' }, applyPatches),
]

/** A tree of paths: a node is either the end of a path or has named children. */
interface PathNode {
  isEnd: boolean
  /** By path segment; positions of an array are strings. */
  readonly below: Map<Key, Branch>
}
interface Branch {
  readonly segment: Value
  readonly node: PathNode
}

function newNode(): PathNode {
  return { isEnd: false, below: new Map() }
}

function pathTree(context: CallContext, paths: readonly Value[] | SetValue): PathNode | undefined {
  const root = newNode()
  for (const path of membersOf(paths)) {
    const segments = parsePath(path)
    if (segments === undefined)
      return context.failType(
        `operand 2 must be one of {set, array} containing string paths or array of path segments but got ${kindOf(path)}`,
      )
    context.charge(1 + segments.length)
    if (segments.length === 0) continue
    let node = root
    for (const segment of segments) node = childOf(node, segment)
    node.isEnd = true
  }
  return root
}

function childOf(node: PathNode, segment: Value): PathNode {
  const known = findChild(node, segment)
  if (known !== undefined) return known
  const child = newNode()
  node.below.set(keyOf(segment), { segment, node: child })
  return child
}

function findChild(node: PathNode, key: Value): PathNode | undefined {
  return node.below.get(keyOf(key))?.node
}

/** Keeps only the parts of the value that the paths select. */
function keep(context: CallContext, value: Value, node: PathNode): Value {
  if (node.isEnd) return value
  if (isArray(value)) {
    context.charge(value.length)
    return value.flatMap<Value>((item, at) => {
      const child = findChild(node, String(at))
      return child === undefined ? [] : [keep(context, item, child)]
    })
  }
  if (value instanceof SetValue) return keepMembers(context, value, node)
  if (!(value instanceof ObjectValue)) return value
  const kept = new ObjectBuilder()
  context.charge(node.below.size)
  for (const { segment, node: child } of node.below.values()) {
    const item = value.get(segment)
    if (item !== undefined) kept.set(segment, keep(context, item, child))
  }
  return kept.build()
}

function keepMembers(context: CallContext, set: SetValue, node: PathNode): SetValue {
  const kept = new SetBuilder()
  context.charge(set.size)
  for (const member of set.unordered()) {
    const child = findChild(node, member)
    if (child !== undefined) kept.add(keep(context, member, child))
  }
  return kept.build()
}

/** Removes the parts of the value that the paths select; later elements of an array move up. */
function drop(context: CallContext, value: Value, node: PathNode): Value {
  const rest = (key: Value, item: Value): readonly Value[] => {
    const child = findChild(node, key)
    if (child === undefined) return [item]
    return child.isEnd ? [] : [drop(context, item, child)]
  }
  if (isArray(value)) {
    context.charge(value.length)
    return value.flatMap((item, at) => rest(String(at), item))
  }
  if (value instanceof SetValue) {
    context.charge(value.size)
    return new SetBuilder().addAll(value.sorted().flatMap((member) => rest(member, member))).build()
  }
  if (!(value instanceof ObjectValue)) return value
  context.charge(value.size)
  const left = new ObjectBuilder()
  for (const [key, item] of value.entries()) for (const one of rest(key, item)) left.set(key, one)
  return left.build()
}
