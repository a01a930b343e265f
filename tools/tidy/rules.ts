import type { Areas } from '../source/areas.ts'
import type { Finding } from '../source/finding.ts'
import { isTest, isTestSupport, type Repository } from '../source/repository.ts'
import {
  lineOf,
  nodeAt,
  nodesAt,
  textAt,
  type PlacedNode,
  type Source,
  type SyntaxNode,
} from '../source/tree.ts'

/** Rules about forms of the language that the style guide forbids. */

export function* checkAny(source: Source): Iterable<Violation> {
  for (const { node } of nodesOf(source, ['TSAnyKeyword']))
    yield { line: lineOf(node), message: 'no any: use unknown and find out, or say the type' }
}

export function* checkAssertion(source: Source): Iterable<Violation> {
  for (const { node } of nodesOf(source, ['TSNonNullExpression']))
    yield {
      line: node.loc.end.line,
      message: 'no "!": handle the absence, or assert why it cannot be',
    }
  for (const { node } of nodesOf(source, ['VariableDeclarator', 'ClassProperty']))
    if (node['definite'] === true)
      yield { line: lineOf(node), message: 'no "!:": give it a value where it is declared' }
}

export function* checkCasts(source: Source): Iterable<Violation> {
  const explained = explainedLines(source)
  const reported = new Set<number>()
  for (const placed of nodesOf(source, ['TSAsExpression', 'TSTypeAssertion'])) {
    const { node } = placed
    const type = nodeAt(node, 'typeAnnotation')
    if (type === undefined || isConst(type)) continue
    const line = node.type === 'TSAsExpression' ? lineOf(type) : lineOf(node)
    const places = [line, lineOf(node), lineOf(statementAround(placed))]
    if (places.some((place) => explained.has(place)) || reported.has(line)) continue
    reported.add(line)
    yield { line, message: 'a cast needs its proof in a comment on the same or the previous line' }
  }
}

function isConst(type: SyntaxNode): boolean {
  return textAt(nodeAt(type, 'typeName'), 'name') === 'const'
}

/** The innermost statement, member or table row that holds the node. */
function statementAround({ node, around }: PlacedNode): SyntaxNode {
  let at = around
  while (at !== undefined && !/(?:Statement|Declaration|Property)$/.test(at.node.type))
    at = at.around
  return at?.node ?? node
}

/** Lines that carry a comment or follow one. Orders to a tool prove nothing. */
function explainedLines({ comments }: Source): ReadonlySet<number> {
  const lines = new Set<number>()
  for (const { value, loc } of comments) {
    if (/^\s*(?:oxlint|oxfmt|@ts)-/.test(value)) continue
    for (let line = loc.start.line; line <= loc.end.line + 1; line++) lines.add(line)
  }
  return lines
}

/** Configuration files are read by tools that ask for a default export. */
export function* checkDefaultExport(source: Source): Iterable<Violation> {
  if (/\.config\.(?:mjs|ts)$/.test(source.path)) return
  const message = 'no default export: a name that every importer shares can be searched for'
  for (const { node } of nodesOf(source, ['ExportDefaultDeclaration']))
    yield { line: lineOf(node), message }
  for (const { node } of nodesOf(source, ['ExportSpecifier']))
    if (textAt(nodeAt(node, 'exported'), 'name') === 'default')
      yield { line: lineOf(node), message }
}

/** Replacements for impure functions, which are banned in pure folders. */
const IMPURE = new Map([
  ['Date.now', 'take the time as an argument or from a Clock'],
  ['Math.random', 'draw from a Random that was handed in'],
  ['localeCompare', 'compare by code unit: the answer must not depend on the machine'],
])

export function* checkPurity(source: Source, areas: Areas): Iterable<Violation> {
  if (areas.areaOf(source.path)?.pure !== true) return
  for (const { node } of nodesOf(source, ['MemberExpression', 'OptionalMemberExpression'])) {
    const property = textAt(nodeAt(node, 'property'), 'name') ?? ''
    const name = `${textAt(nodeAt(node, 'object'), 'name') ?? ''}.${property}`
    const instead = IMPURE.get(name) ?? IMPURE.get(property)
    if (instead !== undefined)
      yield {
        line: node.loc.end.line,
        message: `no ${IMPURE.has(name) ? name : property}: ${instead}`,
      }
  }
  for (const { node } of nodesOf(source, ['NewExpression', 'CallExpression']))
    if (readsClock(node))
      yield { line: lineOf(node), message: `no current Date: ${IMPURE.get('Date.now') ?? ''}` }
}

/** `new Date()` and `Date()`; with arguments a Date is a conversion. */
function readsClock(node: SyntaxNode): boolean {
  const isDate = textAt(nodeAt(node, 'callee'), 'name') === 'Date'
  return isDate && (node.type === 'CallExpression' || nodesAt(node, 'arguments').length === 0)
}

const TEST_FUNCTIONS = new Set(['test', 'it', 'describe', 'suite', 't'])

