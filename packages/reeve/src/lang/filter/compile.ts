import { err, ok, type Ok, type Result } from '@reeve/kit/result.ts'
import type { Connective, Expression, Match } from './ast.ts'
import { UNTYPED, type FieldKinds } from './field-kinds.ts'
import type { FilterError } from './filter-error.ts'
import { MAX_STEPS_PER_ROW } from './limits.ts'
import { testOf, TOO_MUCH_WORK, verdictWhenMissing, type Verdict } from './match.ts'
import { parseFilter } from './parse.ts'
import { patternCompiler, type Pattern } from './pattern.ts'
import { quantifierOver, scopeInside } from './quantify.ts'
import { selectorReader, type Run, type Scope } from './select.ts'

export interface FilterOptions {
  /**
   * The declared types of a row, from `fieldKindsFromSchema`. Without them every object is a
   * record.
   */
  readonly kinds?: FieldKinds
  /**
   * Record fields that no selector may reach, at any depth; keys of maps are data and stay
   * reachable.
   */
  readonly hidden?: readonly string[]
}

/** A filter made ready for many rows. It keeps nothing between rows. */
export interface Filter {
  readonly expression: Expression
  readonly options: FilterOptions
  /**
   * Whether the row passes. A row that the expression makes no sense for is an error, not a miss.
   */
  matches(row: unknown): Result<boolean, FilterError>
}

/** Reads a filter expression and turns it into closures. Never throws, whatever the text. */
export function compileFilter(
  text: string,
  options: FilterOptions = {},
): Result<Filter, FilterError> {
  const parsed = parseFilter(text)
  return parsed.ok ? ok(filterOf(parsed.value, options)) : parsed
}

/** The same from a tree. */
export function filterOf(expression: Expression, options: FilterOptions): Filter {
  const judge = compile(expression, {
    row: options.kinds ?? UNTYPED,
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

type Judge = (run: Run) => Verdict

interface Context extends Scope {
  readonly patternOf: (text: string) => Pattern
}

function compile(expression: Expression, context: Context): Judge {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return compileChain(expression, context)
    case 'not':
      return negated(compile(expression.operand, context))
    case 'match':
      return compileMatch(expression, context)
    case 'any':
    case 'all': {
      const reader = selectorReader(expression.selector, context)
      const scope = scopeInside(expression, reader.kinds, context)
      return quantifierOver(expression, reader, { scope, body: compile(expression.body, scope) })
    }
  }
}

/** A chain of one connective runs as a loop: the first operand that decides, or fails, ends it. */
function compileChain(chain: Connective, context: Context): Judge {
  const judges: Judge[] = []
  let rest: Expression = chain
  while (rest.kind === chain.kind) {
    judges.push(compile(rest.left, context))
    rest = rest.right
  }
  judges.push(compile(rest, context))
  const undecided = chain.kind === 'and'
  return (run) => {
    for (const judge of judges) {
      const verdict = judge(run)
      if (verdict !== undecided) return verdict
    }
    return undecided
  }
}

function negated(judge: Judge): Judge {
  return (run) => {
    const verdict = judge(run)
    return typeof verdict === 'boolean' ? !verdict : verdict
  }
}

function compileMatch(match: Match, context: Context): Judge {
  const reader = selectorReader(match.selector, context)
  const test = testOf(match, reader.kinds, context.patternOf)
  const whenMissing = verdictWhenMissing(match)
  const judge: Judge = (run) => {
    run.steps -= 1
    if (run.steps < 0) return TOO_MUCH_WORK
    const value = reader.read(run)
    if (value !== undefined) return test(value, run)
    const reason = reader.explain(run)
    return reason === 'missing-key' ? whenMissing : reason
  }
  return match.negated ? negated(judge) : judge
}
