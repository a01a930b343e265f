import { err, ok, type Result } from '@reeve/kit/result.ts'
import { ACL_RULES_COUNT_MAX } from './limits.ts'
import type { RuleEntry, RuleMap, RuleValue } from './rule-text.ts'
import { shown } from './shown.ts'

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
interface Reading {
  readonly strangers: Set<string>
  problem: string | undefined
  count: number
}

/**
 * Sorts the entries of a document into rules. The error text lists all unknown and duplicate keys.
 */
export function sortRules(document: RuleMap): Result<RawRules, string> {
  const reading: Reading = { strangers: new Set(), problem: undefined, count: 0 }
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
    if (!isKind(entry.name)) reading.strangers.add(entry.name)
    else rules[entry.name].push(...readRules(reading, entry, KINDS[entry.name]))
  }
  for (const [kind, { isLabelled }] of Object.entries(KINDS))
    if (!isLabelled && isKind(kind) && rules[kind].length > 1) reading.strangers.add(kind)
  if (reading.problem !== undefined) return err(`Failed to parse ACL Policy: ${reading.problem}`)
  if (reading.strangers.size > 0)
    return err(
      `Invalid or duplicate policy keys: ${[...reading.strangers].map(shownKey).join(', ')}`,
    )
  return ok(rules)
}

function isKind(name: string): name is RuleKind {
  return Object.hasOwn(KINDS, name)
}

/** Quotes keys that are not identifiers. */
function shownKey(key: string): string {
  return /^[\w.-]{1,64}$/.test(key) ? key : shown(key)
}

function readRules(reading: Reading, entry: RuleEntry, spec: KindSpec): readonly RawRule[] {
  const bodies = spec.isLabelled
    ? labelledBodies(reading, entry)
    : bareBodies(reading, entry).map((entries) => ({ label: '', entries }))
  reading.count += bodies.length
  if (reading.count > ACL_RULES_COUNT_MAX) {
    reading.problem ??= `a policy may have at most ${ACL_RULES_COUNT_MAX} rules and paths`
    return []
  }
  return bodies.map((body) => readFields(reading, body, spec.fields))
}

interface LabelledBody {
  readonly label: string
  readonly entries: RuleMap
}

/** Parses `namespace "a" {…}` or its JSON forms: an object of labels, or a list of such objects. */
function labelledBodies(reading: Reading, { name, labels, value }: RuleEntry): LabelledBody[] {
  if (labels !== undefined) {
    if (labels.length > 1) reading.problem ??= `${name} takes one label`
    return value.kind === 'map' ? [{ label: labels[0] ?? '', entries: value.entries }] : []
  }
  const bodies: LabelledBody[] = []
  for (const entries of mapsIn(value) ?? refuse(reading, `${name} must be a block`))
    for (const inner of entries) {
      const maps = inner.labels === undefined ? mapsIn(inner.value) : undefined
      // Fields of a rule in place of labels: the label is missing.
      if (maps === undefined) return [{ label: '', entries: [] }]
      bodies.push(...maps.map((map) => ({ label: inner.name, entries: map })))
    }
  return bodies
}

function bareBodies(reading: Reading, { name, labels, value }: RuleEntry): readonly RuleMap[] {
  if (labels !== undefined && labels.length > 0) reading.problem ??= `${name} takes no label`
  return mapsIn(value) ?? refuse(reading, `${name} must be a block`)
}

/** Returns the objects of a value that represents blocks; undefined if it represents none. */
function mapsIn(value: RuleValue): readonly RuleMap[] | undefined {
  if (value.kind === 'map') return [value.entries]
  if (value.kind !== 'list') return undefined
  const maps = value.items.flatMap((item) => (item.kind === 'map' ? [item.entries] : []))
  return maps.length === value.items.length ? maps : undefined
}

function readFields(
  reading: Reading,
  { label, entries }: LabelledBody,
  fields: readonly Field[],
): RawRule {
  const found = new Map<string, RuleEntry>()
  for (const entry of entries) {
    const isKnown = fields.some((field) => field === entry.name)
    if (!isKnown || found.has(entry.name)) reading.strangers.add(entry.name)
    found.set(entry.name, entry)
  }
  return {
    label,
    policy: readText(reading, found.get('policy')),
    capabilities: readTexts(reading, found.get('capabilities')),
    variables: fields.includes('variables')
      ? readVariables(reading, found.get('variables'))
      : undefined,
  }
}

function readText(reading: Reading, entry: RuleEntry | undefined): string {
  if (entry === undefined) return ''
  if (entry.value.kind === 'text') return entry.value.text
  reading.problem ??= `${entry.name} must be a string`
  return ''
}

function readTexts(reading: Reading, entry: RuleEntry | undefined): readonly string[] {
  if (entry === undefined) return []
  const items = entry.value.kind === 'list' ? entry.value.items : []
  const texts = items.flatMap((item) => (item.kind === 'text' ? [item.text] : []))
  if (entry.value.kind !== 'list' || texts.length < items.length)
    return refuse(reading, `${entry.name} must be a list of strings`)
  return texts
}

/** Parses `variables { path "a/*" {…} }`. */
function readVariables(
  reading: Reading,
  entry: RuleEntry | undefined,
): readonly RawRule[] | undefined {
  if (entry === undefined) return undefined
  const bodies = bareBodies(reading, entry)
  if (bodies.length > 1) reading.strangers.add(entry.name)
  return bodies.flat().flatMap((inner) => {
    if (inner.name === 'path') return readRules(reading, inner, PATH)
    reading.strangers.add(inner.name)
    return []
  })
}

function refuse(reading: Reading, problem: string): [] {
  reading.problem ??= problem
  return []
}
