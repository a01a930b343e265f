import type { CallContext } from '../builtins/builtin.ts'
import type { ObjectValue, Value } from '../value/value.ts'

/** State of one validation. */
export interface Validation {
  readonly context: CallContext
  /** The whole schema, which references resolve against. */
  readonly root: Value
  readonly problems: SchemaProblem[]
  depth: number
  /** Checks a nested value. Injected, because keywords.ts cannot import validate.ts. */
  readonly check: (validation: Validation, target: ValidationTarget) => void
}

/** A value to check against a schema; `path` leads to it from the root of the document. */
interface ValidationTarget {
  readonly schema: Value
  readonly value: Value
  readonly path: readonly string[]
}

/** A target whose schema is not `true` or `false`. */
export interface ObjectSchemaTarget extends ValidationTarget {
  readonly schema: ObjectValue
}

/** Reports whether a value satisfies a schema, without adding problems to the validation. */
export function isValid(
  validation: Validation,
  schema: Value,
  { value, path }: Omit<ValidationTarget, 'schema'>,
): boolean {
  const inner: Validation = { ...validation, problems: [] }
  validation.check(inner, { schema, value, path })
  return inner.problems.length === 0
}

/** Adds a problem; `%field%` in the description stands for the path of the value. */
export function report(
  validation: Validation,
  path: readonly string[],
  { type, description }: { readonly type: string; readonly description: string },
): void {
  const field = path.length === 0 ? '(Root)' : path.join('.')
  validation.problems.push({ field, type, description: description.replaceAll('%field%', field) })
}

/** A validation error of a document, with the member names of results. */
export interface SchemaProblem {
  /** Path with periods between the names; `(Root)` for the document itself. */
  readonly field: string
  readonly type: string
  readonly description: string
}
