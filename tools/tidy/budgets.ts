import { isTest, isTestSupport } from '../source/place.ts'
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
