import { CHARACTERS_PER_STEP } from '../limits.ts'
import { byteLength, sliceBytes } from '../value/bytes.ts'
import { keyOf } from '../value/map.ts'
import { isInt, isMap, ListValue, typeOf, Undefined, type Value } from '../value/value.ts'
import type { OperatorContext } from './operators.ts'

/** `a[i]`. */
export function readIndex(operand: Value, index: Value, context: OperatorContext): Value {
  if (operand instanceof Undefined) return operand
  if (index instanceof Undefined) return index
  if (operand === null) return context.undefinedHere()
  if (operand instanceof ListValue) return readItem(operand, index, context)
  if (!isMap(operand))
    return context.run.fail(
      context.site,
      `only a list or a map has elements, not ${typeOf(operand)}`,
    )
  const key = keyOf(index)
  if (key === undefined)
    return context.run.fail(
      context.site,
      `a key is a bool, a number or a string, not ${typeOf(index)}`,
    )
  const found = operand.get(key)
  // Null is a value: only a missing member is undefined.
  return found === undefined ? context.undefinedHere() : found
}

function readItem(list: ListValue, index: Value, context: OperatorContext): Value {
  const place = placeOf(list, index, context)
  const item = place === undefined ? undefined : list.items[place]
  return item === undefined ? context.undefinedHere() : item
}

/** Resolves an index, which may count from the end; undefined if it is out of range. */
function placeOf(list: ListValue, index: Value, context: OperatorContext): number | undefined {
  if (!isInt(index))
    return context.run.fail(context.site, `the index of a list is an int, not ${typeOf(index)}`)
  const place = Number(index) < 0 ? list.items.length + Number(index) : Number(index)
  return place >= 0 && place < list.items.length ? place : undefined
}

/** Evaluates `a[from:to]`: by elements of a list, by bytes of a string. */
export function readSlice(
  operand: Value,
  bounds: { readonly from: Value | undefined; readonly to: Value | undefined },
  context: OperatorContext,
): Value {
  if (operand instanceof Undefined) return operand
  if (operand === null) return context.undefinedHere()
  if (typeof operand !== 'string' && !(operand instanceof ListValue))
    return context.run.fail(
      context.site,
      `only a list or a string can be sliced, not ${typeOf(operand)}`,
    )
  const length = typeof operand === 'string' ? byteLength(operand) : operand.items.length
  const from = boundOf(bounds.from, 0, context)
  const to = boundOf(bounds.to, length, context)
  if (from instanceof Undefined) return from
  if (to instanceof Undefined) return to
  if (from < 0 || from > to || to > length) return context.undefinedHere()
  if (typeof operand === 'string') {
    context.run.allocate(Math.ceil((to - from) / CHARACTERS_PER_STEP))
    return sliceBytes(operand, from, to)
  }
  context.run.allocate(to - from)
  return new ListValue(operand.items.slice(from, to))
}

function boundOf(
  bound: Value | undefined,
  otherwise: number,
  context: OperatorContext,
): number | Undefined {
  if (bound === undefined) return otherwise
  if (bound instanceof Undefined) return bound
  if (!isInt(bound))
    return context.run.fail(context.site, `the bounds of a slice are ints, not ${typeOf(bound)}`)
  return Number(bound)
}

/** `container[index] = value`. */
export function writeIndex(
  target: { readonly container: Value; readonly index: Value },
  value: Value,
  context: OperatorContext,
): void {
  const { container, index } = target
  if (container instanceof ListValue) {
    const place = placeOf(container, index, context)
    if (place === undefined)
      return context.run.fail(
        context.site,
        `the list has ${container.items.length} elements: there is none at this index`,
      )
    container.items[place] = value
    return
  }
  if (!isMap(container))
    return context.run.fail(
      context.site,
      `only an element of a list or a map can be assigned, not of ${typeOf(container)}`,
    )
  const key = keyOf(index)
  if (key === undefined)
    return context.run.fail(
      context.site,
      `a key is a bool, a number or a string, not ${typeOf(index)}`,
    )
  if (!container.has(key)) context.run.allocate(1)
  container.set(key, value)
}

/** `is empty`. */
export function isEmpty(value: Value, context: OperatorContext): boolean | Undefined {
  if (value instanceof Undefined) return value
  if (typeof value === 'string') return value.length === 0
  if (value instanceof ListValue) return value.items.length === 0
  if (isMap(value)) return value.size === 0
  return context.run.fail(
    context.site,
    `only a list, a map or a string can be empty, not ${typeOf(value)}`,
  )
}
