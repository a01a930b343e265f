import type { BinaryExpression, Expression, UnaryExpression } from '../syntax/tree.ts'
import { toBool, toNumber } from '../value/convert.ts'
import { compare, toRational } from '../value/rational.ts'
import { describeValue, sameValue, type Value } from '../value/value.ts'
import { quoteText } from '../text/nearest.ts'
import { isArithmetic, reportOperand } from './arithmetic.ts'
import { fail, chargeSteps, type EvaluationContext } from './context.ts'
import { measure } from './meter.ts'

export function evaluateNot(
  expression: UnaryExpression,
  context: EvaluationContext,
): boolean | undefined {
  const operand = evaluateBool(expression.operand, context)
  return operand === undefined ? undefined : !operand
}

/** Evaluates comparisons, `&&` and `||`. The left-associative chain is collected in a loop. */
export function evaluateLogic(
  expression: BinaryExpression,
  context: EvaluationContext,
): Value | undefined {
  const chain: BinaryExpression[] = []
  let first: Expression = expression
  while (first.kind === 'binary' && !isArithmetic(first)) {
    chain.push(first)
    first = first.left
  }
  let left = context.evaluate(first, context)
  for (const link of chain.toReversed()) {
    if (left === undefined || !chargeSteps(context, 1, link.span)) return undefined
    left = applyLogic(link, left, context)
  }
  return left
}

function applyLogic(
  link: BinaryExpression,
  left: Value,
  context: EvaluationContext,
): Value | undefined {
  switch (link.operator) {
    case '&&':
    case '||':
      return applyConnective(link, left, context)
    case '==':
    case '!=':
      return applyEquality(link, left, context)
    default:
      return applyComparison(link, left, context)
  }
}

/** Short-circuits: `x != null && x.enabled` is safe. */
function applyConnective(
  link: BinaryExpression,
  left: Value,
  context: EvaluationContext,
): boolean | undefined {
  const first = requireBool(link.left, left, context)
  if (first === undefined || first === (link.operator === '||')) return first
  return evaluateBool(link.right, context)
}

function applyEquality(
  link: BinaryExpression,
  left: Value,
  context: EvaluationContext,
): boolean | undefined {
  const right = context.evaluate(link.right, context)
  if (right === undefined) return undefined
  const { meter } = context.scope
  const steps = Math.min(measure(meter, left).nodeCount, measure(meter, right).nodeCount)
  if (!chargeSteps(context, steps, link.span)) return undefined
  return sameValue(left, right) === (link.operator === '==')
}

function applyComparison(
  link: BinaryExpression,
  left: Value,
  context: EvaluationContext,
): boolean | undefined {
  const right = context.evaluate(link.right, context)
  if (right === undefined) return undefined
  const a = toNumber(left)
  const b = toNumber(right)
  if (a === undefined) return reportOperand(link.left, left, context)
  if (b === undefined) return reportOperand(link.right, right, context)
  const order = compare(toRational(a), toRational(b))
  switch (link.operator) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    default:
      return order >= 0
  }
}

export function evaluateBool(
  expression: Expression,
  context: EvaluationContext,
): boolean | undefined {
  const value = context.evaluate(expression, context)
  return value === undefined ? undefined : requireBool(expression, value, context)
}

function requireBool(
  expression: Expression,
  value: Value,
  context: EvaluationContext,
): boolean | undefined {
  const converted = toBool(value)
  if (converted !== undefined) return converted
  const found = typeof value === 'string' ? `the string ${quoteText(value)}` : describeValue(value)
  const detail = `A bool (true or false) is needed here, but found ${found}.`
  return fail(context, { span: expression.span, summary: 'Invalid condition', detail })
}
