import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compileModules, type Compiled, type CompileOptions } from '../compile/compile.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import type { RegoDiagnostic } from '../syntax/problem.ts'
import type { Value } from '../value/value.ts'
import type { Program } from './coder.ts'
import type { EvaluationError } from './problem.ts'
import { makeProgram } from './program.ts'
import { compileQuery, type EvaluateOptions, type PreparedQuery } from './query.ts'

/** Compiled modules, ready for queries. */
export interface RegoProgram {
  /** The language version in which each module was parsed, by file. */
  readonly versions: ReadonlyMap<string, RegoVersion>
  /**
   * Compiles a query with any body, such as `data.a.b = x`. With `explain`, `trace` receives why
   * rules have no solution.
   */
  prepareQuery(text: string, options?: QueryOptions): Result<PreparedQuery, RegoDiagnostic>
  /**
   * Compiles a query for one document such as `data.a.deny`, or any other expression. A query with
   * several expressions or solutions is rejected, because the first result would not represent the
   * others.
   */
  prepareDocument(
    reference: string,
    options?: QueryOptions,
  ): Result<PreparedDocument, RegoDiagnostic>
}

interface QueryOptions {
  readonly explain?: boolean
}

export interface PreparedDocument {
  /** Returns the value of the document; undefined if it has none. */
  evaluate(options?: EvaluateOptions): Result<Value | undefined, EvaluationError>
}

export function compileRego(
  options: CompileOptions,
): Result<RegoProgram, readonly RegoDiagnostic[]> {
  const compiled = compileModules(options)
  if (!compiled.ok) return compiled
  return ok(makePolicies(compiled.value))
}

function makePolicies({ compilation, units }: Compiled): RegoProgram {
  const plain = makeProgram(compilation.root, false)
  let traced: Program | undefined
  const query: RegoProgram['prepareQuery'] = (text, options) => {
    if (options?.explain !== true)
      return compileQuery({ compilation, program: plain, version: 1 }, text)
    traced ??= makeProgram(compilation.root, true)
    return compileQuery({ compilation, program: traced, version: 1 }, text)
  }
  return {
    versions: new Map(units.map((unit) => [unit.source.file, unit.version])),
    prepareQuery: query,
    prepareDocument: (reference, options) => {
      const asked = query(`answer = ${reference}`, options)
      if (!asked.ok) return err(asked.error)
      if (asked.value.expressions > 1) return err(SEVERAL_EXPRESSIONS)
      return ok({ evaluate: (given) => onlyAnswer(asked.value.evaluate(given)) })
    },
  }
}

const SEVERAL_EXPRESSIONS: RegoDiagnostic = {
  code: 'rego_parse_error',
  message: 'it asks for several things: a query is one expression',
  location: { file: 'query', row: 1, column: 1 },
}

function onlyAnswer(
  result: ReturnType<PreparedQuery['evaluate']>,
): Result<Value | undefined, EvaluationError> {
  if (!result.ok) return result
  const [answer, ...others] = result.value
  if (others.length === 0) return ok(answer?.get('answer'))
  const message = `there are ${result.value.length} answers: ask for one document`
  return err({ code: 'eval_conflict_error', message, location: undefined })
}
