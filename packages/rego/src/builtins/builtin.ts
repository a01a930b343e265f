import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { NumberValue } from '../value/number.ts'
import { type Kind, kindOf, type ObjectValue, type SetValue, type Value } from '../value/value.ts'

/** Accepted types of an operand: one kind, several, or any. */
export type OperandType = Kind | 'any' | readonly Kind[]

interface KindValues {
  readonly null: null
  readonly boolean: boolean
  readonly number: NumberValue
  readonly string: string
  readonly array: readonly Value[]
  readonly object: ObjectValue
  readonly set: SetValue
  readonly any: Value
}
type ValueOf<T extends OperandType> = T extends readonly Kind[]
  ? KindValues[T[number]]
  : T extends keyof KindValues
    ? KindValues[T]
    : never
type Operands<T extends readonly OperandType[]> = { -readonly [I in keyof T]: ValueOf<T[I]> }

/** The part of an evaluation that builtins may use. */
export interface CallContext {
  /** Nanoseconds since 1970, the same for the whole evaluation. */
  readonly nowNs: bigint
  /** Returns a random number in [0, 1) from the caller's generator. */
  readonly random: () => number
  /**
   * Returns the UTC offset of a time zone at a time, in milliseconds; throws a RangeError for an
   * unknown zone. Without it only UTC is supported.
   */
  readonly offsetAt?: ((zone: string, ms: number) => number) | undefined
  /** Keys and signatures; reading it aborts an evaluation that has none. */
  readonly crypto: CryptoHost
  /** Result of `opa.runtime`: information about the embedding program. */
  readonly runtime?: Value | undefined
  /**
   * Kept for the whole evaluation: values that must not change within it, and expensive
   * intermediate results.
   */
  readonly memory: Map<string, unknown>
  /** Adds a note to the trace of the evaluation. */
  note(text: string): void
  /** Starts a case of a test that has several. */
  testCase(path: readonly Value[]): void
  /** Charges for work that grows with the operands: about one step per visited element. */
  charge(steps: number): void
  /**
   * Fails the call, as in `return context.fail('divide by zero')`: undefined, or an error if
   * builtins are strict.
   */
  fail(message: string): undefined
  /** Fails the call because of an operand of the wrong type, such as an element of an array. */
  failType(message: string): undefined
  /**
   * Aborts the evaluation even if builtins are not strict: with an undefined result the policy
   * could allow everything.
   */
  refuse(message: string): undefined
}

export interface Builtin {
  readonly name: string
  readonly operands: readonly OperandType[]
  /** Type of the result if it is fixed; the compiler uses it to find type errors. */
  readonly result: OperandType
  /** Returns an array of results, each of which is a solution: `walk`. */
  readonly isRelation: boolean
  /** Version 0 only. */
  readonly isDeprecated: boolean
  /**
   * Operands are already checked against `operands`. Undefined without `fail` is simply undefined.
   */
  readonly call: (context: CallContext, ...operands: readonly Value[]) => Value | undefined
}

export interface BuiltinOptions {
  readonly isRelation?: boolean
  readonly isDeprecated?: boolean
}

/** Defines a builtin; its function receives typed operands. */
export function define<const T extends readonly OperandType[]>(
  signature: { readonly name: string; readonly operands: T; readonly result: OperandType },
  call: (context: CallContext, ...operands: Operands<T>) => Value | undefined,
  options: BuiltinOptions = {},
): Builtin {
  return {
    ...signature,
    isRelation: options.isRelation ?? false,
    isDeprecated: options.isDeprecated ?? false,
    // The evaluator checks every operand against the types that `Operands<T>` is derived from.
    call: call as Builtin['call'],
  }
}

/** Returns the error for the first operand of a wrong type; undefined if all match. */
export function findTypeMismatch(builtin: Builtin, operands: readonly Value[]): string | undefined {
  for (let at = 0; at < operands.length; at++) {
    const type = builtin.operands[at]
    const operand = operands[at]
    if (type === undefined || type === 'any' || operand === undefined) continue
    const kind = kindOf(operand)
    if (typeof type === 'string' ? type !== kind : !type.includes(kind))
      return typeMismatch(at + 1, type, kind)
  }
  return undefined
}

/** `operand 1 must be one of {set, array} but got string` */
export function typeMismatch(position: number, wanted: OperandType, got: string): string {
  const want = typeof wanted === 'string' ? wanted : `one of {${wanted.join(', ')}}`
  return `operand ${position} must be ${want} but got ${got}`
}