/** Tests that silently do not run, or silently keep the others from running. */
export function* checkSkippedTests(source: Source): Iterable<Violation> {
  if (!isTest(source.path)) return
  const explained = explainedLines(source)
  for (const { node } of nodesOf(source, ['CallExpression'])) {
    const skip = skipOf(node)
    if (skip === undefined) continue
    const line = lineOf(node)
    if (skip.kind === 'only') yield { line, message: 'no "only": the other tests must run too' }
    else if (!skip.hasReason && !explained.has(line))
      yield { line, message: `"${skip.kind}" needs its reason, in the call or in a comment above` }
  }
}

interface Skip {
  readonly kind: string
  readonly hasReason: boolean
}

function skipOf(call: SyntaxNode): Skip | undefined {
  const callee = nodeAt(call, 'callee')
  if (callee === undefined) return undefined
  const [object, property] = [nodeAt(callee, 'object'), nodeAt(callee, 'property')]
  const name = textAt(object ?? callee, 'name') ?? ''
  if (!TEST_FUNCTIONS.has(name)) return undefined
  const kind = textAt(property, 'name')
  if (kind !== undefined && ['only', 'skip', 'todo'].includes(kind))
    return { kind, hasReason: name === 't' && nodesAt(call, 'arguments').length > 0 }
  return skipOption(call)
}

/** `test(name, { skip: true }, …)`; a text is a reason, `false` or a condition is not reported. */
function skipOption(call: SyntaxNode): Skip | undefined {
  const options = nodesAt(call, 'arguments').find(({ type }) => type === 'ObjectExpression')
  const rows = options === undefined ? [] : nodesAt(options, 'properties')
  for (const row of rows) {
    const kind = textAt(nodeAt(row, 'key'), 'name') ?? ''
    const value = nodeAt(row, 'value')
    const isSet = value?.type === 'BooleanLiteral' && value['value'] === true
    if (isSet && ['only', 'skip', 'todo'].includes(kind)) return { kind, hasReason: false }
  }
  return undefined
}

function nodesOf({ nodes }: Source, types: readonly string[]): PlacedNode[] {
  return nodes.filter(({ node }) => types.includes(node.type))
}

/** The budgets of the style guide, "Files, functions, comments". */
const COLUMNS_MAX = 100
const FILE_LINES_MAX = 500
const FUNCTION_LINES_MAX = 70
const PARAMETERS_MAX = 5

export function* checkLineLength(source: Source): Iterable<Violation> {
  const inTemplate = templateLines(source)
  const literals = literalColumns(source)
  for (const [index, text] of source.lines.entries()) {
    const columns = [...text].length
    // An address cannot be broken, and the lines of a template are its value.
    if (columns <= COLUMNS_MAX || text.includes('://') || inTemplate.has(index + 1)) continue
    // Nor should a text: people search for it as they saw it.
    if (columns - (literals.get(index + 1) ?? 0) <= COLUMNS_MAX) continue
    yield { line: index + 1, message: `${columns} columns, at most ${COLUMNS_MAX}` }
  }
}

/** The columns of the longest text on each line that begins and ends there. */
function literalColumns({ nodes }: Source): ReadonlyMap<number, number> {
  const columns = new Map<number, number>()
  for (const { node } of nodes) {
    const { start, end } = node.loc
    if (!/^(String|Template|RegExp)Literal$/.test(node.type) || start.line !== end.line) continue
    columns.set(start.line, Math.max(columns.get(start.line) ?? 0, end.column - start.column))
  }
  return columns
}

/** Lines that begin inside a template literal. */
function templateLines({ nodes }: Source): ReadonlySet<number> {
  const lines = new Set<number>()
  for (const { node } of nodes) {
    if (node.type !== 'TemplateElement') continue
    for (let line = node.loc.start.line + 1; line <= node.loc.end.line; line++) lines.add(line)
  }
  return lines
}

export function* checkFileLength({ lines }: Source): Iterable<Violation> {
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length
  if (count > FILE_LINES_MAX)
    yield { line: 1, message: `${count} lines, at most ${FILE_LINES_MAX}: split it by idea` }
}

export function* checkFunctionLength(source: Source): Iterable<Violation> {
  const { path } = source
  if (isTest(path) || isTestSupport(path) || path.startsWith('packages/contract/')) return
  for (const { node, name } of functionsOf(source)) {
    const count = node.loc.end.line - lineOf(node) + 1
    if (count <= FUNCTION_LINES_MAX || isTable(node)) continue
    yield {
      line: lineOf(node),
      message: `${name} has ${count} lines, at most ${FUNCTION_LINES_MAX}`,
    }
  }
}

/** A function that only returns one literal: a table that needs arguments. */
function isTable(node: SyntaxNode): boolean {
  const body = nodeAt(node, 'body')
  if (body === undefined || body.type !== 'BlockStatement') return isLiteral(body)
  const [first, second] = nodesAt(body, 'body')
  if (first?.type !== 'ReturnStatement' || second !== undefined) return false
  return isLiteral(nodeAt(first, 'argument'))
}

function isLiteral(node: SyntaxNode | undefined): boolean {
  if (node !== undefined && /^TS(?:As|Satisfies)Expression$/.test(node.type))
    return isLiteral(nodeAt(node, 'expression'))
  return node?.type === 'ObjectExpression' || node?.type === 'ArrayExpression'
}

