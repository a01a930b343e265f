import { CUT_LENGTH_MIN, VALUE_DEPTH_MAX } from '../limits.ts'
import type { Position } from '../syntax/source.ts'
import { compareTexts } from './bytes.ts'

/**
 * A value of the language. Integers are `Int`, other numbers are numbers; a float without a
 * fraction is a `Float`. Lists and maps have reference semantics.
 */
export type Value =
  | null
  | boolean
  | string
  | number
  | bigint
  | Float
  | Undefined
  | ListValue
  | MapValue
  | FunctionValue
  | RuleValue

/** Carries the position where it first occurred, which is reported but not compared. */
export class Undefined {
  readonly position: Position | undefined

  constructor(position: Position | undefined) {
    this.position = position
  }
}

export class ListValue {
  readonly items: Value[]

  constructor(items: Value[]) {
    this.items = items
  }
}

/** Map keys: `1` and `1.0` are the same key. */
export type Key = boolean | string | number | bigint

/** A map. A lazy map converts host data when it is read. */
export interface MapValue {
  readonly isMap: true
  readonly size: number
  get(key: Key): Value | undefined
  has(key: Key): boolean
  set(key: Key, value: Value): void
  delete(key: Key): void
  /** Returns an independent copy, without reading the whole map if possible. */
  copy?(copyValue: (value: Value) => Value): MapValue
  /** Sorted: bools, numbers, strings. */
  keys(): readonly Key[]
}

export interface FunctionValue {
  readonly isFunction: true
  /** Name in messages. */
  readonly name: string
  /** Minimum and maximum number of arguments. */
  readonly arity: readonly [number, number]
  call(args: readonly Value[], context: CallContext): Value
}

/** An expression that is evaluated on first read. */
export interface RuleValue {
  readonly isRule: true
  force(): Value
}

/** The services a host function may use during a call. */
export interface CallContext {
  /** Position of the call. */
  readonly position: Position
  readonly undefinedHere: Undefined
  /** Charges steps; aborts the evaluation when the budget is exhausted. */
  charge(steps: number): void
  /** Charges memory for values that stay alive. */
  allocate(cells: number): void
  /** Aborts the evaluation with an error at the call. */
  fail(message: string): never
  /** Adds a line to the policy's output. */
  print(text: string): void
  /** Whether a string matches a regular expression (RE2, unanchored). */
  matches(text: string, pattern: string): boolean
  /** Calls a function that was passed as an argument. */
  apply(callee: FunctionValue, args: readonly Value[]): Value
}

export function isMap(value: Value): value is MapValue {
  return typeof value === 'object' && value !== null && 'isMap' in value
}

export function isFunction(value: Value): value is FunctionValue {
  return typeof value === 'object' && value !== null && 'isFunction' in value
}

export function isRule(value: Value): value is RuleValue {
  return typeof value === 'object' && value !== null && 'isRule' in value
}

export function isInt(value: Value): value is Int {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))
}

export function isNumeric(value: Value): value is number | bigint | Float {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Float
}

/** Converts like JavaScript: loses digits beyond 2^53. */
export function toNumber(value: number | bigint | Float): number {
  return value instanceof Float ? value.value : Number(value)
}

type TypeName =
  | 'bool'
  | 'int'
  | 'float'
  | 'string'
  | 'null'
  | 'undefined'
  | 'list'
  | 'map'
  | 'func'
  | 'rule'

export function typeOf(value: Value): TypeName {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'string':
      return 'string'
    case 'bigint':
      return 'int'
    case 'number':
      return Number.isSafeInteger(value) ? 'int' : 'float'
    default:
      return typeOfObject(value)
  }
}

function typeOfObject(value: Exclude<Value, null | boolean | string | number | bigint>): TypeName {
  if (value instanceof Float) return 'float'
  if (value instanceof Undefined) return 'undefined'
  if (value instanceof ListValue) return 'list'
  if ('isMap' in value) return 'map'
  return 'isFunction' in value ? 'func' : 'rule'
}

/**
 * An int of the language: 64 bits, wrapping. A number where that is exact, which makes most
 * arithmetic fast; otherwise a bigint.
 */
export type Int = number | bigint

/** A float without a fraction. Numbers with a fraction need no wrapper. */
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export function wrapInt(value: bigint): Int {
  const wrapped = BigInt.asIntN(64, value)
  return wrapped >= MIN_SAFE && wrapped <= MAX_SAFE ? Number(wrapped) : wrapped
}

export function floatOf(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value
}

const MIN_SAFE = BigInt(Number.MIN_SAFE_INTEGER)
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** Charges for a comparison; aborts the evaluation when the budget is exhausted. */
type Charge = (steps: number) => void

/**
 * Values of different types are not equal, except int and float. The result is undefined if a
 * compared part is undefined.
 */
export function areEqual(left: Value, right: Value, charge: Charge): boolean | Undefined {
  return compareDeep(left, right, { charge, depth: 0 })
}

