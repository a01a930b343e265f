import type {
  BinaryExpression,
  BinaryOperator,
  ConditionalExpression,
  Expression,
  UnaryExpression,
} from '../syntax/ast.ts'
import { describeValue, sameValue, type Value } from '../value/value.ts'
import { quoteText } from '../text/suggest.ts'
import { convert, formatConversionError, toBool, toNumber } from '../value/convert.ts'
import type { NumberValue } from '@reeve/kit/number.ts'
import { reportAll } from '../text/diagnostic.ts'
import {
  calculate,
  fromRational,
  negate,
  toRational,
  type ArithmeticOperator,
  type Rational,
  compare,
} from '../value/rational.ts'
import { describeType, typeOf, unify, type Type } from '../value/type.ts'
import { measure } from './budget.ts'
import { fail, chargeSteps, type EvaluationContext, withOwnDiagnostics } from './context.ts'

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

function reportOperand(
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
