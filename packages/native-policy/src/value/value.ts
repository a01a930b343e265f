import type { Position } from '../syntax/source.ts'
import { Float, type Int } from './int.ts'

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

export type TypeName =
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