interface Progress {
  readonly charge: Charge
  readonly depth: number
}

function compareDeep(left: Value, right: Value, progress: Progress): boolean | Undefined {
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  if (left === right) return true
  if (isNumeric(left)) return isNumeric(right) && areNumbersEqual(left, right)
  if (left instanceof ListValue)
    return right instanceof ListValue && areListsEqual(left, right, progress)
  if (isMap(left)) return isMap(right) && areMapsEqual(left, right, progress)
  if (isRule(left) || isRule(right))
    return compareDeep(forced(left), forced(right), deeper(progress))
  return false
}

function forced(value: Value): Value {
  return isRule(value) ? value.force() : value
}

function areNumbersEqual(left: number | bigint | Float, right: number | bigint | Float): boolean {
  // JavaScript compares bigint and number exactly.
  const [a, b] = [unboxed(left), unboxed(right)]
  // eslint-disable-next-line eqeqeq -- `===` is always false between number and bigint
  return a == b
}

function unboxed(value: number | bigint | Float): number | bigint {
  return value instanceof Float ? value.value : value
}

function areListsEqual(left: ListValue, right: ListValue, progress: Progress): boolean | Undefined {
  if (left.items.length !== right.items.length) return false
  const inner = deeper(progress)
  progress.charge(left.items.length)
  for (const [index, item] of left.items.entries()) {
    const isSame = compareDeep(item, right.items[index] ?? null, inner)
    if (isSame !== true) return isSame
  }
  return true
}

function areMapsEqual(left: Value, right: Value, progress: Progress): boolean | Undefined {
  if (!isMap(left) || !isMap(right) || left.size !== right.size) return false
  const inner = deeper(progress)
  progress.charge(left.size)
  for (const key of left.keys()) {
    if (!right.has(key)) return false
    const isSame = compareDeep(left.get(key) ?? null, right.get(key) ?? null, inner)
    if (isSame !== true) return isSame
  }
  return true
}

function deeper({ charge, depth }: Progress): Progress {
  if (depth >= VALUE_DEPTH_MAX) charge(Number.POSITIVE_INFINITY)
  return { charge, depth: depth + 1 }
}

/** Compares two numbers or two strings; undefined for other types. */
export function compareOrdered(left: Value, right: Value): number | undefined {
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (!isNumeric(left) || !isNumeric(right)) return undefined
  const [a, b] = [unboxed(left), unboxed(right)]
  if (a < b) return -1
  if (a > b) return 1
  return Number.isNaN(toNumber(left)) || Number.isNaN(toNumber(right)) ? undefined : 0
}

/** Formats a value for reports and `print`, truncated to `lengthMax` characters. */
export function formatValue(value: Value, lengthMax: number): string {
  const writer = new Writer(lengthMax)
  writer.write(value, 0)
  return writer.text
}

class Writer {
  text = ''
  readonly #lengthMax: number

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax
  }

  write(value: Value, depth: number): void {
    if (this.text.length > this.#lengthMax) return
    if (depth > VALUE_DEPTH_MAX) return this.#add('…')
    if (value instanceof ListValue) return this.#list(value, depth)
    if (isMap(value)) return this.#map(value, depth)
    this.#scalar(value)
  }

  #scalar(value: Value): void {
    const text = scalar(value)
    const room = this.#lengthMax - this.text.length
    this.#add(text.length > room && room < CUT_LENGTH_MIN ? '…' : text)
  }

  #list(list: ListValue, depth: number): void {
    this.#add('[')
    for (const [index, item] of list.items.entries()) {
      if (this.#isFull()) return
      if (index > 0) this.#add(', ')
      this.write(item, depth + 1)
    }
    this.#add(']')
  }

  #map(map: Extract<Value, { isMap: true }>, depth: number): void {
    this.#add('{')
    for (const [index, key] of map.keys().entries()) {
      if (this.#isFull()) return
      if (index > 0) this.#add(', ')
      this.#add(`${showKey(key)}: `)
      this.write(map.get(key) ?? null, depth + 1)
    }
    this.#add('}')
  }

  #isFull(): boolean {
    return this.text.length > this.#lengthMax
  }

  #add(text: string): void {
    if (this.#isFull()) return
    this.text += text
    if (this.#isFull()) this.text = `${this.text.slice(0, this.#lengthMax)}…`
  }
}

function showKey(key: Key): string {
  return typeof key === 'string' ? quote(key) : String(key)
}

function scalar(value: Value): string {
  if (typeof value === 'string') return quote(value)
  if (value instanceof Float) return showFloat(value.value)
  if (value instanceof Undefined) return 'undefined'
  if (value !== null && typeof value === 'object') return isFunction(value) ? 'func' : 'rule'
  return String(value)
}

function showFloat(value: number): string {
  const text = String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

function quote(text: string): string {
  return JSON.stringify(text)
}
