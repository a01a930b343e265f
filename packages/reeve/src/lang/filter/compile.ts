import { err, ok, type Ok, type Result } from '@reeve/kit/result.ts'
import {
  type Connective,
  evaluationError,
  type Expression,
  type FilterError,
  type Match,
  type Quantifier,
  selectorText,
} from './ast.ts'
import { UNTYPED, type FieldType, INTEGER, STRING } from './field-type.ts'
import { MAX_STEPS_PER_ROW } from './limits.ts'
import {
  compileTest,
  STEP_LIMIT_EXCEEDED,
  verdictWhenMissing,
  type MatchResult,
  isAbsentCollection,
  isMap,
  patternCompiler,
  type Pattern,
} from './match.ts'
import { parseFilter } from './parse.ts'
import { selectorReader, type Run, type Scope, type BoundName, type Reader } from './select.ts'

export interface FilterOptions {
  /** The declared type of rows, from `fieldTypeFromSchema`. Without it every object is a record. */
  readonly rowType?: FieldType
  /**
   * Record fields that selectors cannot access, at any depth. Keys of maps are data and stay
   * accessible.
   */
  readonly hidden?: readonly string[]
}

/** A compiled filter without state between rows. */
export interface Filter {
  readonly expression: Expression
  readonly options: FilterOptions
  /**
   * Whether the row matches. If the expression cannot be applied to the row, the result is an
   * error.
   */
  matches(row: unknown): Result<boolean, FilterError>
}

/** Parses and compiles a filter expression. Never throws. */
export function compileFilter(
  text: string,
  options: FilterOptions = {},
): Result<Filter, FilterError> {
  const parsed = parseFilter(text)
  return parsed.ok ? ok(filterOf(parsed.value, options)) : parsed
}

/** Compiles a filter from its syntax tree. */
function filterOf(expression: Expression, options: FilterOptions): Filter {
  const judge = compile(expression, {
    row: options.rowType ?? UNTYPED,
    bindings: new Map(),
    depth: 0,
    hidden: new Set(options.hidden),
    patternOf: patternCompiler(),
  })
  const matches = (row: unknown): Result<boolean, FilterError> => {
    const verdict = judge({ row, bound: [], steps: MAX_STEPS_PER_ROW })
    return typeof verdict === 'boolean' ? (verdict ? PASSES : FAILS) : err(verdict)
  }
  return { expression, options, matches }
}

const PASSES: Ok<boolean> = ok(true)
const FAILS: Ok<boolean> = ok(false)

type Predicate = (run: Run) => MatchResult

interface Context extends Scope {
  readonly patternOf: (text: string) => Pattern
}

function compile(expression: Expression, context: Context): Predicate {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return compileChain(expression, context)
    case 'not':
      return negatePredicate(compile(expression.operand, context))
    case 'match':
      return compileMatch(expression, context)
    case 'any':
    case 'all': {
      const reader = selectorReader(expression.selector, context)
      const scope = scopeInside(expression, reader.type, context)
      return quantifierOver(expression, reader, { scope, body: compile(expression.body, scope) })
    }
  }
}

/**
 * Evaluates a chain of one connective in a loop that stops at the first deciding operand or error.
 */
function compileChain(chain: Connective, context: Context): Predicate {
  const predicates: Predicate[] = []
  let rest: Expression = chain
  while (rest.kind === chain.kind) {
    predicates.push(compile(rest.left, context))
    rest = rest.right
  }
  predicates.push(compile(rest, context))
  const undecided = chain.kind === 'and'
  return (run) => {
    for (const judge of predicates) {
      const verdict = judge(run)
      if (verdict !== undecided) return verdict
    }
    return undecided
  }
}

function negatePredicate(judge: Predicate): Predicate {
  return (run) => {
    const verdict = judge(run)
    return typeof verdict === 'boolean' ? !verdict : verdict
  }
}

function compileMatch(match: Match, context: Context): Predicate {
  const reader = selectorReader(match.selector, context)
  const test = compileTest(match, reader.type, context.patternOf)
  const whenMissing = verdictWhenMissing(match)
  const judge: Predicate = (run) => {
    run.steps -= 1
    if (run.steps < 0) return STEP_LIMIT_EXCEEDED
    const value = reader.read(run)
    if (value !== undefined) return test(value, run)
    const reason = reader.explain(run)
    return reason === 'missing-key' ? whenMissing : reason
  }
  return match.negated ? negatePredicate(judge) : judge
}

/**
 * A quantifier owns two slots of the row context: one for the key or single name, one for the
 * value.
 */
const SLOTS = 2

