import type { Result } from '@reeve/kit/result.ts'
import type { Expression } from '../syntax/tree.ts'
import type { Diagnostic, Problem } from '../text/diagnostic.ts'
import type { Type } from '../value/type.ts'
import { getAttribute, type ObjectValue, type Value } from '../value/value.ts'
import { makeMeter, type EvaluationLimits, type Meter } from './meter.ts'

/** What names mean while an expression is evaluated. */
export interface Scope {
  variable(name: string): Value | undefined
  variableNames(): readonly string[]
  function(name: string): FunctionDefinition | undefined
  functionNames(): readonly string[]
  /**
   * True for a root that is unknown here and is left for a later reader: `${attr.x}` then stays in
   * the text exactly as written, and `attr.x` alone yields the text `${attr.x}`.
   */
  isDeferred(rootName: string): boolean
  /** What an attribute of a root stands for, said when it is not there: `var.x` is a variable. */
  readonly kindOf?: ((rootName: string) => AttributeKind | undefined) | undefined
  /** Counts everything evaluated in the scope and its children; one job file, one meter. */
  readonly meter: Meter
}

export interface AttributeKind {
  /** `variable` */
  readonly noun: string
  /** How one of the name comes to be. */
  readonly howToDeclare: (name: string) => string
}

export interface ScopeOptions {
  readonly variables?: ObjectValue
  readonly functions?: Readonly<Record<string, FunctionDefinition>>
  readonly isDeferred?: (rootName: string) => boolean
  readonly kindOf?: (rootName: string) => AttributeKind | undefined
  readonly limits?: Partial<EvaluationLimits>
}

export function makeScope(options: ScopeOptions = {}): Scope {
  const { variables = {}, functions = {}, isDeferred = () => false } = options
  return {
    variable: (name) => getAttribute(variables, name),
    variableNames: () => Object.keys(variables),
    function: (name) => (Object.hasOwn(functions, name) ? functions[name] : undefined),
    functionNames: () => Object.keys(functions),
    isDeferred,
    kindOf: options.kindOf,
    meter: makeMeter(options.limits),
  }
}

/**
 * The scope with more variables; they hide those of the same name. Work is counted in the same
 * meter.
 */
export function childScope(parent: Scope, variables: ObjectValue): Scope {
  return {
    ...parent,
    variable: (name) => (Object.hasOwn(variables, name) ? variables[name] : parent.variable(name)),
    variableNames: () => [...Object.keys(variables), ...parent.variableNames()],
  }
}

export type FunctionDefinition = EagerFunction | LazyFunction

/** Arguments are evaluated, counted and converted before the call. */
export interface EagerFunction {
  readonly kind: 'eager'
  readonly parameters: readonly Parameter[]
  /** Takes the arguments after the last parameter, any number of them. */
  readonly rest?: Parameter
  /**
   * The evaluator charges the sizes of arguments and result; work beyond that is for the function
   * to charge.
   */
  call(args: readonly Value[], meter: Meter): Result<Value, FunctionProblem>
}

export interface Parameter {
  readonly name: string
  readonly type: Type
  /** Whether null may be given. Default false. */
  readonly isNullable?: boolean
}

/** The 0-based argument to point at; without it the call as a whole. */
export interface FunctionProblem {
  readonly message: string
  readonly argument?: number
}

/**
 * For functions about expressions, such as `try`: the arguments are evaluated when, and if, the
 * function says.
 */
export interface LazyFunction {
  readonly kind: 'lazy'
  readonly parameterCountMin: number
  readonly parameterCountMax: number
  /** Fails with a problem of its own, or with those of its arguments. */
  call(args: readonly LazyArgument[]): Result<Value, FunctionProblem | readonly LazyProblem[]>
}

export interface LazyArgument {
  readonly expression: Expression
  /** Nothing when it fails; `problems` then says why. Evaluated once. */
  evaluate(): Value | undefined
  problems(): readonly LazyProblem[]
}

/** Not yet written out, as most are dropped: see `Problem`. */
export type LazyProblem = Problem | Diagnostic
