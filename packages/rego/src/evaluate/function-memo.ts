import { FUNCTION_MEMO_FROM } from '../limits.ts'
import type { VirtualDocument } from '../compile/ir.ts'
import type { Value } from '../value/value.ts'
import { NO_VALUE } from './env.ts'

/**
 * Caches results of functions in one scope. Without it, functions that call a function twice would
 * take exponential time in the depth. Operands are compared by identity, which is cheap and safe:
 * equal operands that are not identical are only computed again.
 */
export class FunctionMemo {
  readonly #calls = new Map<
    VirtualDocument,
    { count: number; readonly results: Map<string, Result> }
  >()
  readonly #ids = new WeakMap<object, number>()
  #idNext = 0

  /** Returns the cache key of a call; undefined while the function has been called rarely. */
  keyOf(group: VirtualDocument, operands: readonly Value[]): string | undefined {
    let calls = this.#calls.get(group)
    if (calls === undefined) {
      calls = { count: 0, results: new Map() }
      this.#calls.set(group, calls)
    }
    if (++calls.count < FUNCTION_MEMO_FROM) return undefined
    let key = ''
    for (const operand of operands) key += this.#identify(operand)
    return key
  }

  #identify(operand: Value): string {
    if (typeof operand === 'string') return `${operand.length}"${operand}`
    if (typeof operand !== 'object' || operand === null) return `${operand},`
    let id = this.#ids.get(operand)
    if (id === undefined) {
      id = this.#idNext++
      this.#ids.set(operand, id)
    }
    return `#${id},`
  }

  get(group: VirtualDocument, key: string): Result | undefined {
    return this.#calls.get(group)?.results.get(key)
  }

  set(group: VirtualDocument, key: string, value: Value | undefined): void {
    this.#calls.get(group)?.results.set(key, value === undefined ? NO_VALUE : value)
  }
}

type Result = Value | typeof NO_VALUE
