import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { NumberValue } from '../value/number.ts'
import { type Kind, kindOf, type ObjectValue, type SetValue, type Value } from '../value/value.ts'

/** What an operand may be: one kind, one of several, or anything. */
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

/** What a builtin may ask of the evaluation that calls it. */
export interface CallContext {
  /** Nanoseconds since 1970, the same for the whole evaluation. */
  readonly nowNs: bigint
  /** A draw from [0, 1), from the caller's stream. */
  readonly random: () => number
  /**
   * How many milliseconds the clocks of a zone are ahead of UTC at a moment; throws a RangeError
   * for a zone that is not known. Without it there is only UTC.
   */
  readonly offsetAt?: ((zone: string, ms: number) => number) | undefined
  /** Keys and signatures; reading it ends an evaluation that was given none. */
  readonly crypto: CryptoHost
  /** What `opa.runtime` tells policies about the program that runs them. */
  readonly runtime?: Value | undefined
  /** Kept for the whole evaluation: what must not change within it, and costly preparations. */
  readonly memory: Map<string, unknown>
  /** A note for the trace of the evaluation. */
  note(text: string): void
  /** One case of a test that has several begins. */
  testCase(path: readonly Value[]): void
  /** Pays for work that grows with the operands: one step per visited element or so. */
  charge(steps: number): void
  /** `return context.fail('divide by zero')`: undefined, or an error where builtins are strict. */
  fail(message: string): undefined
  /** The same for an operand of the wrong type, such as a bad element of an array. */
  failType(message: string): undefined
  /** An error wherever builtins are called: without an answer the policy could let all pass. */
  refuse(message: string): undefined
}

export interface Builtin {
  readonly name: string
  readonly operands: readonly OperandType[]
  /** What it gives, when that is always of one kind; lets the compiler find type errors. */
  readonly result: OperandType
  /** Gives an array of results, each of which is an answer: `walk`. */
  readonly isRelation: boolean
  /** Version 0 only. */
  readonly isDeprecated: boolean
  /** Operands have been checked against `operands`. Undefined without `fail` is just undefined. */
  readonly call: (context: CallContext, ...operands: readonly Value[]) => Value | undefined
}

export interface BuiltinOptions {
  readonly isRelation?: boolean
  readonly isDeprecated?: boolean
}

/** A builtin whose function gets its operands with their types. */
export function define<const T extends readonly OperandType[]>(
  signature: { readonly name: string; readonly operands: T; readonly result: OperandType },
  call: (context: CallContext, ...operands: Operands<T>) => Value | undefined,
  options: BuiltinOptions = {},
): Builtin {
  return {
    ...signature,
    isRelation: options.isRelation ?? false,
    isDeprecated: options.isDeprecated ?? false,
    // The evaluator checks every operand against the types from which `Operands<T>` is made.
    call: call as Builtin['call'],
  }
}

/** The message about the first operand of a wrong type; nothing when all fit. */
export function findMistyped(builtin: Builtin, operands: readonly Value[]): string | undefined {
  for (let at = 0; at < operands.length; at++) {
    const type = builtin.operands[at]
    const operand = operands[at]
    if (type === undefined || type === 'any' || operand === undefined) continue
    const kind = kindOf(operand)
    if (typeof type === 'string' ? type !== kind : !type.includes(kind))
      return mistyped(at + 1, type, kind)
  }
  return undefined
}

/** `operand 1 must be one of {set, array} but got string` */
export function mistyped(position: number, wanted: OperandType, got: string): string {
  const want = typeof wanted === 'string' ? wanted : `one of {${wanted.join(', ')}}`
  return `operand ${position} must be ${want} but got ${got}`
}
