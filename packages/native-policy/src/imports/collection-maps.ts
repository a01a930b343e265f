import { deepCopy } from '../value/copy.ts'
import { createMap, MutableMap } from '../value/map.ts'
import {
  isMap,
  ListValue,
  typeOf,
  type CallContext,
  type MapValue,
  type Value,
} from '../value/value.ts'
import { textArgument, defineVariadic } from './function.ts'

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
