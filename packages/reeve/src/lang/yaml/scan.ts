import { scanBlockScalar } from './block-scalar.ts'
import { IMPLICIT_KEY_LENGTH_MAX, YAML_DEPTH_MAX, YAML_TOKENS_MAX } from './limits.ts'
import { scanDoubleQuoted, scanSingleQuoted } from './quoted-scalar.ts'
import { canStartPlain, scanPlain } from './plain-scalar.ts'
import {
  columnOf,
  fail,
  isBreakOrBlank,
  isDocumentMark,
  passLineEnd,
  peek,
  skipBlanks,
  type Reader,
} from './reader.ts'
import { makeTags, readDirective, scanTag, type Tags } from './tag.ts'
import type { MarkKind, Token } from './token.ts'

/**
 * Cuts the text into tokens. Indentation becomes start and end tokens, and a scalar before a `:`
 * gets its `key` token after the fact, when the colon is met.
 */
export function scan(text: string): Scanner {
  const scanner: Scanner = {
    text,
    at: 0,
    line: 0,
    lineStart: 0,
    problem: undefined,
    tokens: [],
    indent: -1,
    indents: [],
    flows: [],
    keys: [undefined],
    mayBeKey: true,
    jsonLikeEnd: -1,
    tags: makeTags(),
  }
  while (scanner.problem === undefined && scanner.tokens.at(-1)?.kind !== 'end') {
    scanToken(scanner)
    if (scanner.tokens.length > YAML_TOKENS_MAX)
      fail(scanner, `there are more than ${YAML_TOKENS_MAX} tokens`)
  }
  return scanner
}

export interface Scanner extends Reader {
  readonly tokens: Token[]
  /** Column of the innermost block collection, and those around it. */
  indent: number
  readonly indents: number[]
  /** The flow collections that are open. */
  readonly flows: ('sequence' | 'mapping')[]
  /** What may turn out to be a key, one place for each open flow collection and one outside. */
  readonly keys: (PossibleKey | undefined)[]
  /** Whether a key without `?` may start here. */
  mayBeKey: boolean
  /** Where a quoted scalar or flow collection ended: a `:` right after it needs no blank. */
  jsonLikeEnd: number
  readonly tags: Tags
}

interface PossibleKey {
  /** Index of the token that would follow the `key` token. */
  readonly tokenIndex: number
  readonly at: number
  readonly line: number
  readonly column: number
  /** At the start of a block line nothing but a key can stand there. */
  readonly isRequired: boolean
}

function scanToken(scanner: Scanner): void {
  skipToToken(scanner)
  dropStaleKey(scanner)
  unrollIndent(scanner, columnOf(scanner))
  if (scanner.problem !== undefined) return
  const character = peek(scanner)
  if (character === '') return scanEnd(scanner)
  if (columnOf(scanner) === 0 && character === '%') return scanDirective(scanner)
  if (isDocumentMark(scanner)) return scanDocumentMark(scanner)
  const scanIndicator = INDICATORS.get(character)
  if (scanIndicator?.(scanner) === true) return
  if (!canStartPlain(scanner, scanner.flows.length > 0)) {
    fail(scanner, `${JSON.stringify(character)} cannot start a value; write it in quotes`)
    return
  }
  scanScalar(scanner, scanPlain)
}

/** Passes blanks, comments and line ends. */
function skipToToken(scanner: Scanner): void {
  const isFlow = scanner.flows.length > 0
  for (;;) {
    // A tab after a token only separates; at the start of a line it would be indentation.
    const start = scanner.at
    skipBlanks(scanner)
    const hasTab = scanner.text.slice(start, scanner.at).includes('\t')
    if (peek(scanner) === '#' && (columnOf(scanner) === 0 || isBreakOrBlank(peek(scanner, -1))))
      while (peek(scanner) !== '\n' && peek(scanner) !== '') scanner.at++
    if (peek(scanner) !== '\n') {
      if (hasTab && !isFlow && start === scanner.lineStart && peek(scanner) !== '')
        fail(scanner, 'a tab cannot indent; use blanks', start)
      return
    }
    passLineEnd(scanner)
    if (!isFlow) scanner.mayBeKey = true
  }
}

type IndicatorScan = (scanner: Scanner) => boolean

