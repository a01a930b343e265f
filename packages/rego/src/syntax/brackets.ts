import type { ParsedText } from './parse.ts'
import type { Token } from './token.ts'

/** Syntactic role of a bracket. */
export type BracketKind = 'body' | 'group' | 'index' | 'literal'

/** Content of a bracket, as far as it determines its layout. */
export interface Bracket {
  readonly kind: BracketKind
  /** A body on several lines: each of its literals has a line of its own. */
  readonly isBroken: boolean
  /** Position of the bar of a comprehension; undefined if it is none. */
  readonly barAt: number | undefined
}

interface OpenBracket {
  readonly open: Token
  readonly kind: BracketKind
  isBroken: boolean
  hasComma: boolean
  barAt: number | undefined
}

/** Returns the brackets of a text, by the position of their opening token. */
export function bracketsOf({ tokens, bodyStarts }: ParsedText): ReadonlyMap<number, Bracket> {
  const found = new Map<number, Bracket>()
  const open: OpenBracket[] = []
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== 'mark') continue
    const inside = open.at(-1)
    if (isOpening(token)) open.push(openBracket(token, tokens[at - 1], bodyStarts))
    else if (isClosing(token)) close(open, token, found)
    else if (inside !== undefined) note(inside, token)
  }
  return found
}

export function isOpening({ kind, text }: Token): boolean {
  return kind === 'mark' && (text === '{' || text === '[' || text === '(')
}

export function isClosing({ kind, text }: Token): boolean {
  return kind === 'mark' && (text === '}' || text === ']' || text === ')')
}

/** Reports whether a bracket belongs to the preceding token: `f(…)`, `a[…]`. */
export function isAttached(token: Token, previous: Token | undefined): boolean {
  if (previous === undefined || token.isSpaced || token.text === '{') return false
  return previous.kind === 'name' || isClosing(previous)
}

function openBracket(
  open: Token,
  previous: Token | undefined,
  bodyStarts: ReadonlySet<number>,
): OpenBracket {
  const kind = bodyStarts.has(open.at)
    ? 'body'
    : open.text === '('
      ? 'group'
      : isAttached(open, previous)
        ? 'index'
        : 'literal'
  return { open, kind, isBroken: false, hasComma: false, barAt: undefined }
}

function close(open: OpenBracket[], token: Token, found: Map<number, Bracket>): void {
  const bracket = open.pop()
  if (bracket === undefined) return
  const { kind, barAt } = bracket
  const isBroken = kind === 'body' && (bracket.isBroken || bracket.open.row !== token.row)
  found.set(bracket.open.at, { kind, isBroken, barAt })
  // A bracket that contains one on several lines is itself on several lines.
  const around = open.at(-1)
  if (around !== undefined && (isBroken || bracket.isBroken)) around.isBroken = true
}

/** Before the first comma a bar starts the body of a comprehension; after it, it is an operator. */
function note(inside: OpenBracket, { text, at }: Token): void {
  if (text === ';' && inside.kind === 'body') inside.isBroken = true
  if (text === ',') inside.hasComma = true
  if (text === '|' && inside.kind === 'literal' && !inside.hasComma) inside.barAt ??= at
}
