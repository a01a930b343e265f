import { assert } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  bracketsOf,
  isAttached,
  isClosing,
  isOpening,
  type Bracket,
  type BracketKind,
} from './brackets.ts'
import { isSameProgram } from './parse-literal.ts'
import { parseWithTokens, type ParsedText } from './parse.ts'
import { Source, type RegoDiagnostic } from './source.ts'
import type { Token } from './token.ts'

/**
 * Formats a module: tabs for indentation, single spaces around operators, at most one blank line,
 * each literal of a longer body on a line of its own. Other line breaks and comments keep their
 * position. The meaning of the module is unchanged.
 */
export function formatRego(file: string, text: string): Result<string, RegoDiagnostic> {
  const source = new Source(file, text)
  const first = parseWithTokens(source, 1)
  const old = first.ok ? first : parseWithTokens(source, 0)
  // A module that neither version can parse gets the error of version 1.
  if (!old.ok) return err(first.ok ? old.error : first.error)
  const formatted = new Printer(text, old.value).print()
  const again = parseWithTokens(new Source(file, formatted), first.ok ? 1 : 0)
  assert(
    again.ok && isSameProgram(old.value.module, again.value.module),
    'formatting changes no meaning',
  )
  return ok(formatted)
}

/** A token or a comment, as written. */
interface Piece {
  readonly text: string
  readonly token: Token | undefined
  /** The following token. */
  readonly next: Token | undefined
  /** Line breaks before it. */
  readonly breaks: number
}

interface Level {
  readonly bracket: Bracket
  /** Indentation of the line that opened it. */
  readonly indent: number
}

class Printer {
  readonly #text: string
  readonly #tokens: readonly Token[]
  readonly #brackets: ReadonlyMap<number, Bracket>
  readonly #levels: Level[] = []
  readonly #lines: string[] = []
  #line = ''
  #lineIndent = 0
  /** The last token of the current literal or rule. */
  #previous: Token | undefined
  /** Kind of the bracket that the previous token opened, if any. */
  #opened: BracketKind | undefined
  #isSign = false
  #mustBreak = false
  /** The first word of the last top-level line. */
  #statement = ''

  constructor(text: string, parsed: ParsedText) {
    this.#text = text
    this.#tokens = parsed.tokens
    this.#brackets = bracketsOf(parsed)
  }

  print(): string {
    for (const piece of this.#pieces()) {
      if (piece.token?.text === ';' && this.#isNeedless(piece)) this.#endLiteral(piece)
      else this.#add(piece)
    }
    this.#endLine()
    return `${this.#lines.join('\n')}\n`
  }

  *#pieces(): Iterable<Piece> {
    let from = 0
    for (const [at, token] of this.#tokens.entries()) {
      let breaks = 0
      for (const [part] of this.#text.slice(from, token.at).matchAll(/\n|#[^\n]*/g))
        if (part === '\n') breaks++
        else {
          yield { text: part.trimEnd(), token: undefined, next: token, breaks }
          breaks = 0
        }
      from = token.end
      const next = this.#tokens[at + 1]
      if (token.kind !== 'end')
        yield { text: this.#text.slice(token.at, token.end), token, next, breaks }
    }
  }

  /** A line break also separates literals, unless a sign would become an operator. */
  #isNeedless({ token, next }: Piece): boolean {
    if (next === undefined || (next.kind === 'mark' && next.text === '-')) return false
    const bracket = this.#levels.at(-1)?.bracket
    return bracket === undefined || bracket.isBroken || isClosing(next) || next.row !== token?.row
  }

  #endLiteral({ next }: Piece): void {
    this.#previous = undefined
    this.#isSign = false
    this.#mustBreak = next === undefined || !isClosing(next)
  }