/** `any` and `all`: binds each element of a list or map in turn and evaluates the body. */
function quantifierOver(
  quantifier: Quantifier,
  reader: Reader,
  inner: { readonly scope: Scope; readonly body: (run: Run) => MatchResult },
): (run: Run) => MatchResult {
  const { type } = reader
  const slot = (inner.scope.depth - 1) * SLOTS
  const isSingle = quantifier.binding.form === 'single'
  // The result if no element decides. The first deciding element or error ends the loop.
  const undecided = quantifier.kind === 'all'
  const notCollection = evaluationError(
    `${selectorText(quantifier.selector)} is not a list or a map`,
  )

  const evaluateBody = (run: Run, first: unknown, second: unknown): MatchResult => {
    run.steps -= 1
    if (run.steps < 0) return STEP_LIMIT_EXCEEDED
    run.bound[slot] = first
    run.bound[slot + 1] = second
    return inner.body(run)
  }
  return (run) => {
    const value = reader.read(run)
    if (value === undefined) {
      const reason = reader.explain(run)
      return reason === 'missing-key' ? undecided : reason
    }
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const verdict = evaluateBody(run, isSingle ? value[index] : index, value[index])
        if (verdict !== undecided) return verdict
      }
      return undecided
    }
    if (isAbsentCollection(value, type)) return undecided
    if (!isMap(value, type)) return notCollection
    // Sorted, so that the first failing element is the same on every server.
    for (const key of Object.keys(value).toSorted()) {
      const verdict = evaluateBody(run, key, value[key])
      if (verdict !== undecided) return verdict
    }
    return undecided
  }
}

/** The scope of the body: inner names shadow outer ones and the fields of the row. */
function scopeInside<S extends Scope>(
  quantifier: Quantifier,
  collectionType: FieldType,
  scope: S,
): S {
  const slot = scope.depth * SLOTS
  const { binding } = quantifier
  const bindings = new Map<string, BoundName>(scope.bindings)
  if (binding.form === 'single') {
    // A single name is the element of a list, but the key of a map.
    const type = collectionType.kind === 'map' ? STRING : elementType(collectionType)
    bindings.set(binding.name, { slot, type })
  } else {
    if (binding.key !== undefined)
      bindings.set(binding.key, { slot, type: keyType(collectionType) })
    if (binding.value !== undefined)
      bindings.set(binding.value, { slot: slot + 1, type: elementType(collectionType) })
  }
  return { ...scope, bindings, depth: scope.depth + 1 }
}

/** Elements of an untyped value are untyped. */
function elementType(collectionType: FieldType): FieldType {
  return collectionType.kind === 'list' || collectionType.kind === 'map'
    ? collectionType.of
    : collectionType
}

function keyType(collectionType: FieldType): FieldType {
  if (collectionType.kind === 'list') return INTEGER
  return collectionType.kind === 'map' ? STRING : collectionType
}

/**
 * Fields that must equal a string for a row to match: the `Field == "text"` terms of a top-level
 * `and` chain. A list may use an index on one of them, and still has to apply the filter to every
 * row.
 */
export function equalityConstraints(filter: Filter): ReadonlyMap<string, string> {
  const hint = new Map<string, string>()
  for (const part of conjuncts(filter.expression)) {
    if (part.kind !== 'match' || part.operator !== 'equal' || part.negated) continue
    const [field, ...deeper] = part.selector.path
    if (field === undefined || deeper.length > 0 || !isTextField(filter, field)) continue
    // If two terms constrain one field, either one is valid: a row matches both only if they agree.
    if (!hint.has(field)) hint.set(field, part.value)
  }
  return hint
}

/** The terms that must all hold, regardless of parentheses. */
function conjuncts(expression: Expression): readonly Expression[] {
  const found: Expression[] = []
  const pending = [expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind === 'and') pending.push(next.right, next.left)
    else found.push(next)
  }
  return found
}

/** Only strings compare as written; literals of numbers and booleans have several notations. */
function isTextField(filter: Filter, field: string): boolean {
  const { rowType, hidden } = filter.options
  if (hidden?.includes(field) === true) return false
  if (rowType === undefined) return true
  return rowType.kind === 'struct' && rowType.fields.get(field)?.kind === 'string'
}

/**
 * The leading terms of a top-level `and` chain that use only the given fields; undefined if the
 * first term uses others. A row that fails them fails the whole filter, and later terms would not
 * be evaluated, so a list that knows these fields need not read the row.
 */
export function leadingConjuncts(filter: Filter, fields: ReadonlySet<string>): Filter | undefined {
  const parts: Expression[] = []
  const pending = [filter.expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind === 'and') pending.push(next.right, next.left)
    else if (usesOnly(next, fields)) parts.push(next)
    else break
  }
  const leading = parts.reduceRight<Expression | undefined>(
    (right, left) => (right === undefined ? left : { kind: 'and', left, right }),
    undefined,
  )
  return leading === undefined ? undefined : filterOf(leading, filter.options)
}

/**
 * Names bound by a quantifier could shadow a field, so quantifiers are left to the whole filter.
 */
function usesOnly(expression: Expression, fields: ReadonlySet<string>): boolean {
  const pending = [expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop())
    switch (next.kind) {
      case 'and':
      case 'or':
        pending.push(next.left, next.right)
        break
      case 'not':
        pending.push(next.operand)
        break
      case 'match':
        if (!fields.has(next.selector.path[0] ?? '')) return false
        break
      case 'any':
      case 'all':
        return false
    }
  return true
}