/** What the characters with a meaning do; false when here they start a plain scalar after all. */
const INDICATORS: ReadonlyMap<string, IndicatorScan> = new Map<string, IndicatorScan>([
  ['[', (scanner) => openFlow(scanner, 'sequence')],
  ['{', (scanner) => openFlow(scanner, 'mapping')],
  [']', (scanner) => closeFlow(scanner, 'sequence')],
  ['}', (scanner) => closeFlow(scanner, 'mapping')],
  [',', scanFlowEntry],
  ['-', scanBlockEntry],
  ['?', scanExplicitKey],
  [':', scanValue],
  ['*', (scanner) => scanName(scanner, 'alias')],
  ['&', (scanner) => scanName(scanner, 'anchor')],
  ['!', (scanner) => scanTagToken(scanner)],
  ['|', (scanner) => scanBlock(scanner)],
  ['>', (scanner) => scanBlock(scanner)],
  ["'", (scanner) => scanScalar(scanner, scanSingleQuoted)],
  ['"', (scanner) => scanScalar(scanner, scanDoubleQuoted)],
])

function push(scanner: Scanner, kind: MarkKind, length = 0): true {
  scanner.tokens.push({ kind, at: scanner.at })
  scanner.at += length
  return true
}

function scanEnd(scanner: Scanner): void {
  if (scanner.flows.length > 0) {
    fail(scanner, `a ${scanner.flows.at(-1)} is not closed before the end of the text`)
    return
  }
  leaveBlocks(scanner)
  push(scanner, 'end')
}

/** Between documents no block is open and nothing can be a key. */
function leaveBlocks(scanner: Scanner): void {
  forgetKey(scanner)
  unrollIndent(scanner, -1)
  scanner.mayBeKey = false
}

function scanDirective(scanner: Scanner): void {
  leaveBlocks(scanner)
  readDirective(scanner, scanner.tags)
}

function scanDocumentMark(scanner: Scanner): void {
  if (scanner.flows.length > 0) {
    fail(scanner, `a ${scanner.flows.at(-1)} is not closed before the end of the document`)
    return
  }
  leaveBlocks(scanner)
  push(scanner, peek(scanner) === '-' ? 'document-start' : 'document-end', 3)
}

function openFlow(scanner: Scanner, kind: 'sequence' | 'mapping'): boolean {
  if (scanner.flows.length >= YAML_DEPTH_MAX)
    fail(scanner, `values are nested more than ${YAML_DEPTH_MAX} levels deep`)
  noteKey(scanner)
  scanner.flows.push(kind)
  scanner.keys.push(undefined)
  scanner.mayBeKey = true
  return push(scanner, `flow-${kind}-start`, 1)
}

function closeFlow(scanner: Scanner, kind: 'sequence' | 'mapping'): boolean {
  if (scanner.flows.at(-1) !== kind) {
    fail(scanner, `${JSON.stringify(peek(scanner))} closes nothing that was opened`)
    return true
  }
  forgetKey(scanner)
  scanner.flows.pop()
  scanner.keys.pop()
  scanner.mayBeKey = false
  push(scanner, `flow-${kind}-end`, 1)
  scanner.jsonLikeEnd = scanner.at
  return true
}

function scanFlowEntry(scanner: Scanner): boolean {
  if (scanner.flows.length === 0) return false
  forgetKey(scanner)
  scanner.mayBeKey = true
  return push(scanner, 'flow-entry', 1)
}

function scanBlockEntry(scanner: Scanner): boolean {
  if (!isBreakOrBlank(peek(scanner, 1))) return false
  if (scanner.flows.length > 0)
    fail(scanner, 'an element of a block sequence cannot stand inside [ ] or { }')
  else if (!scanner.mayBeKey) fail(scanner, 'an element of a block sequence must start its line')
  rollIndent(scanner, { column: columnOf(scanner), kind: 'block-sequence-start' })
  forgetKey(scanner)
  scanner.mayBeKey = true
  return push(scanner, 'block-entry', 1)
}

function scanExplicitKey(scanner: Scanner): boolean {
  if (!isBreakOrBlank(peek(scanner, 1))) return false
  const isFlow = scanner.flows.length > 0
  if (!isFlow) {
    if (!scanner.mayBeKey) fail(scanner, 'a key with "?" must start its line')
    rollIndent(scanner, { column: columnOf(scanner), kind: 'block-mapping-start' })
  }
  forgetKey(scanner)
  scanner.mayBeKey = !isFlow
  return push(scanner, 'key', 1)
}

function scanValue(scanner: Scanner): boolean {
  const isFlow = scanner.flows.length > 0
  const next = peek(scanner, 1)
  const isApart = isBreakOrBlank(next) || (isFlow && ',[]{}'.includes(next))
  if (!isApart && !(isFlow && scanner.at === scanner.jsonLikeEnd)) return false
  const key = scanner.keys.at(-1)
  if (key !== undefined) insertKey(scanner, key)
  else if (!isFlow) {
    if (!scanner.mayBeKey)
      fail(scanner, 'a ":" followed by a blank cannot stand here; quote the text around it')
    rollIndent(scanner, { column: columnOf(scanner), kind: 'block-mapping-start' })
  }
  scanner.mayBeKey = key === undefined && !isFlow
  return push(scanner, 'value', 1)
}

