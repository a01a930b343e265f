import type { CallContext } from '../builtins/builtin.ts'
import type { ObjectValue, Value } from '../value/value.ts'

/** One validation: the schema as a whole, and what has been found so far. */
export interface Validation {
  readonly context: CallContext
  readonly root: Value
  readonly problems: SchemaProblem[]
  depth: number
  /** Checks a value inside the document; the checks of arrays and objects come back to it. */
  readonly check: (validation: Validation, place: InstancePath) => void
}

/** A value, the schema it has to fit, and the names and positions from the document down. */
interface InstancePath {
  readonly schema: Value
  readonly value: Value
  readonly path: readonly string[]
}
export interface Place extends InstancePath {
  readonly schema: ObjectValue
}

/** Whether it would find nothing wrong. */
export function isValid(
  validation: Validation,
  schema: Value,
  { value, path }: Omit<InstancePath, 'schema'>,
): boolean {
  const inner: Validation = { ...validation, problems: [] }
  validation.check(inner, { schema, value, path })
  return inner.problems.length === 0
}

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
