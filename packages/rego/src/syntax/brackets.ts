import type { ParsedText } from './parse.ts'
import type { Token } from './token.ts'

/** What a bracket is there for. */
export type BracketKind = 'body' | 'group' | 'index' | 'literal'

/** What one bracket holds, as far as it decides how it is laid out. */
export interface Bracket {
  readonly kind: BracketKind
  /** A body that does not stand on one line: each of its literals has its own. */
  readonly isBroken: boolean
  /** Where the bar of a comprehension stands; undefined when it is none. */
  readonly barAt: number | undefined
}

interface OpenBracket {
  readonly open: Token
  readonly kind: BracketKind
  isBroken: boolean
  hasComma: boolean
  barAt: number | undefined
}

/** The brackets of a text, by where they open. */
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

/** Whether a bracket belongs to what stands directly before it: `f(…)`, `a[…]`. */
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
  // What holds something on several lines stands on several lines itself.
  const around = open.at(-1)
  if (around !== undefined && (isBroken || bracket.isBroken)) around.isBroken = true
}

/** Until the first comma a bar begins the body of a comprehension; later it is an operator. */
function note(inside: OpenBracket, { text, at }: Token): void {
  if (text === ';' && inside.kind === 'body') inside.isBroken = true
  if (text === ',') inside.hasComma = true
  if (text === '|' && inside.kind === 'literal' && !inside.hasComma) inside.barAt ??= at
}
