import {
  childScope,
  convert,
  errorAt,
  evaluate,
  findReferences,
  formatRange,
  readPartialContent,
  quoteText,
  rangeOf,
  STRING,
  toBool,
  type Attribute,
  type Block,
  type BodySchema,
  type Expression,
  type Scope,
  type Span,
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from '../findings.ts'
import { closedScope } from '../scope.ts'
import type { SuppliedValue } from './literal.ts'

/** A `validation` block of a variable. */
export interface ValidationRule {
  readonly condition: Expression
  readonly message: Expression
  readonly span: Span
}

const VALIDATION: BodySchema = { attributes: { condition: {}, error_message: {} } }

/** Reports errors and returns undefined if the block is invalid. */
export function readRule(
  block: Block,
  variable: string,
  findings: DiagnosticList,
): ValidationRule | undefined {
  const { content, diagnostics } = readPartialContent(block.body, VALIDATION)
  reportAll(findings, diagnostics)
  const condition = content.attributes.get('condition')
  const message = content.attributes.get('error_message')
  if (condition === undefined || message === undefined) {
    const detail = 'A validation has a "condition" and an "error_message".'
    report(findings, () => errorAt(block.headerSpan, 'Missing required argument', detail))
    return undefined
  }
  checkReferences(condition, variable, findings)
  const span = block.headerSpan
  return { condition: condition.expression, message: message.expression, span }
}

function checkReferences(condition: Attribute, variable: string, findings: DiagnosticList): void {
  const references = findReferences(condition.expression)
  const otherReference = references.find(({ root, path }) => root !== 'var' || path[0] !== variable)
  const detail = `The condition must refer to var.${variable}, and to nothing else.`
  const span = otherReference?.span ?? condition.expression.span
  if (otherReference !== undefined || references.length === 0)
    report(findings, () => errorAt(span, 'Invalid validation condition', detail))
}

export interface RuleCheck {
  readonly name: string
  readonly given: SuppliedValue
  readonly scope: Scope
  readonly findings: DiagnosticList
}

/** Reports a failed rule at the position of the value. */
export function checkRule(rule: ValidationRule, { name, given, scope, findings }: RuleCheck): void {
  const inner = childScope(closedScope(scope), { var: { [name]: given.value } })
  const message = evaluateMessage(rule, inner, findings)
  const condition = evaluate(rule.condition, inner)
  if (!condition.ok) return reportAll(findings, condition.error)
  const isMet = toBool(condition.value)
  if (isMet === undefined) {
    const detail = 'The condition of a validation must be true or false.'
    report(findings, () => errorAt(rule.condition.span, 'Invalid validation condition', detail))
  } else if (!isMet && message !== undefined) {
    const make = () => {
      const place = formatRange(rangeOf(rule.span))
      const detail = `The value of ${quoteText(name)} is refused: ${message} (Checked at ${place}.)`
      return errorAt(given.span, 'Invalid value for variable', detail)
    }
    report(findings, make)
  }
}

function evaluateMessage(
  rule: ValidationRule,
  scope: Scope,
  findings: DiagnosticList,
): string | undefined {
  const message = evaluate(rule.message, scope)
  if (!message.ok) {
    reportAll(findings, message.error)
    return undefined
  }
  const text = convert(message.value, STRING)
  if (text.ok && typeof text.value === 'string' && text.value !== '') return text.value
  const detail = 'The error_message of a validation must be a string that is not empty.'
  report(findings, () => errorAt(rule.message.span, 'Invalid validation message', detail))
  return undefined
}
