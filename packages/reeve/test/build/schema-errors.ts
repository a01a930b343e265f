import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

type Checker = ReturnType<typeof Compile>

/** Schemas that tests check again and again: compiled, a check takes a hundredth of the time. */
const checkers = new WeakMap<TSchema, Checker>()

/** How the value differs from the schema; empty when it does not. */
export function schemaErrors(schema: TSchema, value: unknown): readonly object[] {
  const checker = checkers.get(schema) ?? Compile(schema)
  checkers.set(schema, checker)
  return checker.Check(value) ? [] : checker.Errors(value)
}
