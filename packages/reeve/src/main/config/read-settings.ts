import { err, type Result } from '@reeve/kit/result.ts'
import {
  decodeBody,
  didYouMean,
  makeObject,
  createScope,
  parseHcl,
  parseHclJson,
  quoteText,
  rangeOf,
  type Body,
  type DecodedAttribute,
  type DecodedBlock,
  type DecodedBody,
  type Diagnostic,
  type Span,
  type Value,
} from '@reeve/hcl'
import { fileSchema, fileTree, type Branch, type DeclaredOption } from './file-tree.ts'
import { describeFilePath, LABELLED_BLOCKS } from './option.ts'
import { optionEntries } from './options.ts'
import { fromDiagnostic, subjectOf, type ConfigProblem, type Origin } from './problem.ts'

export interface ConfigFile {
  /** As messages name it. */
  readonly path: string
  readonly text: string
}

/** One source's word on one option; the value is of the option's kind. */
export interface Setting extends DeclaredOption {
  readonly value: unknown
  readonly origin: Origin
}

export interface Reading {
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
}

/** What one file says, with everything that is wrong in it. */
export function readSettings(file: ConfigFile): Reading {
  const decoded = decodeFile(file)
  if (!decoded.ok) return { settings: [], problems: decoded.error.map(fromDiagnostic) }
  const reader: Reader = { settings: [], problems: [] }
  readBody(reader, decoded.value, { branch: fileTree, path: [] })
  // Arguments are read before blocks; a person reads from top to bottom.
  return { settings: reader.settings, problems: reader.problems.toSorted(byPlace) }
}

function byPlace({ origin: a }: ConfigProblem, { origin: b }: ConfigProblem): number {
  const offset = (origin: Origin): number =>
    origin.kind === 'file' ? origin.range.start.offset : 0
  return offset(a) - offset(b)
}

interface Reader {
  readonly settings: Setting[]
  readonly problems: ConfigProblem[]
}

interface Place {
  readonly branch: Branch
  readonly path: readonly string[]
}

function decodeFile(file: ConfigFile): Result<DecodedBody, readonly Diagnostic[]> {
  const body = parseFile(file)
  // There is nothing to refer to in a configuration: no variables, no functions.
  return body.ok ? decodeBody(body.value, fileSchema, { scope: createScope() }) : err(body.error)
}

function parseFile({ path, text }: ConfigFile): Result<Body, readonly Diagnostic[]> {
  // An HCL file cannot begin with a brace, and a JSON object must.
  const isJson = path.endsWith('.json') || (!path.endsWith('.hcl') && /^\uFEFF?\s*\{/.test(text))
  return isJson ? parseHclJson(text, path, { hasTemplates: false }) : parseHcl(text, path)
}

function readBody(reader: Reader, body: DecodedBody, place: Place): void {
  for (const attribute of body.attributes.values()) readAttribute(reader, attribute, place)
  const seen = new Set<string>()
  for (const block of body.blocks) {
    const header = [block.type, ...block.labels].join(' ')
    if (seen.has(header)) {
      const message = `The block ${block.type} is already there. Put its settings into one block.`
      refuse(reader, block.headerSpan, message)
    }
    seen.add(header)
    readBlock(reader, block, place)
  }
}

function readAttribute(reader: Reader, attribute: DecodedAttribute, place: Place): void {
  const declared = place.branch.options.get(attribute.name)
  if (declared === undefined)
    return refuseName(reader, { name: attribute.name, span: attribute.nameSpan }, place)
  take(reader, declared, { value: attribute.value, span: attribute.expression.span })
}

function readBlock(reader: Reader, block: DecodedBlock, place: Place): void {
  const { type, labels, body, headerSpan } = block
  const declared = place.branch.options.get(type)
  if (declared !== undefined) {
    const map = mapOfBlock(reader, body)
    const value =
      declared.option.kind.isLabelled === true ? makeObject([[labels[0] ?? '', map]]) : map
    return take(reader, declared, { value, span: headerSpan })
  }
  const child = place.branch.blocks.get(type)
  if (child === undefined) return refuseName(reader, { name: type, span: headerSpan }, place)
  if (!LABELLED_BLOCKS.has(type))
    return readBody(reader, body, { branch: child, path: [...place.path, type] })
  const [label = ''] = labels
  const inner = child.blocks.get(label)
  const labelled = { branch: child, path: [...place.path, type] }
  if (inner === undefined) return refuseName(reader, { name: label, span: headerSpan }, labelled)
  readBody(reader, body, { branch: inner, path: [...labelled.path, label] })
}

/** `meta { rack = "a" }` means `meta = { rack = "a" }`. */
function mapOfBlock(reader: Reader, body: DecodedBody): Value {
  for (const { type, headerSpan } of body.blocks)
    refuse(reader, headerSpan, `${quoteText(type)} must be text, not a block.`)
  return makeObject([...body.attributes.values()].map(({ name, value }) => [name, value]))
}

function take(
  reader: Reader,
  { name, option }: DeclaredOption,
  given: { readonly value: Value; readonly span: Span },
): void {
  if (given.value === null) return
  const origin: Origin = { kind: 'file', range: rangeOf(given.span) }
  const read = option.kind.fromValue(given.value)
  if (read.ok) reader.settings.push({ name, option, value: read.value, origin })
  else
    reader.problems.push({ origin, message: `${subjectOf(option, origin)} must be ${read.error}.` })
}

function refuseName(
  reader: Reader,
  { name, span }: { readonly name: string; readonly span: Span },
  { branch, path }: Place,
): void {
  const where = path.length === 0 ? '' : ` in ${describeFilePath(path)}`
  const near = didYouMean(name, [...branch.options.keys(), ...branch.blocks.keys()])
  const hint = near === '' ? belongsElsewhere(name) : near
  refuse(reader, span, `There is no setting ${quoteText(name)}${where}.${hint}`)
}

/** A setting in the wrong block is the second most common mistake after a misspelt one. */
function belongsElsewhere(name: string): string {
  const places = optionEntries.flatMap(([, { file }]) => (file?.at(-1) === name ? [file] : []))
  const [place, other] = places
  if (place === undefined || other !== undefined || place.length < 2) return ''
  return ` It belongs in the block ${describeFilePath(place.slice(0, -1))}.`
}

function refuse(reader: Reader, span: Span, message: string): void {
  reader.problems.push({ origin: { kind: 'file', range: rangeOf(span) }, message })
}
