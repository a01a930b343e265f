import { eachElement, elementsOf } from '../evaluate/elements.ts'
import { areEqual } from '../value/equal.ts'
import { createMap } from '../value/map.ts'
import {
  isFunction,
  isMap,
  ListValue,
  typeOf,
  type CallContext,
  type FunctionValue,
  type MapValue,
  type Value,
} from '../value/value.ts'
import { defineVariadic } from './function.ts'

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
