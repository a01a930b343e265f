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
  OPEN_BODY,
  type BlockSchema,
  type BodySchema,
} from '@reeve/hcl'
import { describeFilePath, LABELLED_BLOCKS, type Option } from './option.ts'
import { optionEntries, type OptionName } from './options.ts'
import { fromDiagnostic, settingName, type ConfigProblem, type Origin } from './problem.ts'

export interface ConfigFile {
  /** Path for messages. */
  readonly path: string
  readonly source: string
}

/** The value of an option in one source, parsed by the kind of the option. */
export interface Setting extends DeclaredOption {
  readonly value: unknown
  readonly origin: Origin
}

export interface SourceSettings {
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
}

/** Reads the settings of a file and all problems in it. */
export function readSettings(file: ConfigFile): SourceSettings {
  const decoded = decodeFile(file)
  if (!decoded.ok) return { settings: [], problems: decoded.error.map(fromDiagnostic) }
  const reader: Reader = { settings: [], problems: [] }
  readBody(reader, decoded.value, { branch: fileTree, path: [] })
  // Sorted by position, because arguments are read before blocks.
  return { settings: reader.settings, problems: reader.problems.toSorted(compareOffset) }
}

function compareOffset({ origin: a }: ConfigProblem, { origin: b }: ConfigProblem): number {
  const offset = (origin: Origin): number =>
    origin.kind === 'file' ? origin.range.start.offset : 0
  return offset(a) - offset(b)
}

interface Reader {
  readonly settings: Setting[]
  readonly problems: ConfigProblem[]
}

interface SchemaPosition {
  readonly branch: SchemaNode
  readonly path: readonly string[]
}

function decodeFile(file: ConfigFile): Result<DecodedBody, readonly Diagnostic[]> {
  const body = parseFile(file)
  // The scope is empty: a configuration has no variables and functions.
  return body.ok ? decodeBody(body.value, fileSchema, { scope: createScope() }) : err(body.error)
}

