import { eachElement, elementsOf } from '../evaluate/elements.ts'
import { deepCopy } from '../value/copy.ts'
import {
  areEqual,
  type CallContext,
  floatOf,
  type FunctionValue,
  isFunction,
  isInt,
  isMap,
  isNumeric,
  type Key,
  ListValue,
  type MapValue,
  toNumber,
  typeOf,
  type Value,
} from '../value/value.ts'
import { createMap, keyOf, MutableMap } from '../value/map.ts'
import { defineVariadic, listArgument, textArgument } from './define.ts'

/** The import `collection`; its functions return lists. */
export function collectionImport(): MapValue {
  return createMap({
    filter: defineVariadic('filter', [2, 2], (args, context) =>
      selected(args, { name: 'filter', keeps: true }, context),
    ),
    reject: defineVariadic('reject', [2, 2], (args, context) =>
      selected(args, { name: 'reject', keeps: false }, context),
    ),
    find: defineVariadic('find', [2, 2], find),
    matches: defineVariadic('matches', [2, 2], matches),
    reduce: defineVariadic('reduce', [2, 3], reduce),
  })
}

/** Calls `visit` for each element until it returns true. */
function visitAll(
  collection: Value,
  { name, context }: { readonly name: string; readonly context: CallContext },
  visit: (value: Value, key: Value) => boolean,
): void {
  const elements = elementsOf(collection, () =>
    context.fail(`argument 1 of ${name} must be list or map, not ${typeOf(collection)}`),
  )
  if (elements.kind !== 'undefined')
    eachElement(elements, context, ({ key, value }) => visit(value, key))
}

function predicateOf(
  args: readonly Value[],
  name: string,
  context: CallContext,
): (value: Value, key: Value) => boolean {
  const predicate = args[1] ?? null
  if (!isFunction(predicate))
    return context.fail(`argument 2 of ${name} must be func, not ${typeOf(predicate)}`)
  return (value, key) => {
    const answer = applied(predicate, [value, key], context)
    return typeof answer === 'boolean'
      ? answer
      : context.fail(`the function given to ${name} must return a bool, not ${typeOf(answer)}`)
  }
}

/** Calls a function that may omit the key parameter. */
function applied(callee: FunctionValue, args: readonly Value[], context: CallContext): Value {
  return context.apply(callee, args.slice(0, Math.min(args.length, callee.arity[1])))
}

function selected(
  args: readonly Value[],
  { name, keeps }: { readonly name: string; readonly keeps: boolean },
  context: CallContext,
): Value {
  const accepts = predicateOf(args, name, context)
  const found: Value[] = []
  visitAll(args[0] ?? null, { name, context }, (value, key) => {
    if (accepts(value, key) === keeps) found.push(value)
    return false
  })
  context.allocate(found.length)
  return new ListValue(found)
}

function find(args: readonly Value[], context: CallContext): Value {
  const accepts = predicateOf(args, 'find', context)
  const state: { found: Value | undefined } = { found: undefined }
  visitAll(args[0] ?? null, { name: 'find', context }, (value, key) => {
    if (accepts(value, key)) state.found = value
    return state.found !== undefined
  })
  return state.found ?? context.undefinedHere
}

/** The elements that contain all members of the partial value. */
function matches(args: readonly Value[], context: CallContext): Value {
  const partial = args[1] ?? null
  const found: Value[] = []
  visitAll(args[0] ?? null, { name: 'matches', context }, (value) => {
    if (isPartOf(partial, value, context)) found.push(value)
    return false
  })
  context.allocate(found.length)
  return new ListValue(found)
}

function isPartOf(partial: Value, value: Value, context: CallContext): boolean {
  context.charge(1)
  if (!isMap(partial)) return areEqual(partial, value, (steps) => context.charge(steps)) === true
  if (!isMap(value)) return false
  return partial
    .keys()
    .every(
      (key) =>
        value.has(key) && isPartOf(partial.get(key) ?? null, value.get(key) ?? null, context),
    )
}

function reduce(args: readonly Value[], context: CallContext): Value {
  const combine = args[1] ?? null
  if (!isFunction(combine))
    return context.fail(`argument 2 of reduce must be func, not ${typeOf(combine)}`)
  const state: { sum: Value | undefined } = { sum: args[2] }
  visitAll(args[0] ?? null, { name: 'reduce', context }, (value, key) => {
    state.sum = state.sum === undefined ? value : applied(combine, [state.sum, value, key], context)
    return false
  })
  return state.sum ?? context.undefinedHere
}

