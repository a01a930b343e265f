import type { ParserOptions } from 'prettier'
import { parsers } from 'prettier/plugins/babel'
import type { Repository } from './repository.ts'

/**
 * Source text as a syntax tree. The parser is the one inside the pinned formatter: it knows all of
 * TypeScript, so that no tool has to guess where a string, a template or a regular expression ends.
 */
export interface Source {
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  readonly program: SyntaxNode
  readonly comments: readonly Comment[]
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
export async function readSources(
  repository: Repository,
  onFault: (path: string, fault: SyntaxFault) => void,
): Promise<ReadonlyMap<string, Source>> {
  const sources = new Map<string, Source>()
  for (const path of repository.files.filter(isSource)) {
    try {
      sources.set(path, await parseSource(path, repository.read(path)))
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error
      onFault(path, error)
    }
  }
  return sources
}

function isSource(path: string): boolean {
  return /\.(?:tsx?|[cm]js)$/.test(path) || /^bin\/[^./]+$/.test(path)
}

async function parseSource(path: string, text: string): Promise<Source> {
  const parser = /\.tsx?$/.test(path) ? parsers['babel-ts'] : parsers.babel
  // Parsing reads only the path of the many printing options.
  const options = { filepath: path } as ParserOptions
  let file: unknown
  try {
    file = await parser.parse(text, options)
  } catch (error) {
    throw faultFrom(error)
  }
  if (!isNode(file)) throw new SyntaxFault('the parser gave no tree', 1)
  const program = nodeAt(file, 'program')
  if (program === undefined) throw new SyntaxFault('the parser gave no program', 1)
  return {
    path,
    text,
    lines: text.split('\n'),
    program,
    comments: nodesAt(file, 'comments').filter(isComment),
  }
}

function faultFrom(error: unknown): SyntaxFault {
  if (!(error instanceof SyntaxError)) throw error
  const place: unknown = 'loc' in error ? error.loc : undefined
  return new SyntaxFault(error.message.split('\n')[0] ?? 'does not parse', startLine(place) ?? 1)
}

function startLine(place: unknown): number | undefined {
  if (typeof place !== 'object' || place === null || !('start' in place)) return undefined
  const { start } = place
  if (typeof start !== 'object' || start === null || !('line' in start)) return undefined
  return typeof start.line === 'number' ? start.line : undefined
}

/** Calls `visit` for the node and all below it, outermost first, with the nodes around it. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
): void {
  const ancestors: SyntaxNode[] = []
  const step = (at: SyntaxNode) => {
    visit(at, ancestors)
    ancestors.push(at)
    for (const child of childrenOf(at)) step(child)
    ancestors.pop()
  }
  step(node)
}

/** Fields that hold no part of the program, or hold it a second time. */
const NOT_SYNTAX = new Set(['loc', 'extra', 'comments', 'tokens', 'errors', 'range'])

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  return Object.keys(node)
    .filter((field) => !NOT_SYNTAX.has(field))
    .flatMap((field) => {
      const value = node[field]
      return isNode(value) ? [value] : nodesAt(node, field)
    })
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