function parseFile({ path, source }: ConfigFile): Result<Body, readonly Diagnostic[]> {
  // An HCL file cannot start with a brace, and a JSON object always does.
  const isJson = path.endsWith('.json') || (!path.endsWith('.hcl') && /^\uFEFF?\s*\{/.test(source))
  return isJson ? parseHclJson(source, path, { hasTemplates: false }) : parseHcl(source, path)
}

function readBody(reader: Reader, body: DecodedBody, place: SchemaPosition): void {
  for (const attribute of body.attributes.values()) readAttribute(reader, attribute, place)
  const seen = new Set<string>()
  for (const block of body.blocks) {
    const header = [block.type, ...block.labels].join(' ')
    if (seen.has(header)) {
      const message = `The block ${block.type} is already there. Put its settings into one block.`
      reportProblem(reader, block.headerSpan, message)
    }
    seen.add(header)
    readBlock(reader, block, place)
  }
}

function readAttribute(reader: Reader, attribute: DecodedAttribute, place: SchemaPosition): void {
  const declared = place.branch.options.get(attribute.name)
  if (declared === undefined)
    return reportUnknownName(reader, { name: attribute.name, span: attribute.nameSpan }, place)
  readValue(reader, declared, { value: attribute.value, span: attribute.expression.span })
}

function readBlock(reader: Reader, block: DecodedBlock, place: SchemaPosition): void {
  const { type, labels, body, headerSpan } = block
  const declared = place.branch.options.get(type)
  if (declared !== undefined) {
    const map = blockToMap(reader, body)
    const value =
      declared.option.kind.isLabelled === true ? makeObject([[labels[0] ?? '', map]]) : map
    return readValue(reader, declared, { value, span: headerSpan })
  }
  const child = place.branch.blocks.get(type)
  if (child === undefined) return reportUnknownName(reader, { name: type, span: headerSpan }, place)
  if (!LABELLED_BLOCKS.has(type))
    return readBody(reader, body, { branch: child, path: [...place.path, type] })
  const [label = ''] = labels
  const inner = child.blocks.get(label)
  const labelled = { branch: child, path: [...place.path, type] }
  if (inner === undefined)
    return reportUnknownName(reader, { name: label, span: headerSpan }, labelled)
  readBody(reader, body, { branch: inner, path: [...labelled.path, label] })
}

/** Converts `meta { rack = "a" }` to `meta = { rack = "a" }`. */
function blockToMap(reader: Reader, body: DecodedBody): Value {
  for (const { type, headerSpan } of body.blocks)
    reportProblem(reader, headerSpan, `${quoteText(type)} must be text, not a block.`)
  return makeObject([...body.attributes.values()].map(({ name, value }) => [name, value]))
}

function readValue(
  reader: Reader,
  { name, option }: DeclaredOption,
  attribute: { readonly value: Value; readonly span: Span },
): void {
  if (attribute.value === null) return
  const origin: Origin = { kind: 'file', range: rangeOf(attribute.span) }
  const read = option.kind.fromValue(attribute.value)
  if (read.ok) reader.settings.push({ name, option, value: read.value, origin })
  else
    reader.problems.push({
      origin,
      message: `${settingName(option, origin)} must be ${read.error}.`,
    })
}

function reportUnknownName(
  reader: Reader,
  { name, span }: { readonly name: string; readonly span: Span },
  { branch, path }: SchemaPosition,
): void {
  const where = path.length === 0 ? '' : ` in ${describeFilePath(path)}`
  const near = didYouMean(name, [...branch.options.keys(), ...branch.blocks.keys()])
  const hint = near === '' ? suggestBlock(name) : near
  reportProblem(reader, span, `There is no setting ${quoteText(name)}${where}.${hint}`)
}

/**
 * Suggests the right block for a misplaced setting, the most common mistake after a misspelling.
 */
function suggestBlock(name: string): string {
  const places = optionEntries.flatMap(([, { file }]) => (file?.at(-1) === name ? [file] : []))
  const [place, other] = places
  if (place === undefined || other !== undefined || place.length < 2) return ''
  return ` It belongs in the block ${describeFilePath(place.slice(0, -1))}.`
}

function reportProblem(reader: Reader, span: Span, message: string): void {
  reader.problems.push({ origin: { kind: 'file', range: rangeOf(span) }, message })
}

/** The options as a tree of blocks and arguments, as in a file. */
interface SchemaNode {
  readonly options: ReadonlyMap<string, DeclaredOption>
  /** Blocks by type, or by label in a labelled block. */
  readonly blocks: ReadonlyMap<string, SchemaNode>
}

export interface DeclaredOption {
  readonly name: OptionName
  readonly option: Option<unknown>
}

interface MutableSchemaNode extends SchemaNode {
  readonly options: Map<string, DeclaredOption>
  readonly blocks: Map<string, MutableSchemaNode>
}

const fileTree: SchemaNode = buildSchema()

function buildSchema(): SchemaNode {
  const root: MutableSchemaNode = { options: new Map(), blocks: new Map() }
  for (const [name, option] of optionEntries) {
    const last = option.file?.at(-1)
    if (option.file === undefined || last === undefined) continue
    let branch = root
    for (const step of option.file.slice(0, -1)) {
      const next: MutableSchemaNode = branch.blocks.get(step) ?? {
        options: new Map(),
        blocks: new Map(),
      }
      branch.blocks.set(step, next)
      branch = next
    }
    branch.options.set(last, { name, option })
  }
  return root
}

const fileSchema: BodySchema = toBodySchema(fileTree)

/**
 * Converts to a schema that accepts unknown names and any type, because these errors are found
 * while settings are read, so that all are reported together.
 */
function toBodySchema(branch: SchemaNode): BodySchema {
  const blocks: Record<string, BlockSchema> = {}
  for (const [type, child] of branch.blocks)
    blocks[type] = LABELLED_BLOCKS.has(type)
      ? { labels: ['name'], body: mergeBodySchemas([...child.blocks.values()]) }
      : { body: toBodySchema(child) }
  for (const [name, { option }] of branch.options)
    if (option.kind.isMap)
      blocks[name] = {
        body: OPEN_BODY,
        ...(option.kind.isLabelled === true ? { labels: ['name'] } : {}),
      }
  const names = [...branch.options.keys()]
  return { isOpen: true, blocks, attributes: Object.fromEntries(names.map((name) => [name, {}])) }
}

function mergeBodySchemas(branches: readonly SchemaNode[]): BodySchema {
  const schemas = branches.map(toBodySchema)
  return {
    isOpen: true,
    attributes: Object.assign({}, ...schemas.map(({ attributes }) => attributes)),
    blocks: Object.assign({}, ...schemas.map(({ blocks }) => blocks)),
  }
}
