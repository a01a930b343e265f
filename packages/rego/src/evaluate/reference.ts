import { findUnbound } from '../compile/bindings.ts'
import type { Expression, VirtualDocument, Reference, TreeNode } from '../compile/ir.ts'
import { isArray, ObjectValue, SetValue, type Value } from '../value/value.ts'
import type { CodegenContext, Program } from './codegen.ts'
import { childBase, childNames, documentAt, readDocument, readExtent } from './documents.ts'
import type { Env, ValueThunk, Frame, Step, MatchStep } from './env.ts'
import { eachEntry, lookup, lookupBase, lookupPath } from './lookup.ts'
import { compileMatch } from './match.ts'

/** A reference all of whose variables are bound: one value or none. */
export function compileReference(coder: CodegenContext, reference: Reference): ValueThunk {
  if (reference.root === 'data') return compileDataReference(coder, reference)
  const keys = reference.path.map((item) => compileKey(coder, item))
  const { root } = reference
  if (root === 'input') return followInput(keys)
  return follow(coder.compileExpression(coder, root), keys)
}

type KeyOf = { readonly constant: Value } | { readonly evaluate: ValueThunk }

function compileKey(coder: CodegenContext, expression: Expression): KeyOf {
  if (expression.type === 'constant') return { constant: expression.value }
  return { evaluate: coder.compileExpression(coder, expression) }
}

function followInput(keys: readonly KeyOf[]): ValueThunk {
  const constants = keys.flatMap((key) => ('constant' in key ? [key.constant] : []))
  const [first, second] = constants
  if (constants.length === keys.length) {
    if (first === undefined) return (frame) => frame.env.input
    if (constants.length === 1) return (frame) => lookup(frame.env.input, first)
    if (constants.length === 2 && second !== undefined)
      return (frame) => lookup(lookup(frame.env.input, first), second)
    return (frame) => lookupPath(frame.env.input, constants)
  }
  return follow((frame) => frame.env.input, keys)
}

function follow(root: ValueThunk, keys: readonly KeyOf[]): ValueThunk {
  const [only] = keys
  if (keys.length === 1 && only !== undefined && 'constant' in only) {
    const { constant } = only
    return (frame) => lookup(root(frame), constant)
  }
  return (frame) => followKeys(frame, root(frame), keys)
}

function followKeys(
  frame: Frame,
  start: Value | undefined,
  keys: readonly KeyOf[],
): Value | undefined {
  let value = start
  for (const key of keys) {
    if (value === undefined) return undefined
    const at = 'constant' in key ? key.constant : key.evaluate(frame)
    if (at === undefined) return undefined
    value = lookup(value, at)
  }
  return value
}

/** Where the constant start of a path leads in the tree of rules. */
interface Place {
  /** Length of the path up to here. */
  readonly length: number
  readonly node: TreeNode | undefined
  readonly group: VirtualDocument | undefined
}

function findPlace(root: TreeNode, path: readonly Expression[]): Place {
  let node: TreeNode = root
  for (const [at, item] of path.entries()) {
    if (item.type !== 'constant' || typeof item.value !== 'string')
      return { length: at, node, group: undefined }
    const child = node.children.get(item.value)
    if (child === undefined) return { length: at, node: undefined, group: undefined }
    const group = documentAt(child)
    if (group !== undefined) return { length: at + 1, node: child, group }
    node = child
  }
  return { length: path.length, node, group: undefined }
}

function compileDataReference(coder: CodegenContext, { path }: Reference): ValueThunk {
  const { program } = coder
  const { length, node, group } = findPlace(program.root, path)
  const keys = path.map((item) => compileKey(coder, item))
  if (group !== undefined) {
    const document: ValueThunk = (frame) => readDocument(program, frame.env, group)
    return length === path.length ? document : follow(document, keys.slice(length))
  }
  if (node === undefined) return followBase(keys)
  const names = node.path
  if (length === path.length)
    return (frame) =>
      readExtent(program, frame.env, { node, base: lookupPath(frame.env.data, names) })
  const rest = keys.slice(length)
  return (frame) => {
    const values: Value[] = []
    for (const key of rest) {
      const value = 'constant' in key ? key.constant : key.evaluate(frame)
      if (value === undefined) return undefined
      values.push(value)
    }
    return walkTree(program, frame.env, { node, keys: values })
  }
}

function followBase(keys: readonly KeyOf[]): ValueThunk {
  const constants = keys.flatMap((key) => ('constant' in key ? [key.constant] : []))
  if (constants.length === keys.length) return (frame) => lookupBase(frame.env.data, constants)
  return (frame) => {
    let value: Value | undefined = frame.env.data
    for (const key of keys) {
      const at = 'constant' in key ? key.constant : key.evaluate(frame)
      if (value === undefined || at === undefined) return undefined
      value = lookupBase(value, [at])
    }
    return value
  }
}

function walkTree(
  program: Program,
  env: Env,
  from: { readonly node: TreeNode; readonly keys: readonly Value[] },
): Value | undefined {
  let { node } = from
  let base = lookupPath(env.data, node.path)
  for (const [at, key] of from.keys.entries()) {
    const child = typeof key === 'string' ? node.children.get(key) : undefined
    if (child === undefined) return lookupBase(base, from.keys.slice(at))
    const group = documentAt(child)
    if (group !== undefined)
      return lookupPath(readDocument(program, env, group), from.keys.slice(at + 1))
    base = childBase(base, key)
    node = child
  }
  return readExtent(program, env, { node, base })
}

