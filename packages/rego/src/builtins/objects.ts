import { VALUE_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded } from '../value/fuel.ts'
import {
  EMPTY_OBJECT,
  equal,
  isArray,
  ObjectBuilder,
  ObjectValue,
  SetBuilder,
  setOf,
  SetValue,
  type Value,
} from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { elementTypeMismatch, membersOf } from './operands.ts'

const KEYS = ['object', 'set', 'array'] as const

export const OBJECT_BUILTINS: readonly Builtin[] = [
  define({ name: 'object.get', operands: ['object', 'any', 'any'], result: 'any' }, getAt),
  define({ name: 'object.keys', operands: ['object'], result: 'set' }, (context, object) => {
    context.charge(object.size)
    return setOf(object.keys())
  }),
  define(
    { name: 'object.remove', operands: ['object', KEYS], result: 'object' },
    (context, object, keys) => {
      const removed = new ObjectBuilder().setAll(object)
      const names = keysOf(keys)
      context.charge(object.size + names.length)
      for (const name of names) removed.delete(name)
      return removed.build()
    },
  ),
  define(
    { name: 'object.filter', operands: ['object', KEYS], result: 'object' },
    (context, object, keys) => {
      const kept = new ObjectBuilder()
      const names = keysOf(keys)
      context.charge(names.length)
      for (const name of names) {
        const value = object.get(name)
        if (value !== undefined) kept.set(name, value)
      }
      return kept.build()
    },
  ),
  define(
    { name: 'object.union', operands: ['object', 'object'], result: 'object' },
    (context, a, b) => merge(context, a, b),
  ),
  define({ name: 'object.union_n', operands: ['array'], result: 'object' }, (context, objects) => {
    let all = EMPTY_OBJECT
    for (const element of objects) {
      if (!(element instanceof ObjectValue))
        return context.failType(
          elementTypeMismatch({ position: 1, collection: objects, element, wanted: 'object' }),
        )
    }
    // Pairs of neighbours: merging one after the other would copy the first ones every time.
    let row = objects.filter((one) => one instanceof ObjectValue)
    while (row.length > 1) row = mergePairs(context, row)
    all = row[0] ?? all
    return all
  }),
  define({ name: 'object.subset', operands: ['any', 'any'], result: 'boolean' }, isSubset),
]

/** A path when the key is an array, so a key that is one cannot be looked up. */
function getAt(
  _context: CallContext,
  ...[object, key, otherwise]: readonly [ObjectValue, Value, Value]
): Value {
  if (!isArray(key)) return object.get(key) ?? otherwise
  let value: Value | undefined = object
  for (const segment of key) {
    value = inside(value, segment)
    if (value === undefined) return otherwise
  }
  return value
}

function inside(value: Value | undefined, key: Value): Value | undefined {
  if (isArray(value)) return typeof key === 'number' ? value[key] : undefined
  if (value instanceof ObjectValue) return value.get(key)
  return value instanceof SetValue && value.has(key) ? key : undefined
}

function keysOf(keys: ObjectValue | SetValue | readonly Value[]): readonly Value[] {
  if (isArray(keys)) return keys
  return keys instanceof ObjectValue ? keys.keys() : keys.sorted()
}

function mergePairs(context: CallContext, row: readonly ObjectValue[]): ObjectValue[] {
  const merged: ObjectValue[] = []
  for (let at = 0; at < row.length; at += 2) {
    const [left = EMPTY_OBJECT, right] = row.slice(at, at + 2)
    merged.push(right === undefined ? left : merge(context, left, right))
  }
  return merged
}

/** Objects on both sides are merged too; of anything else the second one stays. */
function merge(context: CallContext, a: ObjectValue, b: ObjectValue): ObjectValue {
  if (a.size === 0) return b
  if (b.size === 0) return a
  context.charge(a.size + b.size)
  const merged = new ObjectBuilder().setAll(a)
  for (const [key, value] of b.entries()) {
    const old = a.get(key)
    merged.set(
      key,
      old instanceof ObjectValue && value instanceof ObjectValue
        ? merge(context, old, value)
        : value,
    )
  }
  return merged.build()
}

function isSubset(context: CallContext, whole: Value, part: Value): boolean | undefined {
  const answer = containsPart(context, whole, part)
  if (answer !== undefined) return answer
  if (isArray(whole) && part instanceof SetValue) {
    context.charge(whole.length)
    const members = setOf(whole)
    return part.sorted().every((member) => members.has(member))
  }
  return context.failType('both arguments object.subset must be of the same type or array and set')
}