export function* checkParameters(source: Source): Iterable<Violation> {
  for (const { node, name } of functionsOf(source)) {
    const parameters = nodesAt(node, 'params').length > 0 ? 'params' : 'parameters'
    const count = nodesAt(node, parameters).filter((one) => textAt(one, 'name') !== 'this').length
    if (count <= PARAMETERS_MAX) continue
    const message = `${name} takes ${count} parameters, at most ${PARAMETERS_MAX}`
    yield { line: lineOf(node), message: `${message}: use an options object` }
  }
}

const FUNCTION_TYPES = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
  'TSDeclareFunction',
  'TSDeclareMethod',
  'TSMethodSignature',
  'TSFunctionType',
  'TSConstructorType',
  'TSCallSignatureDeclaration',
  'TSConstructSignatureDeclaration',
])

interface NamedFunction {
  readonly node: SyntaxNode
  readonly name: string
}

/** Every function and every signature, with the name a reader knows it by. */
function functionsOf({ nodes }: Source): NamedFunction[] {
  return nodes
    .filter(({ node }) => FUNCTION_TYPES.has(node.type))
    .map((placed) => ({ node: placed.node, name: nameOf(placed) }))
}

function nameOf({ node, around }: PlacedNode): string {
  const parent = around?.node
  const own = nodeAt(node, 'id') ?? nodeAt(node, 'key')
  const given = parent === undefined ? undefined : (nodeAt(parent, 'id') ?? nodeAt(parent, 'key'))
  const label = [own, given].flatMap((one) => textAt(one, 'name') ?? [])[0]
  return label ?? 'a function without name'
}

/** Names of files and folders that say nothing, whatever is inside. */
const EMPTY_NAMES = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc'])

export function* checkName({ path }: Source): Iterable<Violation> {
  const word = pathWords(path).find((one) => EMPTY_NAMES.has(one))
  if (word !== undefined)
    yield { line: 1, message: `"${word}" says nothing: name the file after the idea it holds` }
}

const UNFINISHED = /\b(?:TODO|FIXME|XXX|HACK)\b(?!\s*\(?#\d+)/

export function* checkTodo({ comments }: Source): Iterable<Violation> {
  for (const { value, loc } of comments)
    for (const [index, text] of value.split('\n').entries())
      if (UNFINISHED.test(text))
        yield {
          line: loc.start.line + index,
          message: 'unfinished work needs an issue number: #12',
        }
}

/**
 * Names of other vendors' products: none may appear but where they are the subject, the specs have
 * names of their own. Spelled in halves, so that this file keeps its own rule.
 */
const VENDORS: readonly (readonly [head: string, tail: string, instead: string])[] = [
  ['hashi', 'corp', 'leave it out'],
  ['no', 'mad', 'say "workload API", or the spec\'s noun'],
  ['terra', 'form', 'say "governance API", or the spec\'s noun'],
  ['senti', 'nel', 'say "native policy language", or "marker" for a special value'],
  ['con', 'sul(?!t)', 'say "service discovery"'],
  ['va', 'ult', 'say "secrets provider"'],
  ['way', 'point', 'leave it out'],
]

/** The tables of these names, their tests, and pages about compatibility and migration. */
const ABOUT_VENDORS =
  /^packages\/reeve\/(?:src\/compat|test\/clients|test\/compat)\/|compatibility|other-products|\/migrate-|^docs\/reference\/api\//

/** Written by tools. */
const GENERATED: ReadonlySet<string> = new Set(['package-lock.json', 'openapi.json'])

const TEXT = /(?:\.(?:tsx?|[cm]?js|json|md|ya?ml|html|css|sh|c|h|hcl|rego)|^bin\/[^.]+)$/

export function checkVendorNames(repository: Repository): Finding[] {
  const texts = repository.files.filter(
    (path) => TEXT.test(path) && !GENERATED.has(path) && !ABOUT_VENDORS.test(path),
  )
  return texts.flatMap((path) => {
    const lines = repository.read(path).split('\n')
    return toFindings(path, 'vendor', [...vendorsIn([path], 0), ...vendorsIn(lines, 1)])
  })
}

/** `headerLine` 0 stands for the path itself, reported at line 1. */
function* vendorsIn(lines: readonly string[], firstLine: number): Iterable<Violation> {
  for (const [index, text] of lines.entries())
    for (const [head, tail, instead] of VENDORS) {
      const found = new RegExp(head + tail, 'i').exec(text)
      if (found === null) continue
      yield { line: Math.max(1, firstLine + index), message: `"${found[0]}": ${instead}` }
    }
}

/** A rule about one source file. */
export type FileRule = (source: Source, areas: Areas) => Iterable<Violation>

/** A finding without path and rule, which the caller adds. */
export interface Violation {
  readonly line: number
  readonly message: string
}

export function toFindings(path: string, rule: string, complaints: Iterable<Violation>): Finding[] {
  return Array.from(complaints, ({ line, message }) => ({ path, line, rule, message }))
}

/** Splits a path into words, for rules about names. */
export function pathWords(path: string): string[] {
  return path.split(/[/.-]/)
}