  #add(piece: Piece): void {
    const { token, text } = piece
    if (this.#isNewLine(piece)) this.#break(piece)
    if (token === undefined) {
      if (this.#line === '') this.#begin(undefined)
      this.#line += /\S$/.test(this.#line) ? ` ${text}` : text
      return
    }
    if (this.#line === '') this.#begin(token)
    else if (this.#hasSpaceBefore(token)) this.#line += ' '
    this.#line += text
    this.#track(token)
  }

  #isNewLine({ token, breaks, next }: Piece): boolean {
    if (token === undefined) return breaks > 0
    if (this.#mustBreak) return true
    const level = this.#levels.at(-1)
    if (token.text === '}' && level?.bracket.isBroken === true && isClosing(token)) return true
    return breaks > 0 && !this.#isJoined(token, next)
  }

  /** The opening brace of a rule's body, and a following `else`, join the previous line. */
  #isJoined(token: Token, next: Token | undefined): boolean {
    if (this.#line === '' || this.#line.includes('#') || this.#previous === undefined) return false
    if (this.#levels.length > 0) return false
    if (isOpening(token)) return this.#brackets.get(token.at)?.kind === 'body'
    return isElse(token, next) && this.#previous.text === '}'
  }

  #break({ breaks, token, next }: Piece): void {
    this.#mustBreak = false
    const last = this.#line
    this.#endLine()
    if (this.#lines.length === 0) return
    const isInside = /[{([|]$/.test(last) && this.#opened !== undefined
    const isBlank = breaks > 1 || this.#endsPart(token, next)
    if (isBlank && !isInside && !(token !== undefined && isClosing(token))) this.#lines.push('')
  }

  /** Parts end after the package, the imports, and a bracket closed on a line of its own. */
  #endsPart(token: Token | undefined, next: Token | undefined): boolean {
    if (this.#levels.length > 0) return false
    if (token !== undefined && isElse(token, next)) return false
    const last = this.#lines.at(-1) ?? ''
    // A comment belongs to the following code.
    if (last.startsWith('#')) return false
    if (this.#statement === 'package') return true
    if (this.#statement === 'import') return (token ?? next)?.text !== 'import'
    return /^[\])}]/.test(last)
  }

  #endLine(): void {
    if (this.#line !== '') this.#lines.push(this.#line.trimEnd())
    this.#line = ''
  }

  #begin(token: Token | undefined): void {
    this.#lineIndent = this.#indentOf(token)
    this.#line = '\t'.repeat(this.#lineIndent)
    if (this.#levels.length === 0 && token !== undefined && this.#lineIndent === 0)
      this.#statement = token.text
  }

  #indentOf(token: Token | undefined): number {
    const level = this.#levels.at(-1)
    if (level !== undefined && token !== undefined && isClosing(token)) return level.indent
    const base = level === undefined ? 0 : level.indent + 1
    return base + (token !== undefined && this.#goesOn(token) ? 1 : 0)
  }

  /** Reports whether a line continues the previous one. */
  #goesOn(token: Token): boolean {
    const previous = this.#previous
    if (previous === undefined || this.#opened !== undefined) return false
    const kind = this.#levels.at(-1)?.bracket.kind
    const isList = kind === 'group' || kind === 'index' || kind === 'literal'
    if (previous.text === ',' && previous.kind === 'mark') return !isList
    if (token.text === 'else' && this.#levels.length === 0) return false
    return leadsOn(previous) || followsOn(token, previous)
  }

  #hasSpaceBefore(token: Token): boolean {
    const previous = this.#previous
    if (previous === undefined) return true
    if (this.#opened !== undefined) return this.#opened === 'body'
    if (this.#isSign || (previous.kind === 'mark' && previous.text === '.')) return false
    if (token.kind !== 'mark') return true
    if (token.text === '}') return this.#levels.at(-1)?.bracket.kind === 'body'
    if (/^[,;:.)\]]$/.test(token.text)) return false
    return !isOpening(token) || !isAttached(token, previous)
  }

  #track(token: Token): void {
    const level = this.#levels.at(-1)
    this.#isSign = token.text === '-' && token.kind === 'mark' && this.#wantsOperand()
    this.#opened = undefined
    this.#mustBreak = false
    const bracket = isOpening(token) ? this.#brackets.get(token.at) : undefined
    if (bracket !== undefined) {
      this.#levels.push({ bracket, indent: this.#lineIndent })
      this.#opened = bracket.kind
      this.#mustBreak = bracket.isBroken
    } else if (isClosing(token)) this.#levels.pop()
    this.#previous = token
    // The text after the bar of a comprehension starts a new literal.
    if (level?.bracket.barAt === token.at) this.#previous = undefined
  }

  #wantsOperand(): boolean {
    const previous = this.#previous
    return (
      previous === undefined ||
      this.#opened !== undefined ||
      leadsOn(previous) ||
      (previous.kind === 'mark' && (previous.text === ',' || previous.text === ';'))
    )
  }
}

/** A rule may be named `else.a`. */
function isElse({ kind, text }: Token, next: Token | undefined): boolean {
  if (kind !== 'name' || text !== 'else') return false
  return next === undefined || next.text !== '.' || next.isSpaced
}

const LEADING_WORDS: ReadonlySet<string> = new Set(
  'as contains default else every if import in not package some with'.split(' '),
)
const FOLLOWING_WORDS: ReadonlySet<string> = new Set('and as contains if in or with'.split(' '))

/**
 * Reports whether more tokens must follow. Names that look like keywords only cost an indentation.
 */
function leadsOn({ kind, text }: Token): boolean {
  if (kind === 'name') return LEADING_WORDS.has(text)
  return kind === 'mark' && !/^[\])},;]$/.test(text)
}

function followsOn(token: Token, { row }: Token): boolean {
  const { kind, text } = token
  if (kind === 'name') return FOLLOWING_WORDS.has(text) && token.row > row
  return kind === 'mark' && !isOpening(token) && !isClosing(token)
}