/** Undefined unless both are objects, sets or arrays. */
function containsPart(context: CallContext, whole: Value, part: Value): boolean | undefined {
  if (whole instanceof ObjectValue && part instanceof ObjectValue) {
    context.charge(part.size)
    return part.entries().every(([key, value]) => {
      const other = whole.get(key)
      if (other === undefined) return false
      return equal(other, value) || containsPart(context, other, value) === true
    })
  }
  if (whole instanceof SetValue && part instanceof SetValue) {
    context.charge(part.size)
    return part.sorted().every((member) => whole.has(member))
  }
  return isArray(whole) && isArray(part) ? containsRun(context, whole, part) : undefined
}

/** Whether all of the part stands in the array, one after the other (Knuth, Morris, Pratt). */
function containsRun(
  context: CallContext,
  whole: readonly Value[],
  part: readonly Value[],
): boolean {
  context.charge(whole.length + part.length)
  const backs = [0]
  const fall = (matched: number, value: Value) => {
    let at = matched
    while (at > 0 && !equal(part[at] ?? null, value)) at = backs[at - 1] ?? 0
    return at < part.length && equal(part[at] ?? null, value) ? at + 1 : at
  }
  for (let at = 1; at < part.length; at++) backs.push(fall(backs[at - 1] ?? 0, part[at] ?? null))
  let matched = 0
  for (const value of whole) {
    if (matched === part.length) return true
    matched = fall(matched, value)
  }
  return matched === part.length
}

export const WALK_BUILTINS: readonly Builtin[] = [
  /** Every value inside a value as `[path, value]`, each before what is inside it. */
  define(
    { name: 'walk', operands: ['any'], result: 'array' },
    (context, value) => {
      const found: Value[] = []
      return visit({ context, found }, [], value) ? found : undefined
    },
    { isRelation: true },
  ),
]

interface Walk {
  readonly context: CallContext
  readonly found: Value[]
}

function visit(walk: Walk, path: readonly Value[], value: Value): boolean {
  walk.context.charge(1 + path.length)
  if (path.length > VALUE_DEPTH_MAX) {
    walk.context.fail('the value is nested too deeply')
    return false
  }
  walk.found.push([path, value])
  const into = (key: Value, inner: Value) => visit(walk, [...path, key], inner)
  if (isArray(value)) return value.every((item, at) => into(at, item))
  if (value instanceof ObjectValue) return value.entries().every(([key, item]) => into(key, item))
  if (value instanceof SetValue) return value.sorted().every((member) => into(member, member))
  return true
}

const NODES = ['array', 'set'] as const

export const GRAPH_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'graph.reachable', operands: ['object', NODES], result: 'set' },
    (context, graph, initial) => {
      const reached = new SetBuilder()
      const waiting = [...membersOf(initial)]
      for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
        const edges = graph.get(node)
        context.charge(1)
        if (edges === undefined || reached.has(node)) continue
        reached.add(node)
        const neighbours = neighboursOf(edges)
        context.charge(neighbours.length)
        for (const neighbour of neighbours) if (!reached.has(neighbour)) waiting.push(neighbour)
      }
      return reached.build()
    },
  ),
  define(
    { name: 'graph.reachable_paths', operands: ['object', NODES], result: 'set' },
    (context, graph, initial) => {
      const search: Search = { context, graph, found: new SetBuilder(), passed: new SetBuilder() }
      for (const node of membersOf(initial))
        if (graph.has(node)) extend(search, [node], neighboursOf(graph.get(node)))
      return search.found.build()
    },
  ),
]

/** A node with anything else for edges has none. */
function neighboursOf(edges: Value | undefined): readonly Value[] {
  if (isArray(edges)) return edges
  return edges instanceof SetValue ? edges.sorted() : []
}

interface Search {
  readonly context: CallContext
  readonly graph: ObjectValue
  readonly found: SetBuilder
  /** The nodes of the path so far. */
  readonly passed: SetBuilder
}

/** A path ends at a node without edges, at a circle, and in front of a strange node. */
function extend(search: Search, path: readonly Value[], neighbours: readonly Value[]): void {
  const { context, graph, found, passed } = search
  context.charge(path.length)
  if (path.length > VALUE_DEPTH_MAX) throw new LimitExceeded('a path of the graph is too long')
  if (neighbours.length === 0) {
    found.add(path)
    return
  }
  const node = path.at(-1) ?? null
  passed.add(node)
  for (const neighbour of neighbours) {
    if (passed.has(neighbour) || !graph.has(neighbour)) found.add(path)
    else extend(search, [...path, neighbour], neighboursOf(graph.get(neighbour)))
  }
  passed.delete(node)
}
