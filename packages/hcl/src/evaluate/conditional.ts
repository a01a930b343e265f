import type { ConditionalExpression } from '../syntax/tree.ts'
import { reportAll } from '../text/diagnostic.ts'
import { convert, formatConversionError } from '../value/convert.ts'
import { describeType, typeOf, unify, type Type } from '../value/type.ts'
import type { Value } from '../value/value.ts'
import { withOwnDiagnostics, fail, chargeSteps, type EvaluationContext } from './context.ts'
import { evaluateBool } from './logic.ts'
import { measure } from './meter.ts'

/**
 * Evaluates both branches, because the result has their common type: `c ? 1 : "x"` is always a
 * string. Diagnostics of the branch that is not selected are dropped.
 */
export function evaluateConditional(
  expression: ConditionalExpression,
  context: EvaluationContext,
): Value | undefined {
  const condition = evaluateBool(expression.condition, context)
  if (condition === undefined) return undefined
  const [chosen, other] = condition
    ? [expression.whenTrue, expression.whenFalse]
    : [expression.whenFalse, expression.whenTrue]
  const value = context.evaluate(chosen, context)
  if (value === undefined) return undefined
  const aside = withOwnDiagnostics(context)
  const otherValue = aside.evaluate(other, aside)
  if (otherValue === undefined) return isSpent(context, aside) ? undefined : value
  if (typeof value === typeof otherValue && typeof value !== 'object') return value
  const { meter } = context.scope
  const steps = measure(meter, value).nodeCount + measure(meter, otherValue).nodeCount
  if (!chargeSteps(context, steps, expression.span)) return undefined
  return toCommonType(expression, { value, otherValue }, context)
}

/** An exhausted budget affects the whole evaluation, not just the dropped branch. */
function isSpent(context: EvaluationContext, aside: EvaluationContext): boolean {
  const { meter } = context.scope
  if (meter.stepsUsed <= meter.limits.stepsMax) return false
  reportAll(context.problems, aside.problems.items)
  return true
}

function toCommonType(
  expression: ConditionalExpression,
  results: { readonly value: Value; readonly otherValue: Value },
  context: EvaluationContext,
): Value | undefined {
  const type = typeOf(results.value)
  const otherType = typeOf(results.otherValue)
  const common = unify(type, otherType)
  if (common === undefined) return reportTypes(expression, [type, otherType], context)
  const converted = convert(results.value, common)
  if (converted.ok) return converted.value
  const detail = `The result does not convert: ${formatConversionError(converted.error)}.`
  return fail(context, { span: expression.span, summary: SUMMARY, detail })
}

const SUMMARY = 'Inconsistent conditional result types'

function reportTypes(
  expression: ConditionalExpression,
  types: readonly [Type, Type],
  context: EvaluationContext,
): undefined {
  const [type, otherType] = types.map(describeType)
  const detail =
    type === otherType
      ? `Both results have type ${type ?? ''}, but what they hold has no common type.`
      : `The two results must have a common type, but one is ${type ?? ''} and the other is ${otherType ?? ''}.`
  return fail(context, { span: expression.span, summary: SUMMARY, detail })
}
