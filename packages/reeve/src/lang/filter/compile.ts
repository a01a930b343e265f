import { err, ok, type Ok, type Result } from '@reeve/kit/result.ts'
import type { Connective, Expression, Match } from './ast.ts'
import { UNTYPED, type FieldType } from './field-kinds.ts'
import type { FilterError } from './filter-error.ts'
import { MAX_STEPS_PER_ROW } from './limits.ts'
import { compileTest, STEP_LIMIT_EXCEEDED, verdictWhenMissing, type MatchResult } from './match.ts'
import { parseFilter } from './parse.ts'
import { patternCompiler, type Pattern } from './pattern.ts'
import { quantifierOver, scopeInside } from './quantify.ts'
import { selectorReader, type Run, type Scope } from './select.ts'

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
export function filterOf(expression: Expression, options: FilterOptions): Filter {
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
