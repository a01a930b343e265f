import { assert } from '@reeve/kit/fault.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import { createCollector, type Diagnostic } from '../text/diagnostic.ts'
import { makeSource } from '../text/source.ts'
import { parseHcl } from './parse.ts'
import { scan } from './scan.ts'
import type { Punctuation, Token } from './token.ts'

/**
 * The text in the canonical style: two blanks for each level, one around operators, equals signs
 * and trailing comments of neighbouring lines in one column. Comments, blank lines, strings and
 * heredocs stay as they are written, and so does the order of everything.
 */
export function formatSource(text: string, file: string): Result<string, readonly Diagnostic[]> {
  const parsed = parseHcl(text, file)
  if (!parsed.ok) return parsed
  const lines = splitLines(text, file)
  const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n'
  const formatted = renderLines(lines)
    .map((line) => `${line}${lineEnd}`)
    .join('')
  const again = splitLines(formatted, file)
  assert(spelling(again) === spelling(lines), 'formatting changes blanks only')
  return ok(formatted)
}

/** A token, a comment, or a whole string or heredoc; never split. */
interface Atom {
  readonly kind: Punctuation | 'identifier' | 'number' | 'string' | 'heredoc' | 'comment'
  readonly text: string
}

type Line = readonly Atom[]

/** Blank lines at the end are dropped. */
function splitLines(text: string, file: string): readonly Line[] {
  const tokens = scan(makeSource(file, text), 'code', createCollector()) ?? []
  const lines: Atom[][] = [[]]
  let at = 0
  for (let index = 0; index < tokens.length; index++) {
    const first = tokens[index]
    if (first === undefined) break
    const line = lines.at(-1) ?? []
    line.push(...commentsIn(text.slice(at, first.start)))
    index = lastOfAtom(tokens, index)
    at = tokens[index]?.end ?? first.end
    if (first.kind === 'newline') lines.push([])
    else if (first.kind !== 'end')
      line.push({ kind: atomKind(first), text: text.slice(first.start, at) })
  }
  const end = lines.findLastIndex((line) => line.length > 0)
  return lines.slice(0, end + 1)
}

