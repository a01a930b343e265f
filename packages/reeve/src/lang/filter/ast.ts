/** The syntax tree of a filter. */
export type Expression = Connective | Negation | Match | Quantifier

/** Chains are right-associative: `a and b and c` is `a and (b and c)`. */
export interface Connective {
  readonly kind: 'and' | 'or'
  readonly left: Expression
  readonly right: Expression
}

interface Negation {
  readonly kind: 'not'
  readonly operand: Expression
}

/** `X contains v` and `v in X` are the same match; so are `not contains` and `not in`. */
export type Match = ValueMatch | UnaryMatch

export interface ValueMatch {
  readonly kind: 'match'
  readonly operator: 'equal' | 'in' | 'matches'
  readonly negated: boolean
  readonly selector: Selector
  /** Always a string; its interpretation depends on the type of the selected value. */
  readonly value: string
}

interface UnaryMatch {
  readonly kind: 'match'
  readonly operator: 'empty' | 'nil'
  readonly negated: boolean
  readonly selector: Selector
}

export interface Quantifier {
  readonly kind: 'any' | 'all'
  readonly selector: Selector
  readonly binding: Binding
  readonly body: Expression
}

/** A single name binds the element of a list or the key of a map; of two names, `_` is absent. */
export type Binding =
  | { readonly form: 'single'; readonly name: string }
  | { readonly form: 'pair'; readonly key: string | undefined; readonly value: string | undefined }

export interface Selector {
  readonly form: 'dotted' | 'pointer'
  readonly path: readonly string[]
}

/** The selector for error messages: `Meta.team` or `/Meta/team`. */
export function selectorText(selector: Selector): string {
  return selector.form === 'dotted' ? selector.path.join('.') : pointerText(selector.path)
}

/** The path as a JSON pointer. */
export function pointerText(path: readonly string[]): string {
  return path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Why a filter was rejected. The message follows a fixed prefix. */
export interface FilterError {
  /** `filter-invalid`: syntax error. `filter-failed`: the filter cannot be applied to a row. */
  readonly code: 'filter-invalid' | 'filter-failed'
  readonly message: string
}

export function evaluationError(message: string): FilterError {
  return { code: 'filter-failed', message }
}
