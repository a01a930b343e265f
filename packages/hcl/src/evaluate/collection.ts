import type {
  Expression,
  ForBinding,
  ForExpression,
  ObjectExpression,
  TupleExpression,
} from '../syntax/ast.ts'
import { quoteText } from '../text/suggest.ts'
import { toText } from '../value/convert.ts'
import { describeValue, entriesOf, makeObject, type Value } from '../value/value.ts'
import { checkSize, fail, chargeSteps, withVariables, type EvaluationContext } from './context.ts'
import { evaluateBool } from './operators.ts'

/** Evaluates all elements even after an error, so that all errors are reported together. */
export function evaluateTuple(
  expression: TupleExpression,
  context: EvaluationContext,
): Value | undefined {
  const values: Value[] = []
  for (const element of expression.elements) {
    const value = context.evaluate(element, context)
    if (value !== undefined) values.push(value)
  }
  if (values.length < expression.elements.length) return undefined
  return checkSize(context, values, expression.span)
}

export function evaluateObject(
  expression: ObjectExpression,
  context: EvaluationContext,
): Value | undefined {
  const entries = new Map<string, Value>()
  let hasFailed = false
  for (const item of expression.items) {
    const key = evaluateKey(item.key, context)
    const value = context.evaluate(item.value, context)
    if (key === undefined || value === undefined) hasFailed = true
    else if (expression.uniqueNames && entries.has(key)) {
      reportDuplicate(item.key, key, context)
      hasFailed = true
    } else entries.set(key, value)
  }
  return hasFailed ? undefined : checkSize(context, makeObject(entries), expression.span)
}

function evaluateKey(expression: Expression, context: EvaluationContext): string | undefined {
  const key = context.evaluate(expression, context)
  if (key === undefined) return undefined
  const text = toText(key)
  if (text !== undefined) return text
  const detail = `The key of an object must be a string, but found ${describeValue(key)}.`
  return fail(context, { span: expression.span, summary: 'Invalid object key', detail })
}

function reportDuplicate(
  expression: Expression,
  key: string,
  context: EvaluationContext,
): undefined {
  const detail = `The key ${quoteText(key)} was produced twice.`
  return fail(context, { span: expression.span, summary: 'Duplicate object key', detail })
}

export function evaluateFor(
  expression: ForExpression,
  context: EvaluationContext,
): Value | undefined {
  const { key, value, span } = expression
  const rounds = evaluateRounds(expression.binding, context)
  if (rounds === undefined) return undefined
  const list: Value[] = []
  const groups = new Map<string, Value[]>()
  for (const round of rounds) {
    if (!chargeSteps(context, 1, span)) return undefined
    const inner = withVariables(context, round)
    const isIncluded =
      expression.condition === undefined ? true : evaluateBool(expression.condition, inner)
    if (isIncluded === undefined) return undefined
    if (!isIncluded) continue
    const name = key === undefined ? '' : evaluateKey(key, inner)
    const result = context.evaluate(value, inner)
    if (name === undefined || result === undefined) return undefined
    if (key === undefined) list.push(result)
    else if (!addToGroup(groups, name, result) && !expression.isGrouped)
      return reportDuplicateResult(key, name, context)
  }
  if (key === undefined) return checkSize(context, list, span)
  const entries = [...groups].map(([name, group]): [string, Value] => [
    name,
    expression.isGrouped ? group : (group[0] ?? null),
  ])
  return checkSize(context, makeObject(entries), span)
}

/** Returns false if the name already exists. */
function addToGroup(groups: Map<string, Value[]>, name: string, value: Value): boolean {
  const group = groups.get(name)
  if (group === undefined) groups.set(name, [value])
  else group.push(value)
  return group === undefined
}

function reportDuplicateResult(
  key: Expression,
  name: string,
  context: EvaluationContext,
): undefined {
  const detail = `The key ${quoteText(name)} was produced twice. Write "..." after the value to gather the values of equal keys.`
  return fail(context, { span: key.span, summary: 'Duplicate object key', detail })
}

/** The variables of each iteration of `for`, in expressions and templates. */
export function evaluateRounds(
  binding: ForBinding,
  context: EvaluationContext,
): readonly Readonly<Record<string, Value>>[] | undefined {
  const { collection } = binding
  const value = context.evaluate(collection, context)
  if (value === undefined) return undefined
  const entries = entriesOf(value)
  if (entries === undefined) {
    const detail = `A list or an object is needed, but found ${describeValue(value)}.`
    const summary =
      value === null ? 'Iteration over null value' : 'Iteration over non-iterable value'
    return fail(context, { span: collection.span, summary, detail })
  }
  if (!chargeSteps(context, entries.length, collection.span)) return undefined
  return entries.map(([key, element]) => {
    const variables: [string, Value][] = [[binding.valueName, element]]
    if (binding.keyName !== undefined) variables.unshift([binding.keyName, key])
    return makeObject(variables)
  })
}
