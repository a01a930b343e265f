import type { Position } from '../syntax/source.ts'
import { Float, type Int } from './int.ts'

/**
 * A value of the language. Whole numbers are `Int`, others plain numbers; a float without fraction
 * is a `Float` (see int.ts). Lists and maps are shared, not copied ("call").
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

/** Carries where it first came up; the place is reported, not compared. */
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

/** Keys as maps tell them apart: `1` and `1.0` are the same. */
export type Key = boolean | string | number | bigint

/** A map; one that shows foreign data makes its values when they are read. */
export interface MapValue {
  readonly isMap: true
  readonly size: number
  get(key: Key): Value | undefined
  has(key: Key): boolean
  set(key: Key, value: Value): void
  delete(key: Key): void
  /** A map that shares nothing with this one, where that is possible without reading it all. */
  copy?(copyValue: (value: Value) => Value): MapValue
  /** In the order of keys: bools, numbers, texts. */
  keys(): readonly Key[]
}

export interface FunctionValue {
  readonly isFunction: true
  /** How reports call it. */
  readonly name: string
  /** Fewest and most arguments. */
  readonly arity: readonly [number, number]
  call(args: readonly Value[], context: CallContext): Value
}

/** An expression that is evaluated when it is first read. */
export interface RuleValue {
  readonly isRule: true
  force(): Value
}

/** What a function of the host may use while it runs. */
export interface CallContext {
  /** Where the call stands. */
  readonly position: Position
  readonly undefinedHere: Undefined
  /** Pays for work; ends the evaluation when it has cost too much. */
  charge(steps: number): void
  /** Pays for what stays in memory. */
  keep(cells: number): void
  /** Ends the evaluation with an error at the call. */
  fail(message: string): never
  /** Adds a line to what the policy has said. */
  print(text: string): void
  /** Whether a text matches a pattern (RE2, unanchored). */
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

/** As JavaScript computes: loses digits beyond 2^53. */
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
