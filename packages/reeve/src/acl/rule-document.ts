import { formatDiagnostic, parseHclJson, parseHcl1, type Body, type Expression } from '@reeve/hcl'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { ACL_RULES_COUNT_MAX, ACL_RULES_LENGTH_MAX, quoteClipped } from './limits.ts'

/** A rule whose values are not yet validated. */
export interface RawRule {
  /** Empty for a rule without one. */
  readonly label: string
  readonly policy: string
  readonly capabilities: readonly string[]
  /** Undefined without a `variables` block. */
  readonly variables: readonly RawRule[] | undefined
}

type RuleKind = keyof typeof KINDS

interface KindSpec {
  readonly isLabelled: boolean
  readonly fields: readonly Field[]
}
type Field = 'policy' | 'capabilities' | 'variables'

/** Blocks of a document and their allowed keys. */
const KINDS = {
  namespace: { isLabelled: true, fields: ['policy', 'capabilities', 'variables'] },
  node_pool: { isLabelled: true, fields: ['policy', 'capabilities'] },
  host_volume: { isLabelled: true, fields: ['policy', 'capabilities'] },
  node: { isLabelled: false, fields: ['policy'] },
  agent: { isLabelled: false, fields: ['policy'] },
  operator: { isLabelled: false, fields: ['policy', 'capabilities'] },
  quota: { isLabelled: false, fields: ['policy'] },
  plugin: { isLabelled: false, fields: ['policy'] },
} as const satisfies Record<string, KindSpec>

const PATH: KindSpec = { isLabelled: true, fields: ['capabilities'] }

export type RawRules = { readonly [K in RuleKind]: readonly RawRule[] }

/** Intermediate result of parsing. Only the first structural problem is kept. */
interface ParseState {
  readonly unknownKeys: Set<string>
  problem: string | undefined
  count: number
}

/**
 * Sorts the entries of a document into rules. The error text lists all unknown and duplicate keys.
 */
export function classifyRules(document: RuleEntries): Result<RawRules, string> {
  const state: ParseState = { unknownKeys: new Set(), problem: undefined, count: 0 }
  const rules: Record<RuleKind, RawRule[]> = {
    namespace: [],
    node_pool: [],
    host_volume: [],
    node: [],
    agent: [],
    operator: [],
    quota: [],
    plugin: [],
  }
  for (const entry of document) {
    if (!isKind(entry.name)) state.unknownKeys.add(entry.name)
    else rules[entry.name].push(...readRules(state, entry, KINDS[entry.name]))
  }
  for (const [kind, { isLabelled }] of Object.entries(KINDS))
    if (!isLabelled && isKind(kind) && rules[kind].length > 1) state.unknownKeys.add(kind)
  if (state.problem !== undefined) return err(`Failed to parse ACL Policy: ${state.problem}`)
  if (state.unknownKeys.size > 0)
    return err(
      `Invalid or duplicate policy keys: ${[...state.unknownKeys].map(quoteUnusualKey).join(', ')}`,
    )
  return ok(rules)
}

function isKind(name: string): name is RuleKind {
  return Object.hasOwn(KINDS, name)
}

/** Quotes keys that are not identifiers. */
function quoteUnusualKey(key: string): string {
  return /^[\w.-]{1,64}$/.test(key) ? key : quoteClipped(key)
}

function readRules(reading: ParseState, entry: RuleEntry, spec: KindSpec): readonly RawRule[] {
  const bodies = spec.isLabelled
    ? labelledBodies(reading, entry)
    : unlabelledBodies(reading, entry).map((entries) => ({ label: '', entries }))
  reading.count += bodies.length
  if (reading.count > ACL_RULES_COUNT_MAX) {
    reading.problem ??= `a policy may have at most ${ACL_RULES_COUNT_MAX} rules and paths`
    return []
  }
  return bodies.map((body) => readFields(reading, body, spec.fields))
}

interface LabelledBody {
  readonly label: string
  readonly entries: RuleEntries
}

