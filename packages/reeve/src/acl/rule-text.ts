import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatDiagnostic, parseHclJson, parseHcl1, type Body, type Expression } from '@reeve/hcl'
import { ACL_RULES_LENGTH_MAX } from './limits.ts'

/** One `name … value` of a document in either syntax. Entries are in source order. */
export interface RuleEntry {
  readonly name: string
  /** Labels of a block; undefined for `name = value` and for a JSON property. */
  readonly labels: readonly string[] | undefined
  readonly value: RuleValue
}

export type RuleEntries = readonly RuleEntry[]

export type RuleValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly RuleValue[] }
  | { readonly kind: 'map'; readonly entries: RuleEntries }
  /** A number, a boolean or null, which no rule accepts. */
  | { readonly kind: 'other' }

/** Parses HCL 1 or JSON, chosen by the first character. */
export function parseRuleDocument(text: string): Result<RuleEntries, string> {
  if (text.length > ACL_RULES_LENGTH_MAX)
    return err(`the text is longer than ${ACL_RULES_LENGTH_MAX} characters`)
  const isJson = text.trimStart().startsWith('{')
  const body = isJson
    ? parseHclJson(text, 'rules', { hasTemplates: false })
    : parseHcl1(text, 'rules')
  if (body.ok) return ok(entriesOf(body.value))
  const [first] = body.error
  return err(first === undefined ? 'the text cannot be read' : formatDiagnostic(first))
}

function entriesOf(body: Body): RuleEntries {
  const attributes = body.attributes.map(({ name, expression, span }) => ({
    start: span.start,
    entry: { name, labels: undefined, value: ruleValueOf(expression) },
  }))
  const blocks = body.blocks.map((block) => ({
    start: block.headerSpan.start,
    entry: {
      name: block.type,
      labels: block.labels.map((label) => label.text),
      value: { kind: 'map', entries: entriesOf(block.body) } as const,
    },
  }))
  return [...attributes, ...blocks].toSorted((a, b) => a.start - b.start).map(({ entry }) => entry)
}

/**
 * Neither syntax has expressions: a value is a literal, a list or an object. The parser limits
 * nesting.
 */
function ruleValueOf(expression: Expression): RuleValue {
  switch (expression.kind) {
    case 'literal':
      return typeof expression.value === 'string'
        ? { kind: 'text', text: expression.value }
        : { kind: 'other' }
    case 'tuple':
      return { kind: 'list', items: expression.elements.map(ruleValueOf) }
    case 'object':
      return {
        kind: 'map',
        entries: expression.items.map(({ name, value }) => ({
          name: name ?? '',
          labels: undefined,
          value: ruleValueOf(value),
        })),
      }
    default:
      return { kind: 'other' }
  }
}
