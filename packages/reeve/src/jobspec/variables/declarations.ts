import {
  ANY,
  asKeyword,
  errorAt,
  readPartialContent,
  listOf,
  quoteText,
  parseType,
  STRING,
  toText,
  typeOf,
  unifyAll,
  type Attribute,
  type Block,
  type BodySchema,
  type Content,
  type Scope,
  type Span,
  type Type,
  childScope,
  convert,
  evaluate,
  findReferences,
  formatRange,
  rangeOf,
  toBool,
  type Expression,
  formatConversionError,
  type Value,
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from '../diagnostics.ts'
import { closedScope, literalScope } from '../scope.ts'

/** A declared variable. */
export interface Declaration {
  readonly name: string
  readonly span: Span
  /** The target type of values; undefined if neither a type nor a default determines it. */
  readonly type: Type | undefined
  readonly defaultValue: SuppliedValue | undefined
  readonly rules: readonly ValidationRule[]
}

interface DeclarationContext {
  readonly scope: Scope
  readonly findings: DiagnosticList
}

/** Reads the declarations of all `variable` and `variables` blocks, by name. */
export function readDeclarations(
  blocks: readonly Block[],
  reading: DeclarationContext,
): ReadonlyMap<string, Declaration> {
  const declarations = new Map<string, Declaration>()
  for (const block of blocks) {
    const found =
      block.type === 'variable'
        ? [readVariableBlock(block, reading)]
        : readShorthand(block, reading)
    for (const declaration of found) {
      const { name, span } = declaration
      const detail = () => `A variable named ${quoteText(name)} is already declared.`
      if (declarations.has(name))
        report(reading.findings, () => errorAt(span, 'Duplicate variable', detail()))
      else declarations.set(name, declaration)
    }
  }
  return declarations
}

const VARIABLE: BodySchema = {
  attributes: { type: {}, default: {}, description: {} },
  blocks: { validation: {} },
}

function readVariableBlock(block: Block, reading: DeclarationContext): Declaration {
  const { findings } = reading
  const label = block.labels[0] ?? { text: '', span: block.headerSpan }
  const { text: name, span } = label
  const isNamed = checkName(name, span, findings)
  const { content, diagnostics } = readPartialContent(block.body, VARIABLE)
  reportAll(findings, diagnostics)
  checkDescription(content, reading)
  const type = readTypeOf(content, findings)
  const written = readDefault(content.attributes.get('default'), type, reading)
  // A variable with an invalid name cannot be set, so it is not also reported as unset.
  const fallback = written ?? (isNamed ? undefined : { value: null, span })
  const rules = content.blocks.flatMap((inner) => readRule(inner, name, findings) ?? [])
  return { name, span, type: type ?? inferType(fallback), defaultValue: fallback, rules }
}

function checkName(name: string, span: Span, findings: DiagnosticList): boolean {
  if (asKeyword({ kind: 'literal', value: name, span }) !== undefined) return true
  const detail = () =>
    `${quoteText(name)} is no name: a name has letters, digits, "_" and "-", and does not begin with a digit.`
  report(findings, () => errorAt(span, 'Invalid variable name', detail()))
  return false
}

function checkDescription({ attributes }: Content, reading: DeclarationContext): void {
  const attribute = attributes.get('description')
  if (attribute === undefined) return
  const value = evaluateLiteral(attribute.expression, reading)
  if (value === undefined || toText(value) !== undefined) return
  const { span } = attribute.expression
  report(reading.findings, () => errorAt(span, 'Invalid description', 'A description is a string.'))
}

function readTypeOf({ attributes }: Content, findings: DiagnosticList): Type | undefined {
  const attribute = attributes.get('type')
  if (attribute === undefined) return undefined
  const type = parseType(attribute.expression)
  if (type.ok) return type.value
  reportAll(findings, type.error)
  return ANY
}

function readDefault(
  attribute: Attribute | undefined,
  type: Type | undefined,
  reading: DeclarationContext,
): SuppliedValue | undefined {
  if (attribute === undefined) return undefined
  const { span } = attribute.expression
  const value = evaluateLiteral(attribute.expression, reading)
  // Null replaces a failed default, so that the variable is not also reported as unset.
  if (value === undefined) return { value: null, span }
  const given = { value, span }
  return convertTo(type, given, { subject: 'The default', ...reading }) ?? { value: null, span }
}

/** `variables { image = "web:1" }`: the type is inferred from the value. */
function readShorthand(block: Block, reading: DeclarationContext): readonly Declaration[] {
  const { content, diagnostics } = readPartialContent(block.body, { otherAttributes: {} })
  reportAll(reading.findings, diagnostics)
  return [...content.attributes.values()].map((attribute) => {
    const { name, nameSpan: span } = attribute
    checkName(name, span, reading.findings)
    const fallback = readDefault(attribute, undefined, reading)
    return { name, span, type: inferType(fallback), defaultValue: fallback, rules: [] }
  })
}

/**
 * Infers the variable type from its default, but not the length of a list or the names of an
 * object: `default = []` would otherwise allow no elements.
 */
function inferType(fallback: SuppliedValue | undefined): Type | undefined {
  if (fallback === undefined || fallback.value === null) return undefined
  const type = typeOf(fallback.value)
  if (type.kind === 'object') return ANY
  if (type.kind !== 'tuple') return type
  const element = unifyAll(type.elements)
  return element?.kind === 'string' ? listOf(STRING) : ANY
}

/** A `validation` block of a variable. */
interface ValidationRule {
  readonly condition: Expression
  readonly message: Expression
  readonly span: Span
}

const VALIDATION: BodySchema = { attributes: { condition: {}, error_message: {} } }

/** Reports errors and returns undefined if the block is invalid. */
function readRule(
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

interface RuleCheck {
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
