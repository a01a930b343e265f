import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compileModules, type Compiled, type CompileOptions } from '../compile/compile.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import type { RegoProblem } from '../syntax/problem.ts'
import type { Value } from '../value/value.ts'
import type { Program } from './coder.ts'
import type { EvaluationProblem } from './problem.ts'
import { makeProgram } from './program.ts'
import { compileQuery, type EvaluateOptions, type Query } from './query.ts'

/** Compiled modules, ready for queries. */
export interface CompiledPolicies {
  /** The language version in which each module was parsed, by file. */
  readonly versions: ReadonlyMap<string, RegoVersion>
  /**
   * Compiles a query with any body, such as `data.a.b = x`. With `explains`, `trace` receives why
   * rules have no solution.
   */
  query(text: string, options?: QueryOptions): Result<Query, RegoProblem>
  /**
   * Compiles a query for one document such as `data.a.deny`, or any other expression. A query with
   * several expressions or solutions is rejected, because the first result would not represent the
   * others.
   */
  document(reference: string, options?: QueryOptions): Result<DocumentQuery, RegoProblem>
}

interface QueryOptions {
  readonly explains?: boolean
}

export interface DocumentQuery {
  /** Returns the value of the document; undefined if it has none. */
  evaluate(options: EvaluateOptions): Result<Value | undefined, EvaluationProblem>
}

export function compilePolicies(
  options: CompileOptions,
): Result<CompiledPolicies, readonly RegoProblem[]> {
  const compiled = compileModules(options)
  if (!compiled.ok) return compiled
  return ok(makePolicies(compiled.value))
}

function makePolicies({ compilation, units }: Compiled): CompiledPolicies {
  const plain = makeProgram(compilation.root, false)
  let traced: Program | undefined
  const query: CompiledPolicies['query'] = (text, options) => {
    if (options?.explains !== true)
      return compileQuery({ compilation, program: plain, version: 1 }, text)
    traced ??= makeProgram(compilation.root, true)
    return compileQuery({ compilation, program: traced, version: 1 }, text)
  }
  return {
    versions: new Map(units.map((unit) => [unit.source.file, unit.version])),
    query,
    document: (reference, options) => {
      const asked = query(`answer = ${reference}`, options)
      if (!asked.ok) return err(asked.error)
      if (asked.value.expressions > 1) return err(SEVERAL_EXPRESSIONS)
      return ok({ evaluate: (given) => onlyAnswer(asked.value.evaluate(given)) })
    },
  }
}

const SEVERAL_EXPRESSIONS: RegoProblem = {
  code: 'rego_parse_error',
  message: 'it asks for several things: a query is one expression',
  location: { file: 'query', row: 1, column: 1 },
}

function onlyAnswer(
  result: ReturnType<Query['evaluate']>,
): Result<Value | undefined, EvaluationProblem> {
  if (!result.ok) return result
  const [answer, ...others] = result.value
  if (others.length === 0) return ok(answer?.get('answer'))
  const message = `there are ${result.value.length} answers: ask for one document`
  return err({ code: 'eval_conflict_error', message, location: undefined })
}
