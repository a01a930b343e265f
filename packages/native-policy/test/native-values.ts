/** Values and operators of the reference interpreter, see native-interpreter.ts. */
export class Failure extends Error {}

class Nothing {
  readonly name = 'undefined'
}
export const NOTHING = new Nothing()
export class Flo {
  readonly number: number
  constructor(number: number) {
    this.number = number
  }
}
export class List {
  readonly items: V[]
  constructor(items: V[]) {
    this.items = items
  }
}
/** Entries by key text. */
export class Dict {
  readonly entries = new Map<string, { key: Key; value: V }>()
}
export interface Fun {
  readonly arity: readonly [number, number]
  readonly call: (args: V[]) => V
}
export class Lazy {
  state: 'new' | 'open' | { readonly value: V } = 'new'
  readonly compute: () => V
  constructor(compute: () => V) {
    this.compute = compute
  }
}
export type Key = boolean | string | bigint | Flo
export type V = null | boolean | string | bigint | Nothing | Flo | List | Dict | Fun | Lazy

export function fail(message: string): never {
  throw new Failure(message)
}

/** Removing an invalid key has no effect. */
export function remove(map: V, key: V): V {
  if (!(map instanceof Dict)) return fail('delete')
  if (isKey(key)) map.entries.delete(keyText(key))
  return NOTHING
}

export function force(value: V): V {
  if (!(value instanceof Lazy)) return value
  if (value.state === 'open') return fail('a rule needs itself')
  if (value.state === 'new') {
    value.state = 'open'
    value.state = { value: value.compute() }
  }
  return value.state.value
}

export function isFun(value: V): value is Fun {
  return typeof value === 'object' && value !== null && 'arity' in value
}

export function isKey(value: V): value is Key {
  return ['boolean', 'string', 'bigint'].includes(typeof value) || value instanceof Flo
}

/** `1` and `1.0` are the same key. */
export function keyText(key: Key): string {
  if (key instanceof Flo) return `n${key.number}`
  return typeof key === 'bigint' ? `n${Number(key)}` : `${typeof key}${String(key)}`
}

function rank(key: Key): number {
  return typeof key === 'boolean' ? 0 : typeof key === 'string' ? 2 : 1
}

export function sorted({ entries }: Dict): readonly { key: Key; value: V }[] {
  const plainEntries = [...entries.values()].map(({ key, value }) => ({
    key: plainKey(key),
    value,
  }))
  return plainEntries.toSorted(({ key: a }, { key: b }) => {
    if (rank(a) !== rank(b)) return rank(a) - rank(b)
    const [x, y] = [a, b].map((key) => (key instanceof Flo ? key.number : key))
    if (x === undefined || y === undefined || x === y) return 0
    return x < y ? -1 : 1
  })
}

export function elements(value: V): readonly (readonly [V, V, V])[] {
  if (value instanceof List)
    return value.items.map((item, index) => [BigInt(index), item, item] as const)
  if (value instanceof Dict)
    return sorted(value).map(({ key, value: member }) => [key, member, key] as const)
  return fail('collection')
}

export function lengthOf(value: V): V {
  if (typeof value === 'string') return BigInt(value.length)
  if (value instanceof List) return BigInt(value.items.length)
  return value instanceof Dict ? BigInt(value.entries.size) : fail('length')
}

export function isEmpty(value: V): boolean | Nothing {
  return value === NOTHING ? NOTHING : lengthOf(value) === 0n
}

export function toText(value: V): V {
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Flo) return value.number.toFixed(6)
  return typeof value === 'string' ? value : NOTHING
}

export function toInt(value: V): V {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (value instanceof Flo) return BigInt(Math.trunc(value.number))
  if (typeof value !== 'string') return NOTHING
  if (/^(?:-?[1-9]\d*|0x[0-9a-f]+|0)$/.test(value)) return BigInt(value)
  return /^0[0-7]+$/.test(value) ? BigInt(`0o${value}`) : NOTHING
}

export function numberOf(value: bigint | Flo): number {
  return value instanceof Flo ? value.number : Number(value)
}

export function isNumber(value: V): value is bigint | Flo {
  return typeof value === 'bigint' || value instanceof Flo
}

export function unary(operator: '+' | '-' | 'not', value: V): V {
  if (value === NOTHING) return value
  if (operator === 'not') return typeof value === 'boolean' ? !value : fail('not')
  if (!isNumber(value)) return fail('sign')
  if (operator === '+') return value
  return value instanceof Flo ? new Flo(-value.number) : BigInt.asIntN(64, -value)
}

export function calculate(operator: string, left: V, right: V): V {
  if (left === NOTHING || right === NOTHING) return NOTHING
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') return left + right
  if (operator === '+' && left instanceof List && right instanceof List)
    return new List([...left.items, ...right.items])
  if (!isNumber(left) || !isNumber(right)) return fail('arithmetic')
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    if ((operator === '/' || operator === '%') && right === 0n) return fail('zero')
    return BigInt.asIntN(64, INTS[operator]?.(left, right) ?? 0n)
  }
  return new Flo(FLOATS[operator]?.(numberOf(left), numberOf(right)) ?? 0)
}

const INTS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}
const FLOATS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}