const NO_LIMIT = Number.POSITIVE_INFINITY

/** The import `collection/lists`. */
export function listsImport(): MapValue {
  const difference = defineVariadic('difference', [1, NO_LIMIT], (args, context) =>
    combined(
      args,
      {
        name: 'difference',
        choose: ([first = [], ...others]) =>
          first.filter((item) => !others.some((other) => other.has(item))),
      },
      context,
    ),
  )
  return createMap({
    concat: defineVariadic('concat', [1, NO_LIMIT], (args, context) =>
      kept(
        lists(args, 'concat', context).flatMap(({ items }) => items),
        context,
      ),
    ),
    difference,
    diff: difference,
    intersection: defineVariadic('intersection', [1, NO_LIMIT], (args, context) =>
      combined(
        args,
        {
          name: 'intersection',
          choose: ([first = [], ...others]) =>
            first.filter((item) => others.every((other) => other.has(item))),
        },
        context,
      ),
    ),
    union: defineVariadic('union', [1, NO_LIMIT], (args, context) =>
      kept(
        distinct(
          lists(args, 'union', context).flatMap(({ items }) => items),
          context,
        ),
        context,
      ),
    ),
    sort: defineVariadic('sort', [1, 2], sort),
    sum: defineVariadic('sum', [1, 1], sum),
  })
}

function lists(args: readonly Value[], name: string, context: CallContext): readonly ListValue[] {
  return args.map((_, index) => listArgument(args, { name, index }, context))
}

function kept(items: Value[], context: CallContext): ListValue {
  context.allocate(items.length)
  return new ListValue(items)
}

type Choose = (parts: readonly [Value[]?, ...Members[]]) => Value[]

/** Combines the first list without duplicates with the others as sets. */
function combined(
  args: readonly Value[],
  { name, choose }: { readonly name: string; readonly choose: Choose },
  context: CallContext,
): Value {
  const [first, ...others] = lists(args, name, context)
  const items = distinct(first?.items ?? [], context)
  return kept(choose([items, ...others.map((list) => new Members(list.items, context))]), context)
}

function distinct(items: readonly Value[], context: CallContext): Value[] {
  const seen = new Members([], context)
  return items.filter((item) => {
    if (seen.has(item)) return false
    seen.add(item)
    return true
  })
}

/** A set of values by equality: scalars by key, others by comparison. */
class Members {
  readonly #keys = new Set<Key>()
  readonly #others: Value[] = []
  readonly #context: CallContext

  constructor(items: readonly Value[], context: CallContext) {
    this.#context = context
    for (const item of items) this.add(item)
  }

  add(item: Value): void {
    this.#context.charge(1)
    const key = keyOf(item)
    if (key === undefined) this.#others.push(item)
    else this.#keys.add(key)
  }

  has(item: Value): boolean {
    this.#context.charge(1)
    const key = keyOf(item)
    if (key !== undefined) return this.#keys.has(key)
    const charge = (steps: number) => this.#context.charge(steps + 1)
    return this.#others.some((other) => areEqual(other, item, charge) === true)
  }
}

function sort(args: readonly Value[], context: CallContext): Value {
  const { items } = listArgument(args, { name: 'sort', index: 0 }, context)
  const compare = args[1] ?? null
  if (!isFunction(compare))
    return context.fail(`argument 2 of sort must be func, not ${typeOf(compare)}`)
  const sorted = items.toSorted((left, right) => {
    const order = context.apply(compare, [left, right])
    return isInt(order)
      ? Number(order)
      : context.fail(`the function given to sort must return an int, not ${typeOf(order)}`)
  })
  return kept(sorted, context)
}

function sum(args: readonly Value[], context: CallContext): Value {
  const { items } = listArgument(args, { name: 'sum', index: 0 }, context)
  context.charge(items.length)
  const total = items.reduce<number>(
    (all, item) =>
      isNumeric(item)
        ? all + toNumber(item)
        : context.fail(`sum needs numbers, not ${typeOf(item)}`),
    0,
  )
  return floatOf(total)
}

/**
 * The import `collection/maps`: paths such as `a.0.b` or `a.*.b`. Maps are copied, not modified.
 */
