import { CHARACTERS_PER_STEP } from '../limits.ts'
import type { Expression } from '../syntax/ast.ts'
import {
  createCollector,
  report,
  TOO_EXPENSIVE,
  type PendingDiagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import type { Span } from '../text/source.ts'
import type { Value } from '../value/value.ts'
import { charge, isTooLarge, measure } from './budget.ts'
import { childScope, type Scope } from './scope.ts'

/** The state of one evaluation. Evaluating functions return undefined after reporting an error. */
export interface EvaluationContext {
  readonly scope: Scope
  readonly problems: DiagnosticCollector
  /** Evaluates a subexpression. A field, because direct imports would be cyclic. */
  readonly evaluate: (expression: Expression, context: EvaluationContext) => Value | undefined
}

export function withVariables(
  context: EvaluationContext,
  variables: Readonly<Record<string, Value>>,
): EvaluationContext {
  return { ...context, scope: childScope(context.scope, variables) }
}

/** The same evaluation with a separate collector, which the caller may drop. */
export function withOwnDiagnostics(context: EvaluationContext): EvaluationContext {
  return { ...context, problems: createCollector() }
}

export function fail(context: EvaluationContext, problem: PendingDiagnostic): undefined {
  return report(context.problems, problem)
}

/** Charges steps to the budget. Reports and returns false if it is exhausted. */
export function chargeSteps(context: EvaluationContext, steps: number, span: Span): boolean {
  const { meter } = context.scope
  if (charge(meter, steps)) return true
  const detail = `Evaluation needs more than ${meter.limits.stepsMax} steps.`
  fail(context, { span, summary: TOO_EXPENSIVE, detail })
  return false
}

/** Returns the value if it is within the limits; otherwise reports an error. */
export function checkSize(context: EvaluationContext, value: Value, span: Span): Value | undefined {
  const { meter } = context.scope
  if (!isTooLarge(meter, measure(meter, value))) return value
  const { valueSizeMax, valueDepthMax } = meter.limits
  const detail = `A value may have at most ${valueSizeMax} elements and characters, and ${valueDepthMax} levels.`
  return fail(context, { span, summary: 'Value too large', detail })
}

/** Joins text and charges its length. */
export function joinText(
  context: EvaluationContext,
  parts: readonly string[],
  span: Span,
): string | undefined {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const { stringLengthMax } = context.scope.meter.limits
  if (length > stringLengthMax) {
    const detail = `A string may have at most ${stringLengthMax} characters.`
    return fail(context, { span, summary: 'String too long', detail })
  }
  if (!chargeSteps(context, Math.floor(length / CHARACTERS_PER_STEP), span)) return undefined
  return parts.join('')
}