/** Between two tokens there is nothing else than blanks and comments. */
function commentsIn(gap: string): readonly Atom[] {
  const found = gap.match(/#.*|\/\/.*|\/\*[^]*?\*\//g) ?? []
  return found.map((text) => ({ kind: 'comment', text: text.trimEnd() }))
}

/**
 * Returns the index of the last token of the string or heredoc that starts here, including strings
 * in its interpolations.
 */
function lastOfAtom(tokens: readonly Token[], start: number): number {
  let depth = 0
  for (let index = start; index < tokens.length; index++) {
    const kind = tokens[index]?.kind
    if (kind === 'quote-open' || kind === 'heredoc-open') depth++
    if (kind === 'quote-close' || kind === 'heredoc-close') depth--
    if (depth === 0) return index
  }
  return start
}

function atomKind({ kind }: Token): Atom['kind'] {
  switch (kind) {
    case 'quote-open':
      return 'string'
    case 'heredoc-open':
      return 'heredoc'
    case 'newline':
    case 'end':
    case 'quote-close':
    case 'heredoc-close':
    case 'text':
    case 'interpolation-open':
    case 'directive-open':
    case 'sequence-close':
      throw new TypeError(`a token of the kind ${kind} begins nothing`)
    default:
      return kind
  }
}

function spelling(lines: readonly Line[]): string {
  return lines.flatMap((line) => line.map(({ text }) => text)).join('\n')
}

/** A line in the columns that neighbouring lines share. A part that it does not have is empty. */
interface Row {
  readonly level: number
  /** The name of an argument; on other lines everything except the comment. */
  readonly lead: string
  /** The equals sign and the value of an argument that ends on its line. */
  readonly value: string
  /** Behind the rest of the line. */
  readonly comment: string
}

function renderLines(lines: readonly Line[]): readonly string[] {
  const levels = levelsOf(lines)
  const rows = lines.map((line, index) => toRow(line, levels[index] ?? 0))
  const leads = inColumns(
    rows.map(({ level, lead, value }) => (value === '' ? undefined : { level, text: lead })),
  )
  const bodies = rows.map(({ lead, value }, index) =>
    value === '' ? lead : `${leads[index] ?? lead} ${value}`,
  )
  const commented = inColumns(
    rows.map(({ level, comment }, index) =>
      comment === '' ? undefined : { level, text: bodies[index] ?? '' },
    ),
  )
  return rows.map(({ level, comment }, index) => {
    const body = bodies[index] ?? ''
    const whole = comment === '' ? body : `${commented[index] ?? body} ${comment}`
    return whole === '' ? '' : `${'  '.repeat(level)}${whole}`
  })
}

interface Cell {
  readonly level: number
  readonly text: string
}

/** Pads the cells of consecutive lines of one level to the longest of them. */
function inColumns(cells: readonly (Cell | undefined)[]): readonly (string | undefined)[] {
  const padded: (string | undefined)[] = []
  for (let start = 0; start < cells.length;) {
    const level = cells[start]?.level
    const next = cells.findIndex((cell, index) => index > start && cell?.level !== level)
    const end = next === -1 ? cells.length : next
    const run = cells.slice(start, end)
    const width = run.reduce((most, cell) => Math.max(most, widthOf(cell?.text ?? '')), 0)
    for (const cell of run) padded.push(cell && cell.text + ' '.repeat(width - widthOf(cell.text)))
    start = end
  }
  return padded
}

/** Characters, as a terminal or an editor counts most of them. */
function widthOf(text: string): number {
  return Array.from(text).length
}

const OPENING: ReadonlySet<Atom['kind']> = new Set(['{', '[', '('] as const)
const CLOSING: ReadonlySet<Atom['kind']> = new Set(['}', ']', ')'] as const)

/**
 * A line is one level deeper than the line that opened the bracket around it; brackets that open
 * together on one line count once. A line that begins with closing brackets is as deep as the line
 * that opened the last of them.
 */
function levelsOf(lines: readonly Line[]): readonly number[] {
  /** The levels of the lines that opened the brackets which are open. */
  const open: number[] = []
  return lines.map((line) => {
    const inner = line.findIndex(({ kind }) => !CLOSING.has(kind))
    const closed = inner === -1 ? line.length : inner
    const level = closed > 0 ? open.splice(-closed)[0] : undefined
    const own = level ?? (open.at(-1) ?? -1) + 1
    for (const { kind } of line.slice(closed)) {
      if (OPENING.has(kind)) open.push(own)
      if (CLOSING.has(kind)) open.pop()
    }
    return own
  })
}

function toRow(line: Line, level: number): Row {
  const last = line.at(-1)
  const hasComment = line.length > 1 && last?.kind === 'comment'
  const code = hasComment ? line.slice(0, -1) : line
  const comment = hasComment ? last.text : ''
  const equals = equalsOf(code)
  if (equals === undefined) return { level, lead: spaced(code), value: '', comment }
  const [lead, value] = [code.slice(0, equals), code.slice(equals)]
  return { level, lead: spaced(lead), value: spaced(value), comment }
}

/** The equals sign of an argument that begins and ends on this line. */
function equalsOf(code: Line): number | undefined {
  let depth = 0
  let equals: number | undefined
  for (const [index, { kind, text }] of code.entries()) {
    if (text.includes('\n')) return undefined
    if (OPENING.has(kind)) depth++
    if (CLOSING.has(kind)) depth--
    if (depth < 0) return undefined
    if (kind === '=' && depth === 0 && index > 0) equals ??= index
  }
  return depth === 0 ? equals : undefined
}

function spaced(line: Line): string {
  return line
    .map((atom, index) => {
      const left = line[index - 1]
      if (left === undefined) return atom.text
      return hasSpace(line[index - 2], left, atom) ? ` ${atom.text}` : atom.text
    })
    .join('')
}

/** Whether there is a blank between two neighbours; `before` is the one before them. */
function hasSpace(before: Atom | undefined, left: Atom, right: Atom): boolean {
  if (left.kind === 'comment' || right.kind === 'comment') return true
  if (right.kind === ',' || right.kind === '...') return false
  if (left.kind === ',') return true
  // `a.1. 2`: without the blank it would be one number with a fraction.
  if (left.kind === '.') return right.kind === 'number' && before?.kind === 'number'
  if (right.kind === '.') return false
  if (left.kind === '::' || right.kind === '::') return false
  if (left.kind === '{') return right.kind !== '}'
  if (right.kind === '}') return true
  if (left.kind === '(' || left.kind === '[') return false
  if (right.kind === ')' || right.kind === ']') return false
  if (left.kind === '!') return false
  // A sign belongs to its operand; a minus between two operands is an operator.
  if (left.kind === '-') return before !== undefined && isOperand(before)
  // Calls and indexes.
  if (right.kind === '(') return left.kind !== 'identifier' || KEYWORDS.has(left.text)
  if (right.kind === '[') return !isOperand(left) && !(left.kind === '*' && before?.kind === '.')
  return true
}

const KEYWORDS: ReadonlySet<string> = new Set(['in', 'if'])

/** Whether an operand may end with it. */
function isOperand({ kind, text }: Atom): boolean {
  if (kind === 'identifier') return !KEYWORDS.has(text)
  return ['number', 'string', 'heredoc', ')', ']', '}'].includes(kind)
}
