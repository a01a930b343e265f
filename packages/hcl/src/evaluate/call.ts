import type { CallExpression, Expression } from '../syntax/ast.ts'
import { didYouMean, quoteText } from '../text/suggest.ts'
import { reportAll } from '../text/diagnostic.ts'
import { convert, formatConversionError } from '../value/convert.ts'
import { describeValue, isList, type Value } from '../value/value.ts'
import {
  withOwnDiagnostics,
  checkSize,
  fail,
  chargeSteps,
  type EvaluationContext,
} from './context.ts'
import { measure, traversalCost } from './budget.ts'
import type {
  EagerFunction,
  FunctionError,
  LazyArgument,
  LazyFunction,
  Parameter,
} from './scope.ts'

export function evaluateCall(
  expression: CallExpression,
  context: EvaluationContext,
): Value | undefined {
  const { name, nameSpan } = expression
  const definition = context.scope.function(name)
  if (definition === undefined) {
    const detail = () =>
      `There is no function named ${quoteText(name)}.${didYouMean(name, context.scope.functionNames())}`
    return fail(context, { span: nameSpan, summary: 'Call to unknown function', detail })
  }
  return definition.kind === 'eager'
    ? callEager(expression, definition, context)
    : callLazy(expression, definition, context)
}

/** An argument value and the expression for diagnostics; expanded arguments share one. */
interface Argument {
  readonly value: Value
  readonly expression: Expression
}

function callEager(
  expression: CallExpression,
  definition: EagerFunction,
  context: EvaluationContext,
): Value | undefined {
  const args = evaluateArguments(expression, context)
  if (args === undefined) return undefined
  const countMin = definition.parameters.length
  const countMax = definition.rest === undefined ? countMin : Infinity
  if (!checkCount(expression, { count: args.length, countMin, countMax }, context)) return undefined
  const values: Value[] = []
  for (const [index, argument] of args.entries()) {
    const parameter = definition.parameters[index] ?? definition.rest
    const value =
      parameter === undefined ? argument.value : convertArgument(argument, parameter, context)
    if (value === undefined) return undefined
    values.push(value)
  }
  const result = definition.call(values, context.scope.meter)
  if (result.ok) return payFor(result.value, expression, context)
  return reportCall(
    expression,
    { problem: result.error, args: args.map((one) => one.expression) },
    context,
  )
}

function evaluateArguments(
  expression: CallExpression,
  context: EvaluationContext,
): readonly Argument[] | undefined {
  const args: Argument[] = []
  let hasFailed = false
  for (const [index, argument] of expression.arguments.entries()) {
    const value = context.evaluate(argument, context)
    if (value === undefined) hasFailed = true
    else if (expression.expandsLast && index === expression.arguments.length - 1) {
      if (!isList(value)) return reportExpansion(argument, value, context)
      if (!chargeSteps(context, value.length, argument.span)) return undefined
      for (const element of value) args.push({ value: element, expression: argument })
    } else args.push({ value, expression: argument })
  }
  return hasFailed ? undefined : args
}

function reportExpansion(
  argument: Expression,
  value: Value,
  context: EvaluationContext,
): undefined {
  const detail = `Only a list can be expanded with "...", but found ${describeValue(value)}.`
  return fail(context, { span: argument.span, summary: 'Invalid expanding argument', detail })
}

interface Count {
  readonly count: number
  readonly countMin: number
  readonly countMax: number
}

function checkCount(expression: CallExpression, count: Count, context: EvaluationContext): boolean {
  const { countMin, countMax } = count
  if (count.count >= countMin && count.count <= countMax) return true
  const isFew = count.count < countMin
  const wanted = isFew ? `at least ${countMin}` : `at most ${countMax}`
  const detail = `Function ${quoteText(expression.name)} takes ${countMin === countMax ? countMin : wanted} argument(s), but got ${count.count}.`
  const summary = isFew ? 'Not enough function arguments' : 'Too many function arguments'
  fail(context, { span: expression.span, summary, detail })
  return false
}

function convertArgument(
  argument: Argument,
  parameter: Parameter,
  context: EvaluationContext,
): Value | undefined {
  const { value, expression } = argument
  const invalid = (message: string) => {
    const detail = `Invalid value for parameter ${quoteText(parameter.name)}: ${message}.`
    return fail(context, { span: expression.span, summary: 'Invalid function argument', detail })
  }
  if (value === null && parameter.isNullable !== true) return invalid('it must not be null')
  if (!chargeSteps(context, traversalCost(measure(context.scope.meter, value)), expression.span))
    return undefined
  const converted = convert(value, parameter.type)
  return converted.ok ? converted.value : invalid(formatConversionError(converted.error))
}

function payFor(
  value: Value,
  expression: CallExpression,
  context: EvaluationContext,
): Value | undefined {
  const checked = checkSize(context, value, expression.span)
  if (checked === undefined) return undefined
  const steps = traversalCost(measure(context.scope.meter, checked))
  return chargeSteps(context, steps, expression.span) ? checked : undefined
}

function callLazy(
  expression: CallExpression,
  definition: LazyFunction,
  context: EvaluationContext,
): Value | undefined {
  const { parameterCountMin: countMin, parameterCountMax: countMax } = definition
  const count = expression.arguments.length
  if (!checkCount(expression, { count, countMin, countMax }, context)) return undefined
  const last = expression.arguments.at(-1)
  if (expression.expandsLast && last !== undefined) {
    const detail = `Function ${quoteText(expression.name)} does not take an expanded argument.`
    return fail(context, { span: last.span, summary: 'Invalid expanding argument', detail })
  }
  const result = definition.call(expression.arguments.map((one) => makeLazy(one, context)))
  if (result.ok) return payFor(result.value, expression, context)
  if ('message' in result.error)
    return reportCall(expression, { problem: result.error, args: expression.arguments }, context)
  return reportAll(context.problems, result.error)
}

function makeLazy(expression: Expression, context: EvaluationContext): LazyArgument {
  const aside = withOwnDiagnostics(context)
  let outcome: { readonly value: Value | undefined } | undefined
  return {
    expression,
    evaluate: () => (outcome ??= { value: aside.evaluate(expression, aside) }).value,
    problems: () => aside.problems.items,
  }
}

function reportCall(
  expression: CallExpression,
  found: { readonly problem: FunctionError; readonly args: readonly Expression[] },
  context: EvaluationContext,
): undefined {
  const { problem, args } = found
  const place = problem.argument === undefined ? expression : (args[problem.argument] ?? expression)
  const detail = `Call to function ${quoteText(expression.name)} failed: ${problem.message}.`
  return fail(context, { span: place.span, summary: 'Error in function call', detail })
}
