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
import { note, noteAll, type Findings } from '../findings.ts'
import { readRule, type Rule } from './rule.ts'
import { convertTo, evaluateLiteral, type GivenValue } from './literal.ts'

/** A declared variable. */
export interface Declaration {
  readonly name: string
  readonly span: Span
  /** The target type of values; undefined if neither a type nor a default determines it. */
  readonly type: Type | undefined
  readonly fallback: GivenValue | undefined
  readonly rules: readonly Rule[]
}

interface Reading {
  readonly scope: Scope
  readonly findings: Findings
}

/** Reads the declarations of all `variable` and `variables` blocks, by name. */
export function readDeclarations(
  blocks: readonly Block[],
  reading: Reading,
): ReadonlyMap<string, Declaration> {
  const declarations = new Map<string, Declaration>()
  for (const block of blocks) {
    const found =
      block.type === 'variable' ? [readBlock(block, reading)] : readShort(block, reading)
    for (const declaration of found) {
      const { name, span } = declaration
      const detail = () => `A variable named ${quoteText(name)} is already declared.`
      if (declarations.has(name))
        note(reading.findings, () => errorAt(span, 'Duplicate variable', detail()))
      else declarations.set(name, declaration)
    }
  }
  return declarations
}

const VARIABLE: BodySchema = {
  attributes: { type: {}, default: {}, description: {} },
  blocks: { validation: {} },
}

function readBlock(block: Block, reading: Reading): Declaration {
  const { findings } = reading
  const label = block.labels[0] ?? { text: '', span: block.headerSpan }
  const { text: name, span } = label
  const isNamed = checkName(name, span, findings)
  const { content, diagnostics } = readPartialContent(block.body, VARIABLE)
  noteAll(findings, diagnostics)
  checkDescription(content, reading)
  const type = readTypeOf(content, findings)
  const written = readDefault(content.attributes.get('default'), type, reading)
  // A variable with an invalid name cannot be set, so it is not also reported as unset.
  const fallback = written ?? (isNamed ? undefined : { value: null, span })
  const rules = content.blocks.flatMap((inner) => readRule(inner, name, findings) ?? [])
  return { name, span, type: type ?? typeFrom(fallback), fallback, rules }
}

function checkName(name: string, span: Span, findings: Findings): boolean {
  if (asKeyword({ kind: 'literal', value: name, span }) !== undefined) return true
  const detail = () =>
    `${quoteText(name)} is no name: a name has letters, digits, "_" and "-", and does not begin with a digit.`
  note(findings, () => errorAt(span, 'Invalid variable name', detail()))
  return false
}

function checkDescription({ attributes }: Content, reading: Reading): void {
  const attribute = attributes.get('description')
  if (attribute === undefined) return
  const value = evaluateLiteral(attribute.expression, reading)
  if (value === undefined || toText(value) !== undefined) return
  const { span } = attribute.expression
  note(reading.findings, () => errorAt(span, 'Invalid description', 'A description is a string.'))
}

function readTypeOf({ attributes }: Content, findings: Findings): Type | undefined {
  const attribute = attributes.get('type')
  if (attribute === undefined) return undefined
  const type = parseType(attribute.expression)
  if (type.ok) return type.value
  noteAll(findings, type.error)
  return ANY
}

function readDefault(
  attribute: Attribute | undefined,
  type: Type | undefined,
  reading: Reading,
): GivenValue | undefined {
  if (attribute === undefined) return undefined
  const { span } = attribute.expression
  const value = evaluateLiteral(attribute.expression, reading)
  // Null replaces a failed default, so that the variable is not also reported as unset.
  if (value === undefined) return { value: null, span }
  const given = { value, span }
  return convertTo(type, given, { subject: 'The default', ...reading }) ?? { value: null, span }
}

/** `variables { image = "web:1" }`: the type is inferred from the value. */
function readShort(block: Block, reading: Reading): readonly Declaration[] {
  const { content, diagnostics } = readPartialContent(block.body, { otherAttributes: {} })
  noteAll(reading.findings, diagnostics)
  return [...content.attributes.values()].map((attribute) => {
    const { name, nameSpan: span } = attribute
    checkName(name, span, reading.findings)
    const fallback = readDefault(attribute, undefined, reading)
    return { name, span, type: typeFrom(fallback), fallback, rules: [] }
  })
}

/**
 * Infers the variable type from its default, but not the length of a list or the names of an
 * object: `default = []` would otherwise allow no elements.
 */
function typeFrom(fallback: GivenValue | undefined): Type | undefined {
  if (fallback === undefined || fallback.value === null) return undefined
  const type = typeOf(fallback.value)
  if (type.kind === 'object') return ANY
  if (type.kind !== 'tuple') return type
  const element = unifyAll(type.elements)
  return element?.kind === 'string' ? listOf(STRING) : ANY
}