/** NOTHING if a compared part of either is undefined and no earlier part decides. */
export function equal(left: V, right: V): boolean | Nothing {
  if (left === NOTHING || right === NOTHING) return NOTHING
  if (isNumber(left) && isNumber(right))
    return typeof left === typeof right && typeof left === 'bigint'
      ? left === right
      : plain(left) <= plain(right) && plain(left) >= plain(right)
  if (left instanceof List && right instanceof List) {
    if (left.items.length !== right.items.length) return false
    return allEqual(left.items.map((item, index) => [item, right.items[index] ?? null]))
  }
  if (left instanceof Dict && right instanceof Dict) {
    if (left.entries.size !== right.entries.size) return false
    if ([...left.entries.keys()].some((key) => !right.entries.has(key))) return false
    return allEqual(
      sorted(left).map(({ key, value }) => [value, right.entries.get(keyText(key))?.value ?? null]),
    )
  }
  return left === right
}

function allEqual(pairs: readonly (readonly [V, V])[]): boolean | Nothing {
  for (const [left, right] of pairs) {
    const found = equal(left, right)
    if (found !== true) return found
  }
  return true
}

export function compareOrCalculate(operator: string, left: V, right: V): V {
  const negated = /^(?:is )?not (.*)$|^is not$/.test(operator)
  const negate = (found: boolean | Nothing): V =>
    found === NOTHING ? found : negated ? !found : found
  switch (operator) {
    case 'is':
    case 'is not':
      return negate(equal(left, right))
    case '<':
    case '<=':
    case '>':
    case '>=':
      return order(operator, left, right)
    case 'in':
    case 'not in':
      return negate(contains(right, left))
    case 'contains':
    case 'not contains':
      return negate(contains(left, right))
    case 'matches':
    case 'not matches':
      if (left === NOTHING || right === NOTHING) return NOTHING
      if (typeof left !== 'string' || typeof right !== 'string') return fail('matches')
      return negate(new RegExp(right).test(left))
    default:
      return calculate(operator, left, right)
  }
}

function order(operator: string, left: V, right: V): V {
  if (left === NOTHING || right === NOTHING) return NOTHING
  const isText = typeof left === 'string' && typeof right === 'string'
  if (!isText && !(isNumber(left) && isNumber(right))) return NOTHING
  const [a, b] = isText
    ? [left, right]
    : [left, right].map((one) => (isNumber(one) ? plain(one) : 0))
  if (a === undefined || b === undefined) return NOTHING
  if (operator === '<') return a < b
  if (operator === '<=') return a <= b
  return operator === '>' ? a > b : a >= b
}

function plain(value: bigint | Flo): bigint | number {
  return value instanceof Flo ? value.number : value
}

function contains(collection: V, item: V): boolean | Nothing {
  if (collection === NOTHING || item === NOTHING) return NOTHING
  if (typeof collection === 'string')
    return typeof item === 'string' ? collection.includes(item) : fail('contains')
  if (collection instanceof Dict) return isKey(item) && collection.entries.has(keyText(item))
  if (!(collection instanceof List)) return fail('contains')
  for (const one of collection.items) {
    const found = equal(one, item)
    if (found !== false) return found
  }
  return false
}

function placeIn({ items }: List, index: V): number | undefined {
  if (typeof index !== 'bigint') return fail('index')
  const place = Number(index) < 0 ? items.length + Number(index) : Number(index)
  return place >= 0 && place < items.length ? place : undefined
}

export function readIndex(operand: V, index: V): V {
  if (operand === NOTHING || index === NOTHING) return NOTHING
  if (operand === null) return NOTHING
  if (operand instanceof List) {
    const place = placeIn(operand, index)
    return place === undefined ? NOTHING : force(operand.items[place] ?? null)
  }
  if (!(operand instanceof Dict) || !isKey(index)) return fail('index')
  const found = operand.entries.get(keyText(index))
  return found === undefined ? NOTHING : force(found.value)
}

export function writeIndex(container: V, index: V, value: V): void {
  if (container instanceof List) {
    const place = placeIn(container, index)
    if (place === undefined) return fail('range')
    container.items[place] = value
  } else if (container instanceof Dict && isKey(index))
    container.entries.set(keyText(index), {
      key: container.entries.get(keyText(index))?.key ?? index,
      value,
    })
  else fail('index')
}

export function slice(operand: V, from: V | undefined, to: V | undefined): V {
  if (operand === NOTHING || operand === null) return NOTHING
  if (typeof operand !== 'string' && !(operand instanceof List)) return fail('slice')
  const { length } = typeof operand === 'string' ? operand : operand.items
  const bounds = [from === undefined ? 0n : from, to === undefined ? BigInt(length) : to]
  if (bounds.some((bound) => bound !== NOTHING && typeof bound !== 'bigint')) return fail('bound')
  if (bounds.includes(NOTHING)) return NOTHING
  const [low = 0, high = 0] = bounds.map(Number)
  if (low < 0 || low > high || high > length) return NOTHING
  return typeof operand === 'string'
    ? operand.slice(low, high)
    : new List(operand.items.slice(low, high))
}

export function show(value: V): string {
  if (value === null) return 'null'
  if (value === NOTHING) return 'undefined'
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Flo) return floatText(value.number)
  if (value instanceof List) return `[${value.items.map((item) => show(item)).join(', ')}]`
  if (value instanceof Dict)
    return `{${sorted(value)
      .map(({ key, value: member }) => `${show(key)}: ${show(member)}`)
      .join(', ')}}`
  if (value instanceof Lazy) return 'rule'
  return typeof value === 'object' ? 'func' : String(value)
}

/** A policy that reads back an integral key receives an int. */
function plainKey(key: Key): Key {
  return key instanceof Flo && Number.isSafeInteger(key.number) ? BigInt(key.number) : key
}

function floatText(number: number): string {
  const text = String(number)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}
