import type { BinaryExpression, BinaryOperator, Expression } from '../syntax/tree.ts'
import { describeValue, type Value } from '../value/value.ts'
import { quoteText } from '../text/nearest.ts'
import { toNumber } from '../value/convert.ts'
import type { NumberValue } from '@reeve/kit/number.ts'
import {
  calculate,
  fromRational,
  negate,
  toRational,
  type ArithmeticOperator,
  type Rational,
} from '../value/rational.ts'
import { fail, chargeSteps, type EvaluationContext } from './context.ts'

const ARITHMETIC: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>(['+', '-', '*', '/', '%'])

type ArithmeticExpression = BinaryExpression & { readonly operator: ArithmeticOperator }

export function isArithmetic(expression: Expression): expression is ArithmeticExpression {
  return expression.kind === 'binary' && ARITHMETIC.has(expression.operator)
}

/** Evaluates sums, products and negations exactly and rounds once at the end: see `Rational`. */
export function evaluateArithmetic(
  expression: Expression,
  context: EvaluationContext,
): NumberValue | undefined {
  const exact = evaluateExact(expression, context)
  if (exact === undefined) return undefined
  return fromRational(exact) ?? reportRange(expression, context)
}

function evaluateExact(expression: Expression, context: EvaluationContext): Rational | undefined {
  if (!chargeSteps(context, 1, expression.span)) return undefined
  if (expression.kind === 'parentheses') return evaluateExact(expression.inner, context)
  if (expression.kind === 'unary' && expression.operator === '-') {
    const operand = evaluateExact(expression.operand, context)
    return operand === undefined ? undefined : negate(operand)
  }
  if (isArithmetic(expression)) return evaluateChain(expression, context)
  const value = context.evaluate(expression, context)
  if (value === undefined) return undefined
  const number = toNumber(value)
  return number === undefined ? reportOperand(expression, value, context) : toRational(number)
}

/**
 * `a + b - c …` is left-associative and unbounded, so the chain is collected in a loop, not by
 * recursion.
 */
function evaluateChain(
  expression: ArithmeticExpression,
  context: EvaluationContext,
): Rational | undefined {
  const chain: ArithmeticExpression[] = []
  let first: Expression = expression
  while (isArithmetic(first)) {
    chain.push(first)
    first = first.left
  }
  let result = evaluateExact(first, context)
  for (const link of chain.toReversed()) {
    if (result === undefined || !chargeSteps(context, 1, link.span)) return undefined
    const right = evaluateExact(link.right, context)
    if (right === undefined) return undefined
    result = calculateChecked(link, { left: result, right }, context)
  }
  return result
}

function calculateChecked(
  link: ArithmeticExpression,
  operands: { readonly left: Rational; readonly right: Rational },
  context: EvaluationContext,
): Rational | undefined {
  const { operator } = link
  if ((operator === '/' || operator === '%') && operands.right.numerator === 0n) {
    const detail = 'The divisor is zero.'
    return fail(context, { span: link.right.span, summary: 'Division by zero', detail })
  }
  return calculate(operator, operands.left, operands.right) ?? reportRange(link, context)
}

function reportRange(expression: Expression, context: EvaluationContext): undefined {
  const detail = 'The result is beyond 2 to the power of 1024.'
  return fail(context, { span: expression.span, summary: 'Number out of range', detail })
}

export function reportOperand(
  expression: Expression,
  value: Value,
  context: EvaluationContext,
): undefined {
  const isText = typeof value === 'string'
  const found = isText ? `the string ${quoteText(value)}` : describeValue(value)
  const advice = isText ? ' Text is joined in a template: "${a}${b}".' : ''
  const detail = `The operator needs a number here, but found ${found}.${advice}`
  return fail(context, { span: expression.span, summary: 'Invalid operand', detail })
}
