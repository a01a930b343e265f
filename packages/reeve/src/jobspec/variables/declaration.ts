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
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from '../findings.ts'
import { readRule, type ValidationRule } from './rule.ts'
import { convertTo, evaluateLiteral, type SuppliedValue } from './literal.ts'

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
