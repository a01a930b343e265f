import type { Areas } from '../source/areas.ts'
import { isTest } from '../source/place.ts'
import {
  lineOf,
  nodeAt,
  nodesAt,
  textAt,
  type PlacedNode,
  type Source,
  type SyntaxNode,
} from '../source/tree.ts'
import type { Violation } from './file.ts'

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
