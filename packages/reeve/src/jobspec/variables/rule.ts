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
import { note, noteAll, type Findings } from '../findings.ts'
import { closedScope } from '../scope.ts'
import type { GivenValue } from './literal.ts'

/** A `validation` block of a variable. */
export interface Rule {
  readonly condition: Expression
  readonly message: Expression
  readonly span: Span
}

const VALIDATION: BodySchema = { attributes: { condition: {}, error_message: {} } }

/** Reports errors and returns undefined if the block is invalid. */
export function readRule(block: Block, variable: string, findings: Findings): Rule | undefined {
  const { content, diagnostics } = readPartialContent(block.body, VALIDATION)
  noteAll(findings, diagnostics)
  const condition = content.attributes.get('condition')
  const message = content.attributes.get('error_message')
  if (condition === undefined || message === undefined) {
    const detail = 'A validation has a "condition" and an "error_message".'
    note(findings, () => errorAt(block.headerSpan, 'Missing required argument', detail))
    return undefined
  }
  checkReferences(condition, variable, findings)
  const span = block.headerSpan
  return { condition: condition.expression, message: message.expression, span }
}

function checkReferences(condition: Attribute, variable: string, findings: Findings): void {
  const references = findReferences(condition.expression)
  const stranger = references.find(({ root, path }) => root !== 'var' || path[0] !== variable)
  const detail = `The condition must refer to var.${variable}, and to nothing else.`
  const span = stranger?.span ?? condition.expression.span
  if (stranger !== undefined || references.length === 0)
    note(findings, () => errorAt(span, 'Invalid validation condition', detail))
}

export interface RuleCheck {
  readonly name: string
  readonly given: GivenValue
  readonly scope: Scope
  readonly findings: Findings
}

/** Reports a failed rule at the position of the value. */
export function checkRule(rule: Rule, { name, given, scope, findings }: RuleCheck): void {
  const inner = childScope(closedScope(scope), { var: { [name]: given.value } })
  const message = evaluateMessage(rule, inner, findings)
  const condition = evaluate(rule.condition, inner)
  if (!condition.ok) return noteAll(findings, condition.error)
  const isMet = toBool(condition.value)
  if (isMet === undefined) {
    const detail = 'The condition of a validation must be true or false.'
    note(findings, () => errorAt(rule.condition.span, 'Invalid validation condition', detail))
  } else if (!isMet && message !== undefined) {
    const make = () => {
      const place = formatRange(rangeOf(rule.span))
      const detail = `The value of ${quoteText(name)} is refused: ${message} (Checked at ${place}.)`
      return errorAt(given.span, 'Invalid value for variable', detail)
    }
    note(findings, make)
  }
}

function evaluateMessage(rule: Rule, scope: Scope, findings: Findings): string | undefined {
  const message = evaluate(rule.message, scope)
  if (!message.ok) {
    noteAll(findings, message.error)
    return undefined
  }
  const text = convert(message.value, STRING)
  if (text.ok && typeof text.value === 'string' && text.value !== '') return text.value
  const detail = 'The error_message of a validation must be a string that is not empty.'
  note(findings, () => errorAt(rule.message.span, 'Invalid validation message', detail))
  return undefined
}
