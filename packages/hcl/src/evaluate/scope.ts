import type { Result } from '@reeve/kit/result.ts'
import type { Expression } from '../syntax/ast.ts'
import type { Diagnostic, PendingDiagnostic } from '../text/diagnostic.ts'
import type { Type } from '../value/type.ts'
import { getAttribute, type ObjectValue, type Value } from '../value/value.ts'
import { makeMeter, type EvaluationLimits, type StepBudget } from './budget.ts'

/** The variables and functions visible to an expression. */
export interface Scope {
  variable(name: string): Value | undefined
  variableNames(): readonly string[]
  function(name: string): FunctionDefinition | undefined
  functionNames(): readonly string[]
  /**
   * Whether the root is resolved by a later evaluation: `${attr.x}` then stays in the text as
   * written, and `attr.x` alone yields the string `${attr.x}`.
   */
  isDeferred(rootName: string): boolean
  /** Describes the attributes of a root for messages about missing ones: `var.x` is a variable. */
  readonly describeRoot?: ((rootName: string) => RootDescription | undefined) | undefined
  /** Counts all evaluation in this scope and its children. A job file has one budget. */
  readonly meter: StepBudget
}

export interface RootDescription {
  /** For example `variable`. */
  readonly noun: string
  /** How to declare an attribute of this name. */
  readonly howToDeclare: (name: string) => string
}

export interface ScopeOptions {
  readonly variables?: ObjectValue
  readonly functions?: Readonly<Record<string, FunctionDefinition>>
  readonly isDeferred?: (rootName: string) => boolean
  readonly describeRoot?: (rootName: string) => RootDescription | undefined
  readonly limits?: Partial<EvaluationLimits>
}

export function createScope(options: ScopeOptions = {}): Scope {
  const { variables = {}, functions = {}, isDeferred = () => false } = options
  return {
    variable: (name) => getAttribute(variables, name),
    variableNames: () => Object.keys(variables),
    function: (name) => (Object.hasOwn(functions, name) ? functions[name] : undefined),
    functionNames: () => Object.keys(functions),
    isDeferred,
    describeRoot: options.describeRoot,
    meter: makeMeter(options.limits),
  }
}

/** A scope with additional variables, which shadow outer ones. It shares the parent's budget. */
export function childScope(parent: Scope, variables: ObjectValue): Scope {
  return {
    ...parent,
    variable: (name) => (Object.hasOwn(variables, name) ? variables[name] : parent.variable(name)),
    variableNames: () => [...Object.keys(variables), ...parent.variableNames()],
  }
}

export type FunctionDefinition = EagerFunction | LazyFunction

/** A function whose arguments are evaluated, charged and converted before the call. */
export interface EagerFunction {
  readonly kind: 'eager'
  readonly parameters: readonly Parameter[]
  /** Type of additional arguments (variadic). */
  readonly rest?: Parameter
  /**
   * The evaluator charges the sizes of arguments and result; the function charges any other work.
   */
  call(args: readonly Value[], meter: StepBudget): Result<Value, FunctionError>
}

export interface Parameter {
  readonly name: string
  readonly type: Type
  /** Whether null is allowed. Default: false. */
  readonly isNullable?: boolean
}

/** The 0-based argument at fault; undefined for the call as a whole. */
export interface FunctionError {
  readonly message: string
  readonly argument?: number
}

/**
 * A function on expressions, such as `try`: it decides whether and when its arguments are
 * evaluated.
 */
export interface LazyFunction {
  readonly kind: 'lazy'
  readonly parameterCountMin: number
  readonly parameterCountMax: number
  /** Fails with an error of its own or with those of its arguments. */
  call(args: readonly LazyArgument[]): Result<Value, FunctionError | readonly LazyError[]>
}

export interface LazyArgument {
  readonly expression: Expression
  /** Undefined on failure; `problems` then has the errors. Evaluated only once. */
  evaluate(): Value | undefined
  problems(): readonly LazyError[]
}

/** Not rendered yet, because most are dropped: see `PendingDiagnostic`. */
export type LazyError = PendingDiagnostic | Diagnostic