export function mapsImport(): MapValue {
  return createMap({
    get: defineVariadic('get', [2, 3], (args, context) => {
      const found = read(mapArgument(args, 'get', context), pathOf(args, 'get', context), context)
      return found ?? args[2] ?? context.undefinedHere
    }),
    has: defineVariadic('has', [2, 2], (args, context) => {
      const map = mapArgument(args, 'has', context)
      return read(map, pathOf(args, 'has', context), context) !== undefined
    }),
    set: defineVariadic('set', [3, 3], (args, context) =>
      changedCopy(
        args,
        { name: 'set', change: (parent, name) => write(parent, name, args[2] ?? null) },
        context,
      ),
    ),
    unset: defineVariadic('unset', [2, 2], (args, context) =>
      changedCopy(args, { name: 'unset', change: remove }, context),
    ),
    omit: defineVariadic('omit', [2, 2], omit),
    pick: defineVariadic('pick', [2, 2], pick),
  })
}

function mapArgument(args: readonly Value[], name: string, context: CallContext): MapValue {
  const value = args[0] ?? null
  return isMap(value)
    ? value
    : context.fail(`argument 1 of ${name} must be map, not ${typeOf(value)}`)
}

function pathOf(args: readonly Value[], name: string, context: CallContext): readonly string[] {
  return textArgument(args, { name, index: 1 }, context).split('.')
}

function pathsOf(args: readonly Value[], name: string, context: CallContext): readonly string[] {
  const paths = args[1] ?? null
  const list = paths instanceof ListValue ? paths.items : [paths]
  return list.map((path) =>
    typeof path === 'string' ? path : context.fail(`the paths of ${name} are strings`),
  )
}

function read(value: Value, path: readonly string[], context: CallContext): Value | undefined {
  context.charge(1)
  const [step, ...rest] = path
  if (step === undefined) return value
  if (value instanceof ListValue && step === '*') {
    const found = value.items.map((item) => read(item, rest, context))
    return new ListValue(found.filter((item) => item !== undefined))
  }
  const next = child(value, step)
  return next === undefined ? undefined : read(next, rest, context)
}

function child(value: Value, step: string): Value | undefined {
  if (value instanceof ListValue)
    return /^[0-9]+$/.test(step) ? value.items[Number(step)] : undefined
  return isMap(value) ? value.get(step) : undefined
}

type Change = (parent: Value, name: string) => void

/** Returns a copy with the last step of a path updated. Missing maps on the path are created. */
function changedCopy(
  args: readonly Value[],
  { name, change }: { readonly name: string; readonly change: Change },
  context: CallContext,
): Value {
  const copy = deepCopy(mapArgument(args, name, context), (cells) => context.allocate(cells))
  changeAt(copy, pathOf(args, name, context), { change, makes: name === 'set', context })
  return copy
}

interface Changing {
  readonly change: Change
  /** Whether missing maps on the path are created. */
  readonly makes: boolean
  readonly context: CallContext
}

function changeAt(value: Value, path: readonly string[], changing: Changing): void {
  const [step = '', ...rest] = path
  changing.context.charge(1)
  if (value instanceof ListValue && step === '*') {
    for (const item of value.items) changeAt(item, rest, changing)
    return
  }
  if (rest.length === 0) return changing.change(value, step)
  const next = child(value, step)
  if (next !== undefined) return changeAt(next, rest, changing)
  if (!changing.makes || !isMap(value)) return
  const made = new MutableMap()
  value.set(step, made)
  changeAt(made, rest, changing)
}

function write(parent: Value, name: string, value: Value): void {
  if (isMap(parent)) parent.set(name, value)
  else if (parent instanceof ListValue && Number(name) < parent.items.length)
    parent.items[Number(name)] = value
}

function remove(parent: Value, name: string): void {
  if (isMap(parent)) parent.delete(name)
  else if (parent instanceof ListValue && /^[0-9]+$/.test(name))
    parent.items.splice(Number(name), 1)
}

function omit(args: readonly Value[], context: CallContext): Value {
  const copy = deepCopy(mapArgument(args, 'omit', context), (cells) => context.allocate(cells))
  for (const path of pathsOf(args, 'omit', context))
    changeAt(copy, path.split('.'), { change: remove, makes: false, context })
  return copy
}

function pick(args: readonly Value[], context: CallContext): Value {
  const map = mapArgument(args, 'pick', context)
  const picked = new MutableMap()
  for (const path of pathsOf(args, 'pick', context)) {
    const steps = path.split('.')
    const found = read(map, steps, context)
    if (found === undefined) continue
    const value = deepCopy(found, (cells) => context.allocate(cells))
    changeAt(picked, steps, {
      change: (parent, name) => write(parent, name, value),
      makes: true,
      context,
    })
  }
  return picked
}