/** How one part of a path is handled: looked up, or every key tried. */
type Part =
  | { readonly type: 'key'; readonly evaluate: ValueThunk }
  | { readonly type: 'slot'; readonly slot: number }
  | { readonly type: 'match'; readonly match: MatchStep }

function compilePart(coder: CodegenContext, item: Expression): Part {
  if (findUnbound(item, coder) === undefined)
    return { type: 'key', evaluate: coder.compileExpression(coder, item) }
  if (item.type !== 'var') return { type: 'match', match: compileMatch(coder, item) }
  coder.bound.add(item.variable)
  return { type: 'slot', slot: item.variable.slot }
}

/** Runs what follows for every value of a reference; its unbound variables are given the keys. */
export function compileEnumeration(
  coder: CodegenContext,
  reference: Reference,
  buildNext: (coder: CodegenContext) => MatchStep,
): Step {
  const { root } = reference
  if (root === 'data') return enumerateData(coder, reference, buildNext)
  const start: ValueThunk =
    root === 'input' ? (frame) => frame.env.input : coder.compileExpression(coder, root)
  const parts = reference.path.map((item) => compilePart(coder, item))
  const first = chainValues(parts, 0, buildNext(coder))
  return (frame) => {
    const value = start(frame)
    return value !== undefined && first(frame, value)
  }
}

function chainValues(parts: readonly Part[], at: number, last: MatchStep): MatchStep {
  let step = last
  for (let index = parts.length - 1; index >= at; index--) {
    const part = parts[index]
    if (part !== undefined) step = partStep(part, step)
  }
  return step
}

function partStep(part: Part, next: MatchStep): MatchStep {
  switch (part.type) {
    case 'key': {
      const { evaluate } = part
      return (frame, value) => {
        const key = evaluate(frame)
        const found = key === undefined ? undefined : lookup(value, key)
        return found !== undefined && next(frame, found)
      }
    }
    case 'slot': {
      const { slot } = part
      return tryKeys(slot, next)
    }
    case 'match': {
      const { match } = part
      return tryMatches(match, next)
    }
  }
}

function tryKeys(slot: number, next: MatchStep): MatchStep {
  return (frame, value) => {
    const { slots } = frame
    const { shared } = frame.env
    if (isArray(value)) {
      for (let at = 0; at < value.length; at++) {
        shared.step()
        const item = value[at]
        slots[slot] = at
        if (item !== undefined && next(frame, item)) return true
      }
    } else if (value instanceof ObjectValue) {
      for (const key of value.keys()) {
        shared.step()
        const item = value.get(key)
        slots[slot] = key
        if (item !== undefined && next(frame, item)) return true
      }
    } else if (value instanceof SetValue) {
      for (const member of value.sorted()) {
        shared.step()
        slots[slot] = member
        if (next(frame, member)) return true
      }
    }
    return false
  }
}

function tryMatches(match: MatchStep, next: MatchStep): MatchStep {
  return (frame, value) =>
    eachEntry(value, (key, item) => {
      frame.env.shared.step()
      return match(frame, key) && next(frame, item)
    })
}

interface TreePlace {
  readonly node: TreeNode
  readonly base: Value | undefined
}

type TreeStep = (frame: Frame, node: TreeNode, base: Value | undefined) => boolean

function enumerateData(
  coder: CodegenContext,
  { path }: Reference,
  buildNext: (coder: CodegenContext) => MatchStep,
): Step {
  const { program } = coder
  const { length, node, group } = findPlace(program.root, path)
  const parts = path.map((item) => compilePart(coder, item))
  const last = buildNext(coder)
  if (group !== undefined) {
    const rest = chainValues(parts, length, last)
    return (frame) => {
      const value = readDocument(program, frame.env, group)
      return value !== undefined && rest(frame, value)
    }
  }
  if (node === undefined) {
    const all = chainValues(parts, 0, last)
    return (frame) => all(frame, frame.env.data)
  }
  const step = chainTree(program, parts, { at: length, last })
  return (frame) => step(frame, node, lookupPath(frame.env.data, node.path))
}

/** As long as the path is inside the tree of rules, rules and base data are walked side by side. */
function chainTree(
  program: Program,
  parts: readonly Part[],
  { at, last }: { readonly at: number; readonly last: MatchStep },
): TreeStep {
  const part = parts[at]
  if (part === undefined)
    return (frame, node, base) => {
      const value = readExtent(program, frame.env, { node, base })
      return value !== undefined && last(frame, value)
    }
  const inTree = chainTree(program, parts, { at: at + 1, last })
  const inValue = chainValues(parts, at + 1, last)
  const enter = (frame: Frame, { node, base }: TreePlace, key: Value): boolean => {
    const child = typeof key === 'string' ? node.children.get(key) : undefined
    const group = child === undefined ? undefined : documentAt(child)
    if (child !== undefined && group === undefined)
      return inTree(frame, child, childBase(base, key))
    const value =
      group === undefined ? childBase(base, key) : readDocument(program, frame.env, group)
    return value !== undefined && inValue(frame, value)
  }
  if (part.type === 'key')
    return (frame, node, base) => {
      const key = part.evaluate(frame)
      return key !== undefined && enter(frame, { node, base }, key)
    }
  return (frame, node, base) => {
    for (const key of childNames(node, base)) {
      frame.env.shared.step()
      if (part.type === 'slot') frame.slots[part.slot] = key
      else if (!part.match(frame, key)) continue
      if (enter(frame, { node, base }, key)) return true
    }
    return false
  }
}
