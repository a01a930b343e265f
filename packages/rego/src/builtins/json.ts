import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatText, formatValue } from '../value/format.ts'
import {
  equal,
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
import { membersOf } from './operands.ts'

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

/** RFC 6902, also into sets: a member is its own name. All of the operations, or none. */
function applyPatches(
  context: CallContext,
  target: Value,
  operations: readonly Value[],
): Value | undefined {
  let patched = target
  for (const operation of operations) {
    if (!(operation instanceof ObjectValue))
      return context.fail(
        'must be an array of JSON-Patch objects, but at least one element is not an object',
      )
    const next = applyOne(context, patched, operation)
    if (!next.ok) return context.fail(next.error)
    patched = next.value
  }
  return patched
}

type Patched = Result<Value, string>
type Path = readonly Value[]

function applyOne(context: CallContext, target: Value, operation: ObjectValue): Patched {
  const path = pathAt(operation, 'path')
  if (!path.ok) return path
  const op = operation.get('op')
  if (op === undefined) return err("missing required attribute 'op'")
  if (typeof op !== 'string') return err(`attribute 'op' must be a string but found: ${kindOf(op)}`)
  switch (op) {
    case 'add':
      return withValue(operation, (value) => put(context, target, { path: path.value, value }))
    case 'remove':
      return take(context, target, path.value)
    case 'replace':
      return withValue(operation, (value) => {
        const rest = take(context, target, path.value)
        return rest.ok ? put(context, rest.value, { path: path.value, value }) : rest
      })
    case 'move':
      return move(context, target, { operation, path: path.value })
    case 'copy': {
      const found = readFrom(target, operation)
      return found.ok ? put(context, target, { path: path.value, value: found.value }) : found
    }
    case 'test':
      return withValue(operation, (value) => {
        const found = read(target, path.value)
        if (!found.ok) return found
        return equal(found.value, value)
          ? ok(target)
          : err(
              `value from EditTree != patch value.\n\nExpected: ${formatValue(value)}\n\nFound: ${formatValue(found.value)}`,
            )
      })
    default:
      return err(`unrecognized op: '${op}'`)
  }
}

function withValue(operation: ObjectValue, apply: (value: Value) => Patched): Patched {
  const value = operation.get('value')
  return value === undefined ? err("missing required attribute 'value'") : apply(value)
}

function pathAt(operation: ObjectValue, name: string): Result<Path, string> {
  const path = operation.get(name)
  if (path === undefined) return err(`missing required attribute '${name}'`)
  const segments = parsePath(path)
  return segments === undefined
    ? err(
        `operand 2 must be one of {set, array} containing string paths or array of path segments but got ${kindOf(path)}`,
      )
    : ok(segments)
}

function readFrom(target: Value, operation: ObjectValue): Patched {
  const from = pathAt(operation, 'from')
  return from.ok ? read(target, from.value) : from
}

function move(
  context: CallContext,
  target: Value,
  { operation, path }: { readonly operation: ObjectValue; readonly path: Path },
): Patched {
  const from = pathAt(operation, 'from')
  if (!from.ok) return from
  const found = read(target, from.value)
  if (!found.ok) return found
  const rest = take(context, target, from.value)
  return rest.ok ? put(context, rest.value, { path, value: found.value }) : rest
}

function read(target: Value, path: Path): Patched {
  let value = target
  for (const segment of path) {
    const found = childAt(value, segment)
    if (found === undefined) return missing(segment)
    value = found
  }
  return ok(value)
}

function missing(segment: Value): Result<never, string> {
  return err(`path ${formatText(segment)} does not exist`)
}

function childAt(value: Value, segment: Value): Value | undefined {
  if (isArray(value)) {
    const at = positionOf(segment, value.length - 1)
    return at === undefined ? undefined : value[at]
  }
  if (value instanceof ObjectValue) return value.get(segment)
  return value instanceof SetValue && value.has(segment) ? segment : undefined
}

/** A whole number, also as text, up to the given one. */
function positionOf(segment: Value, max: number): number | undefined {
  const isText = typeof segment === 'string' && /^(?:0|[1-9][0-9]{0,9})$/.test(segment)
  const at = isText ? Number(segment) : segment
  return typeof at === 'number' && Number.isInteger(at) && at >= 0 && at <= max ? at : undefined
}

interface Placed {
  readonly path: Path
  readonly value: Value
}

function put(context: CallContext, target: Value, { path, value }: Placed): Patched {
  const [segment, ...rest] = path
  if (segment === undefined) return ok(value)
  if (rest.length > 0)
    return changeBelow(context, target, {
      segment,
      change: (child) => put(context, child, { path: rest, value }),
    })
  context.charge(sizeOf(target))
  if (isArray(target)) {
    const at = segment === '-' ? target.length : positionOf(segment, target.length)
    return at === undefined ? missing(segment) : ok(target.toSpliced(at, 0, value))
  }
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).set(segment, value).build())
  if (!(target instanceof SetValue)) return missing(segment)
  // The name of a member is the member.
  if (!equal(segment, value)) return err('set key does not equal value to be inserted')
  return ok(new SetBuilder().addAll(target.unordered()).add(value).build())
}

function take(context: CallContext, target: Value, path: Path): Patched {
  const [segment, ...rest] = path
  // The whole document is gone; what is put there next becomes it.
  if (segment === undefined) return ok(null)
  if (rest.length > 0)
    return changeBelow(context, target, {
      segment,
      change: (child) => take(context, child, rest),
    })
  context.charge(sizeOf(target))
  if (childAt(target, segment) === undefined) return missing(segment)
  if (isArray(target)) return ok(target.toSpliced(positionOf(segment, target.length) ?? 0, 1))
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).delete(segment).build())
  return target instanceof SetValue
    ? ok(new SetBuilder().addAll(target.unordered()).delete(segment).build())
    : missing(segment)
}

interface Change {
  readonly segment: Value
  readonly change: (child: Value) => Patched
}

function changeBelow(context: CallContext, target: Value, { segment, change }: Change): Patched {
  const child = childAt(target, segment)
  if (child === undefined) return missing(segment)
  const changed = change(child)
  if (!changed.ok) return changed
  context.charge(sizeOf(target))
  if (isArray(target))
    return ok(target.with(positionOf(segment, target.length) ?? 0, changed.value))
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).set(segment, changed.value).build())
  return target instanceof SetValue
    ? ok(new SetBuilder().addAll(target.unordered()).delete(segment).add(changed.value).build())
    : missing(segment)
}

function sizeOf(value: Value): number {
  if (isArray(value)) return value.length
  return value instanceof ObjectValue || value instanceof SetValue ? value.size : 0
}

/** A JSON pointer, or its segments one by one; nothing for anything else. */
function parsePath(path: Value): readonly Value[] | undefined {
  if (isArray(path)) return path
  if (typeof path !== 'string') return undefined
  if (path === '') return []
  return path
    .replace(/^\/+/, '')
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}
