import { escapeQuery } from './url/url.ts'
import { count, text } from './argument.ts'
import { constantCost, deepCost, escapingCost, textCost } from './budget.ts'
import { printf } from './printf.ts'
import { functionTable, type TemplateFunctions } from './function-table.ts'
import { fail } from './template-error.ts'
import { isList, isMap, isTrue, printValue, StructValue, typeNameOf, type Value } from './value.ts'

/** The functions that the language itself has. */
export const GO_FUNCTIONS: TemplateFunctions = functionTable([
  // Both are evaluated by the renderer, argument by argument; the names must be known.
  ['and', constantCost, (...args) => args.at(-1)],
  ['or', constantCost, (...args) => args.at(-1)],
  ['not', constantCost, (value) => !isTrue(value)],
  ['eq', textCost, (first, ...others) => isEqualToAny(first, others)],
  ['ne', textCost, (a, b) => !isEqual(a, b)],
  ['lt', textCost, (a, b) => compare(a, b) < 0],
  ['le', textCost, (a, b) => compare(a, b) <= 0],
  ['gt', textCost, (a, b) => compare(a, b) > 0],
  ['ge', textCost, (a, b) => compare(a, b) >= 0],
  ['len', textCost, lengthOf],
  ['index', constantCost, indexOf],
  ['slice', constantCost, slice],
  ['print', deepCost, print],
  ['println', deepCost, (...args) => `${args.map((value) => printValue(value, true)).join(' ')}\n`],
  ['printf', escapingCost, (format, ...args) => printf(text(format), args)],
  [
    'html',
    escapingCost,
    (...args) => print(...args).replace(/[&<>"'\0]/g, (mark) => HTML[mark] ?? mark),
  ],
  ['js', escapingCost, (...args) => print(...args).replace(/[\\'"<>&=\n\r\t]/g, escapeScript)],
  ['urlquery', escapingCost, (...args) => escapeQuery(print(...args))],
])

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
  '\0': '\uFFFD',
}

function escapeScript(mark: string): string {
  if ('\\\'"'.includes(mark)) return `\\${mark}`
  return `\\u00${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

/** Blanks go between operands when neither is a string. */
function print(...args: readonly Value[]): string {
  return args
    .map((value, index) => {
      const before = args[index - 1]
      const isApart = index > 0 && typeof value !== 'string' && typeof before !== 'string'
      return `${isApart ? ' ' : ''}${printValue(value, true)}`
    })
    .join('')
}

function isEqualToAny(first: Value, others: readonly Value[]): boolean {
  if (others.length === 0) return fail('missing argument for comparison')
  return others.some((other) => isEqual(first, other))
}

function isEqual(a: Value, b: Value): boolean {
  const [left, right] = [a ?? null, b ?? null]
  if (left === null || right === null) return left === right
  if (isCompound(left) || isCompound(right)) return fail('non-comparable type')
  if (typeof left !== typeof right) return fail('incompatible types for comparison')
  return left === right
}

function isCompound(value: Value): boolean {
  return isList(value) || isMap(value) || value instanceof StructValue
}

function compare(a: Value, b: Value): number {
  if (typeof a !== typeof b) return fail('incompatible types for comparison')
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return fail('invalid type for comparison')
}

/** Returns the length; for a string the number of bytes. */
function lengthOf(value: Value): Value {
  if (typeof value === 'string') return BigInt(byteLength(value))
  if (isList(value)) return BigInt(value.length)
  if (isMap(value)) return BigInt(value.size)
  return fail(`len of type ${typeNameOf(value)}`)
}

function byteLength(value: string): number {
  let bytes = 0
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

function indexOf(start: Value, ...keys: readonly Value[]): Value {
  let value = start
  for (const key of keys) {
    if (isMap(value)) value = value.get(text(key))
    else if (isList(value)) value = value[inRange(count(key), value.length - 1)]
    else if (typeof value === 'string')
      value = BigInt(value.charCodeAt(inRange(count(key), value.length - 1)))
    else return fail(`can't index item of type ${typeNameOf(value)}`)
  }
  return value
}

function slice(value: Value, ...bounds: readonly Value[]): Value {
  if (!isList(value) && typeof value !== 'string') {
    return fail(`can't slice item of type ${typeNameOf(value)}`)
  }
  const [from = 0, to = value.length] = bounds.map((bound) => inRange(count(bound), value.length))
  return from > to ? fail(`invalid slice index: ${from} > ${to}`) : value.slice(from, to)
}

function inRange(index: number, last: number): number {
  return index >= 0 && index <= last ? index : fail(`index out of range: ${index}`)
}
