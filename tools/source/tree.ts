import { parse, type ParserPlugin } from '@babel/parser'
import type { Repository } from './repository.ts'

/**
 * Source text as a syntax tree. The parser knows all of TypeScript, so that no tool has to guess
 * where a string, a template or a regular expression ends.
 */
export interface Source {
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  readonly program: SyntaxNode
  /**
   * The program and all nodes below it, outermost first. Collected once, because many rules read
   * them.
   */
  readonly nodes: readonly PlacedNode[]
  readonly comments: readonly Comment[]
}

/** A node with what is around it. */
export interface PlacedNode {
  readonly node: SyntaxNode
  readonly around: PlacedNode | undefined
}

export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly loc: {
    readonly start: { readonly line: number; readonly column: number }
    readonly end: { readonly line: number; readonly column: number }
  }
  readonly [field: string]: unknown
}

interface Comment extends SyntaxNode {
  /** The text between the comment marks. */
  readonly value: string
}

/** A file that is not the language it claims to be. */
class SyntaxFault extends Error {
  override readonly name = 'SyntaxFault'
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

/** Every source of the repository that parses, by path; the others are handed to `onFault`. */
export function readSources(
  repository: Repository,
  onFault: (path: string, fault: SyntaxFault) => void,
): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>()
  for (const path of repository.files.filter(isSource)) {
    try {
      sources.set(path, parseSource(path, repository.read(path)))
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error
      onFault(path, error)
    }
  }
  return sources
}

function isSource(path: string): boolean {
  return /\.(?:tsx?|[cm]js)$/.test(path)
}

function parseSource(path: string, text: string): Source {
  const file = parseFile(path, text)
  if (!isNode(file)) throw new SyntaxFault('the parser gave no tree', 1)
  const program = nodeAt(file, 'program')
  if (program === undefined) throw new SyntaxFault('the parser gave no program', 1)
  return {
    path,
    text,
    lines: text.split('\n'),
    program,
    nodes: placedNodes(program),
    comments: nodesAt(file, 'comments').filter(isComment),
  }
}

function parseFile(path: string, text: string): unknown {
  const plugins: ParserPlugin[] = [
    ...(/\.tsx?$/.test(path) ? ['typescript' as const] : []),
    ...(path.endsWith('.tsx') ? ['jsx' as const] : []),
  ]
  try {
    return parse(text, { sourceType: 'unambiguous', attachComment: false, plugins })
  } catch (error) {
    throw faultFrom(error)
  }
}

function faultFrom(error: unknown): SyntaxFault {
  if (!(error instanceof SyntaxError)) throw error
  const place: unknown = 'loc' in error ? error.loc : undefined
  return new SyntaxFault(error.message.split('\n')[0] ?? 'does not parse', lineIn(place) ?? 1)
}

function lineIn(place: unknown): number | undefined {
  if (typeof place !== 'object' || place === null || !('line' in place)) return undefined
  return typeof place.line === 'number' ? place.line : undefined
}

/** Fields that hold no part of the program, or hold it a second time. */
const NOT_SYNTAX = new Set(['loc', 'extra', 'comments', 'tokens', 'errors', 'range'])

function placedNodes(program: SyntaxNode): PlacedNode[] {
  const placed: PlacedNode[] = []
  const step = (node: SyntaxNode, around: PlacedNode | undefined): void => {
    const here = { node, around }
    placed.push(here)
    for (const field in node) {
      if (NOT_SYNTAX.has(field)) continue
      const value = node[field]
      if (isNode(value)) step(value, here)
      else if (Array.isArray(value)) for (const one of value) if (isNode(one)) step(one, here)
    }
  }
  step(program, undefined)
  return placed
}

export function nodeAt(node: SyntaxNode, field: string): SyntaxNode | undefined {
  const value = node[field]
  return isNode(value) ? value : undefined
}

export function nodesAt(node: SyntaxNode, field: string): SyntaxNode[] {
  const value: unknown = node[field]
  return Array.isArray(value) ? value.filter(isNode) : []
}

export function textAt(node: SyntaxNode | undefined, field: string): string | undefined {
  const value = node?.[field]
  return typeof value === 'string' ? value : undefined
}

export function lineOf(node: SyntaxNode): number {
  return node.loc.start.line
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'loc' in value
}

function isComment(node: SyntaxNode): node is Comment {
  return typeof node['value'] === 'string'
}
