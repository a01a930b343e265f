import type { InterpolationPart, TemplateExpression, TemplatePart } from '../syntax/ast.ts'
import { textOf } from '../text/source.ts'
import { toText } from '../value/convert.ts'
import { describeValue, type Value } from '../value/value.ts'
import { isDeferredReference } from './access.ts'
import { evaluateRounds } from './collection.ts'
import { fail, joinText, chargeSteps, withVariables, type EvaluationContext } from './context.ts'
import { evaluateBool } from './operators.ts'

/**
 * A template that is a single interpolation yields its value unchanged; any other yields a string.
 */
export function evaluateTemplate(
  expression: TemplateExpression,
  context: EvaluationContext,
): Value | undefined {
  const [first, second] = expression.parts
  if (first?.kind === 'interpolation' && second === undefined) {
    if (isDeferredReference(first.expression, context)) return interpolationText(first)
    return context.evaluate(first.expression, context)
  }
  const texts: string[] = []
  if (!render(expression.parts, texts, context)) return undefined
  return joinText(context, texts, expression.span)
}

/** Returns false after an error; the remaining parts are evaluated all the same. */
function render(
  parts: readonly TemplatePart[],
  texts: string[],
  context: EvaluationContext,
): boolean {
  let isComplete = true
  for (const part of parts) if (!renderPart(part, texts, context)) isComplete = false
  return isComplete
}

function renderPart(part: TemplatePart, texts: string[], context: EvaluationContext): boolean {
  if (!chargeSteps(context, 1, part.span)) return false
  switch (part.kind) {
    case 'text':
      texts.push(part.text)
      return true
    case 'interpolation':
      return renderInterpolation(part, texts, context)
    case 'if': {
      const condition = evaluateBool(part.condition, context)
      if (condition === undefined) return false
      return render(condition ? part.whenTrue : part.whenFalse, texts, context)
    }
    case 'for': {
      const rounds = evaluateRounds(part.binding, context)
      return (
        rounds?.every((round) => render(part.body, texts, withVariables(context, round))) ?? false
      )
    }
  }
}

function renderInterpolation(
  part: InterpolationPart,
  texts: string[],
  context: EvaluationContext,
): boolean {
  if (isDeferredReference(part.expression, context)) {
    texts.push(interpolationText(part))
    return true
  }
  const value = context.evaluate(part.expression, context)
  if (value === undefined) return false
  const text = toText(value)
  if (text !== undefined) {
    texts.push(text)
    return true
  }
  const detail = `A string, number or bool is needed inside a template, but found ${describeValue(value)}.`
  fail(context, {
    span: part.expression.span,
    summary: 'Invalid template interpolation value',
    detail,
  })
  return false
}

/**
 * The source text of a deferred interpolation, unchanged except for strip markers, which are
 * already applied.
 */
function interpolationText(part: InterpolationPart): string {
  return textOf(part.span)
    .replace(/^\$\{~/, '${')
    .replace(/~\}$/, '}')
}
