import type {
  AccessExpression,
  Expression,
  IndexStep,
  SplatStep,
  Step,
  VariableExpression,
} from '../syntax/ast.ts'
import { didYouMean, quoteText } from '../text/suggest.ts'
import { textOf, type Span } from '../text/source.ts'
import { toNumber, toText } from '../value/convert.ts'
import { describeValue, getAttribute, isList, isObject, type Value } from '../value/value.ts'
import { checkSize, fail, chargeSteps, type EvaluationContext } from './context.ts'

export function evaluateVariable(
  expression: VariableExpression,
  context: EvaluationContext,
): Value | undefined {
  const { name, span } = expression
  const value = context.scope.variable(name)
  if (value !== undefined) return checkSize(context, value, span)
  if (context.scope.isDeferred(name)) return deferredText(expression)
  const detail = () =>
    `There is no variable named ${quoteText(name)}.${didYouMean(name, context.scope.variableNames())}`
  return fail(context, { span, summary: 'Unknown variable', detail })
}

/**
 * Whether `attr`, `attr.x` or `attr["x"]` refers to a root that the scope defers to a later
 * evaluation.
 */
export function isDeferredReference(expression: Expression, context: EvaluationContext): boolean {
  const root = expression.kind === 'access' ? expression.base : expression
  if (root.kind !== 'variable') return false
  return context.scope.variable(root.name) === undefined && context.scope.isDeferred(root.name)
}

/**
 * A deferred reference outside a template yields its own interpolation, for the later evaluation.
 */
function deferredText(expression: Expression): string {
  return `\${${textOf(expression.span)}}`
}

export function evaluateAccess(
  expression: AccessExpression,
  context: EvaluationContext,
): Value | undefined {
  if (isDeferredReference(expression, context)) return deferredText(expression)
  const base = context.evaluate(expression.base, context)
  if (base === undefined) return undefined
  return isDeclared(base, expression, context) ? follow(base, expression.steps, context) : undefined
}

/**
 * For `x` in `var.x`: if it is missing, reports how to declare it, provided the scope describes the
 * root.
 */
function isDeclared(
  value: Value,
  { base, steps }: AccessExpression,
  context: EvaluationContext,
): boolean {
  const [step] = steps
  if (base.kind !== 'variable' || step?.kind !== 'attribute' || !isObject(value)) return true
  const { name, span } = step
  const kind = context.scope.describeRoot?.(base.name)
  if (kind === undefined || getAttribute(value, name) !== undefined) return true
  const detail = () =>
    `There is no ${kind.noun} named ${quoteText(name)}.${didYouMean(name, Object.keys(value))} ${kind.howToDeclare(name)}`
  fail(context, { span, summary: `Undeclared ${kind.noun}`, detail })
  return false
}

function follow(
  base: Value,
  steps: readonly Step[],
  context: EvaluationContext,
): Value | undefined {
  let value: Value | undefined = base
  for (const step of steps) {
    if (value === undefined || !chargeSteps(context, 1, step.span)) return undefined
    value = followStep(value, step, context)
  }
  return value
}

function followStep(value: Value, step: Step, context: EvaluationContext): Value | undefined {
  switch (step.kind) {
    case 'attribute':
      return followAttribute(value, step, context)
    case 'index':
      return followIndex(value, step, context)
    case 'splat':
      return followSplat(value, step, context)
  }
}

function followAttribute(
  value: Value,
  step: { readonly name: string; readonly span: Span },
  context: EvaluationContext,
): Value | undefined {
  const { name, span } = step
  if (isObject(value)) {
    const found = getAttribute(value, name)
    if (found !== undefined) return found
    const detail = () =>
      `This object does not have an attribute named ${quoteText(name)}.${didYouMean(name, Object.keys(value))}`
    return fail(context, { span, summary: 'Unsupported attribute', detail })
  }
  const detail = () => {
    if (value === null) return 'This value is null, so it does not have any attributes.'
    const hint = isList(value) ? ' Use "[*]" for the attribute of each element, or an index.' : ''
    return `A ${describeValue(value)} does not have attributes.${hint}`
  }
  return fail(context, { span, summary: 'Unsupported attribute', detail })
}

function followIndex(value: Value, step: IndexStep, context: EvaluationContext): Value | undefined {
  const key = context.evaluate(step.key, context)
  if (key === undefined) return undefined
  if (isList(value)) return elementAt(value, key, { step, context })
  if (isObject(value)) {
    const name = toText(key)
    const found = name === undefined ? undefined : getAttribute(value, name)
    if (found !== undefined) return found
    const detail = () =>
      name === undefined
        ? `The key of an object must be a string, but found ${describeValue(key)}.`
        : `There is no element with the key ${quoteText(name)}.${didYouMean(name, Object.keys(value))}`
    return fail(context, { span: step.span, summary: 'Invalid index', detail })
  }
  const detail = `A ${describeValue(value)} does not have elements.`
  return fail(context, { span: step.span, summary: 'Invalid index', detail })
}

function elementAt(
  list: readonly Value[],
  key: Value,
  place: { readonly step: IndexStep; readonly context: EvaluationContext },
): Value | undefined {
  const index = toNumber(key)
  const found = typeof index === 'number' && index >= 0 ? list[index] : undefined
  if (found !== undefined) return found
  const detail = () => {
    if (index === undefined)
      return `The key of a list must be a number, but found ${describeValue(key)}.`
    if (typeof index === 'number' && !Number.isInteger(index))
      return `The key of a list must be a whole number, but found ${index}.`
    return `There is no element ${index}: the list has ${list.length} element(s), counted from 0.`
  }
  return fail(place.context, { span: place.step.span, summary: 'Invalid index', detail })
}

/** A value that is not a list is treated as a list with that value, and null as an empty list. */
function followSplat(value: Value, step: SplatStep, context: EvaluationContext): Value | undefined {
  const elements = isList(value) ? value : value === null ? [] : [value]
  const results: Value[] = []
  for (const element of elements) {
    if (!chargeSteps(context, 1, step.span)) return undefined
    const result = follow(element, step.each, context)
    if (result === undefined) return undefined
    results.push(result)
  }
  return checkSize(context, results, step.span)
}
