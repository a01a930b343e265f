import {
  convert,
  errorAt,
  evaluate,
  findReferences,
  formatConversionError,
  quoteText,
  type Expression,
  type Scope,
  type Span,
  type Type,
  type Value,
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from '../findings.ts'
import { literalScope } from '../scope.ts'

/** A value and its source position. */
export interface SuppliedValue {
  readonly value: Value
  readonly span: Span
}

/** Evaluates an expression without references. Reports errors and returns undefined. */
export function evaluateLiteral(
  expression: Expression,
  { scope, findings }: { readonly scope: Scope; readonly findings: DiagnosticList },
): Value | undefined {
  const [reference] = findReferences(expression)
  if (reference !== undefined) {
    const detail = `Only a literal value may be written here, but it refers to ${quoteText(reference.root)}.`
    report(findings, () => errorAt(reference.span, 'References not allowed', detail))
    return undefined
  }
  const result = evaluate(expression, literalScope(scope))
  if (result.ok) return result.value
  reportAll(findings, result.error)
  return undefined
}

/** Converts the supplied value to a type. Reports errors and returns undefined. */
export function convertTo(
  type: Type | undefined,
  given: SuppliedValue,
  { subject, findings }: { readonly subject: string; readonly findings: DiagnosticList },
): SuppliedValue | undefined {
  if (type === undefined) return given
  const converted = convert(given.value, type)
  if (converted.ok) return { value: converted.value, span: given.span }
  const detail = `${subject} does not fit the type: ${formatConversionError(converted.error)}.`
  report(findings, () => errorAt(given.span, 'Invalid value for variable', detail))
  return undefined
}