/** What was noted turns out to be a key. */
function insertKey(scanner: Scanner, key: PossibleKey): void {
  const { tokenIndex, at, column } = key
  scanner.tokens.splice(tokenIndex, 0, { kind: 'key', at })
  if (scanner.flows.length === 0)
    rollIndent(scanner, { column, kind: 'block-mapping-start', tokenIndex })
  scanner.keys[scanner.keys.length - 1] = undefined
}

function scanName(scanner: Scanner, kind: 'alias' | 'anchor'): boolean {
  const start = scanner.at
  let end = start + 1
  while (!isBreakOrBlank(scanner.text.charAt(end)) && !',[]{}'.includes(scanner.text.charAt(end)))
    end++
  if (end === start + 1) {
    fail(scanner, `an ${kind} needs a name after ${JSON.stringify(peek(scanner))}`)
    return true
  }
  noteKey(scanner)
  scanner.mayBeKey = false
  scanner.tokens.push({ kind, at: start, name: scanner.text.slice(start + 1, end) })
  scanner.at = end
  return true
}

function scanTagToken(scanner: Scanner): boolean {
  noteKey(scanner)
  scanner.mayBeKey = false
  const at = scanner.at
  const name = scanTag(scanner, scanner.tags)
  if (name !== undefined) scanner.tokens.push({ kind: 'tag', at, name })
  return true
}

function scanBlock(scanner: Scanner): boolean {
  if (scanner.flows.length > 0) return false
  forgetKey(scanner)
  const at = scanner.at
  const text = scanBlockScalar(scanner, scanner.indent)
  scanner.mayBeKey = true
  if (text !== undefined) scanner.tokens.push({ kind: 'scalar', at, text, isPlain: false })
  return true
}

function scanScalar(
  scanner: Scanner,
  scanText: (reader: Reader, indent: number | undefined) => string | undefined,
): true {
  noteKey(scanner)
  scanner.mayBeKey = false
  const at = scanner.at
  const isFlow = scanner.flows.length > 0
  const text = scanText(scanner, isFlow ? undefined : scanner.indent)
  const isPlain = scanText === scanPlain
  if (text !== undefined) scanner.tokens.push({ kind: 'scalar', at, text, isPlain })
  if (!isPlain) scanner.jsonLikeEnd = scanner.at
  return true
}

/** Remembers that a key may start here. */
function noteKey(scanner: Scanner): void {
  if (!scanner.mayBeKey) return
  const column = columnOf(scanner)
  const isRequired = scanner.flows.length === 0 && scanner.indent === column
  forgetKey(scanner)
  const { at, line } = scanner
  const key = { tokenIndex: scanner.tokens.length, at, line, column, isRequired }
  scanner.keys[scanner.keys.length - 1] = key
}

function forgetKey(scanner: Scanner): void {
  const key = scanner.keys.at(-1)
  if (key?.isRequired === true) fail(scanner, 'a ":" is expected after this key', key.at)
  scanner.keys[scanner.keys.length - 1] = undefined
}

/** A key stands on one line, except in a flow mapping, and is short. */
function dropStaleKey(scanner: Scanner): void {
  const key = scanner.keys.at(-1)
  if (key === undefined) return
  const mayBreak = scanner.flows.at(-1) === 'mapping'
  const isStale =
    (key.line < scanner.line && !mayBreak) || scanner.at - key.at > IMPLICIT_KEY_LENGTH_MAX
  if (isStale) forgetKey(scanner)
}

interface Roll {
  readonly column: number
  readonly kind: 'block-sequence-start' | 'block-mapping-start'
  /** Where the start token goes; at the end by default. */
  readonly tokenIndex?: number
}

/** A deeper column starts a block collection. */
function rollIndent(scanner: Scanner, { column, kind, tokenIndex }: Roll): void {
  if (scanner.flows.length > 0 || scanner.indent >= column) return
  scanner.indents.push(scanner.indent)
  scanner.indent = column
  scanner.tokens.splice(tokenIndex ?? scanner.tokens.length, 0, { kind, at: scanner.at })
}

/** A column further left ends the block collections that are deeper. */
function unrollIndent(scanner: Scanner, column: number): void {
  if (scanner.flows.length > 0) return
  while (scanner.indent > column) {
    push(scanner, 'block-end')
    scanner.indent = scanner.indents.pop() ?? -1
  }
}
