import type { CallContext } from '../builtins/builtin.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { lowerQuery } from '../compile/lower-rule.ts'
import type { Variable } from '../compile/ir.ts'
import type { Compilation, Unit } from '../compile/unit.ts'
import { EVALUATION_STEPS_MAX } from '../limits.ts'
import { parseQuery } from '../syntax/parse.ts'
import { RegoCompileError, Source, type RegoDiagnostic } from '../syntax/source.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import { LimitExceeded, withFuel } from '../value/fuel.ts'
import { EMPTY_OBJECT, type ObjectValue, type Value } from '../value/value.ts'
import type { CodegenContext, Program } from './codegen.ts'
import { compileComprehension } from './comprehension.ts'
import {
  Env,
  Frame,
  EvaluationState,
  type EvaluationOptions,
  type Step,
  type TraceEvent,
  EvaluationAborted,
  type EvaluationError,
} from './env.ts'
import { compileExpression } from './expression.ts'
import { compileGoals } from './goal.ts'

/** The variables of one solution, except unnamed ones. */
export type Bindings = ReadonlyMap<string, Value>

export interface EvaluateOptions {
  readonly input?: Value | undefined
  readonly data?: ObjectValue | undefined
  readonly limits?: { readonly stepsMax?: number } | undefined
  /** Strict: a failing builtin aborts the evaluation instead of being undefined. */
  readonly strictBuiltinErrors?: boolean | undefined
  readonly nowNs?: bigint | undefined
  readonly random?: (() => number) | undefined
  /** Returns the UTC offset of a time zone in milliseconds; without it only UTC is supported. */
  readonly zoneOffset?: CallContext['offsetAt']
  /** Keys and signatures; without it builtins that need them abort the evaluation. */
  readonly crypto?: CallContext['crypto'] | undefined
  /** Result of `opa.runtime`. */
  readonly runtime?: Value | undefined
  readonly print?: ((text: string) => void) | undefined
  /** Only for a query compiled with `explain`. */
  readonly trace?: ((event: TraceEvent) => void) | undefined
  readonly isCancelled?: (() => boolean) | undefined
}

export interface PreparedQuery {
  /** Number of expressions. */
  readonly expressions: number
  evaluate(options?: EvaluateOptions): Result<readonly Bindings[], EvaluationError>
}

export interface QueryContext {
  readonly compilation: Compilation
  readonly program: Program
  readonly version: RegoVersion
}

/** Compiles a query. Its solutions are returned in a deterministic order. */
export function compileQuery(
  context: QueryContext,
  text: string,
): Result<PreparedQuery, RegoDiagnostic> {
  const source = new Source('query', text)
  const body = parseQuery(source, context.version)
  if (!body.ok) return body
  const unit: Unit = {
    source,
    version: context.version,
    package: [],
    module: undefined,
    imports: new Map(),
  }
  try {
    const { goals, slotCount, names } = lowerQuery(context.compilation, unit, body.value)
    const step = compileGoals(queryCoder(context.program, source), goals, () => record(names))
    const expressions = body.value.length
    return ok({ expressions, evaluate: (options = {}) => run({ step, slotCount }, options) })
  } catch (error) {
    if (error instanceof RegoCompileError) return err(error.problem)
    throw error
  }
}

function queryCoder(program: Program, source: Source): CodegenContext {
  return {
    program,
    source,
    rule: undefined,
    bound: new Set(),
    visible: new Set(),
    counter: { collectors: 0 },
    isIndexing: false,
    compileGoals,
    compileComprehension,
    compileExpression,
  }
}

function record(names: ReadonlyMap<string, Variable>): Step {
  return (frame) => {
    const answer = new Map<string, Value>()
    for (const [name, { slot }] of names) {
      const value = frame.slots[slot]
      if (value !== undefined) answer.set(name, value)
    }
    frame.env.shared.step()
    answersOf(frame.env).push(answer)
    return false
  }
}

/** Solutions belong to the evaluation, because the query may be run again meanwhile. */
const answers = new WeakMap<EvaluationState, Bindings[]>()

function answersOf({ shared }: Env): Bindings[] {
  let list = answers.get(shared)
  if (list === undefined) {
    list = []
    answers.set(shared, list)
  }
  return list
}

function run(
  code: { readonly step: Step; readonly slotCount: number },
  options: EvaluateOptions,
): Result<readonly Bindings[], EvaluationError> {
  return contained(() => {
    const env = startEnv(options)
    code.step(new Frame(env, code.slotCount))
    return answersOf(env)
  })
}

function startEnv(options: EvaluateOptions): Env {
  const shared = new EvaluationState({
    stepsMax: options.limits?.stepsMax ?? EVALUATION_STEPS_MAX,
    isStrict: options.strictBuiltinErrors ?? false,
    nowNs: options.nowNs ?? 0n,
    random: options.random ?? (() => 0),
    offsetAt: options.zoneOffset,
    crypto: options.crypto,
    runtime: options.runtime,
    print: options.print,
    trace: options.trace,
    isCancelled: options.isCancelled,
  } satisfies EvaluationOptions)
  return new Env({
    shared,
    input: options.input,
    data: options.data ?? EMPTY_OBJECT,
    hidden: undefined,
    mocks: undefined,
    parent: undefined,
  })
}

/** Returns everything that aborts an evaluation as a value. */
function contained<T>(evaluate: () => T): Result<T, EvaluationError> {
  try {
    return ok(withFuel(evaluate))
  } catch (error) {
    if (error instanceof EvaluationAborted) return err(error.problem)
    if (error instanceof LimitExceeded)
      return err({ code: 'eval_limit_error', message: error.message, location: undefined })
    // Stack or string length limit of the host: the last resort below the named limits.
    if (error instanceof RangeError)
      return err({ code: 'eval_limit_error', message: 'out of space', location: undefined })
    throw error
  }
}