/** Parses `namespace "a" {…}` or its JSON forms: an object of labels, or a list of such objects. */
function labelledBodies(reading: ParseState, { name, labels, value }: RuleEntry): LabelledBody[] {
  if (labels !== undefined) {
    if (labels.length > 1) reading.problem ??= `${name} takes one label`
    return value.kind === 'map' ? [{ label: labels[0] ?? '', entries: value.entries }] : []
  }
  const bodies: LabelledBody[] = []
  for (const entries of blockBodies(value) ?? recordProblem(reading, `${name} must be a block`))
    for (const inner of entries) {
      const maps = inner.labels === undefined ? blockBodies(inner.value) : undefined
      // The entries are fields of a rule, so the label is missing.
      if (maps === undefined) return [{ label: '', entries: [] }]
      bodies.push(...maps.map((map) => ({ label: inner.name, entries: map })))
    }
  return bodies
}

function unlabelledBodies(
  reading: ParseState,
  { name, labels, value }: RuleEntry,
): readonly RuleEntries[] {
  if (labels !== undefined && labels.length > 0) reading.problem ??= `${name} takes no label`
  return blockBodies(value) ?? recordProblem(reading, `${name} must be a block`)
}

/** Returns the objects of a value that represents blocks; undefined if it represents none. */
function blockBodies(value: RuleValue): readonly RuleEntries[] | undefined {
  if (value.kind === 'map') return [value.entries]
  if (value.kind !== 'list') return undefined
  const maps = value.items.flatMap((item) => (item.kind === 'map' ? [item.entries] : []))
  return maps.length === value.items.length ? maps : undefined
}

function readFields(
  reading: ParseState,
  { label, entries }: LabelledBody,
  fields: readonly Field[],
): RawRule {
  const found = new Map<string, RuleEntry>()
  for (const entry of entries) {
    const isKnown = fields.some((field) => field === entry.name)
    if (!isKnown || found.has(entry.name)) reading.unknownKeys.add(entry.name)
    found.set(entry.name, entry)
  }
  return {
    label,
    policy: readString(reading, found.get('policy')),
    capabilities: readStrings(reading, found.get('capabilities')),
    variables: fields.includes('variables')
      ? readVariables(reading, found.get('variables'))
      : undefined,
  }
}

function readString(reading: ParseState, entry: RuleEntry | undefined): string {
  if (entry === undefined) return ''
  if (entry.value.kind === 'text') return entry.value.text
  reading.problem ??= `${entry.name} must be a string`
  return ''
}

function readStrings(reading: ParseState, entry: RuleEntry | undefined): readonly string[] {
  if (entry === undefined) return []
  const items = entry.value.kind === 'list' ? entry.value.items : []
  const texts = items.flatMap((item) => (item.kind === 'text' ? [item.text] : []))
  if (entry.value.kind !== 'list' || texts.length < items.length)
    return recordProblem(reading, `${entry.name} must be a list of strings`)
  return texts
}

/** Parses `variables { path "a/*" {…} }`. */
function readVariables(
  reading: ParseState,
  entry: RuleEntry | undefined,
): readonly RawRule[] | undefined {
  if (entry === undefined) return undefined
  const bodies = unlabelledBodies(reading, entry)
  if (bodies.length > 1) reading.unknownKeys.add(entry.name)
  return bodies.flat().flatMap((inner) => {
    if (inner.name === 'path') return readRules(reading, inner, PATH)
    reading.unknownKeys.add(inner.name)
    return []
  })
}

function recordProblem(reading: ParseState, problem: string): [] {
  reading.problem ??= problem
  return []
}

/** One `name … value` of a document in either syntax. Entries are in source order. */
interface RuleEntry {
  readonly name: string
  /** Labels of a block; undefined for `name = value` and for a JSON property. */
  readonly labels: readonly string[] | undefined
  readonly value: RuleValue
}

type RuleEntries = readonly RuleEntry[]

type RuleValue =
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
