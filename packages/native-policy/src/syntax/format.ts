import { err, ok, type Result } from '@reeve/kit/result.ts'
import { assert } from '@reeve/kit/fault.ts'
import { parseHcl } from './parse.ts'
import { scan } from './scan.ts'
import { Source, NativeSyntaxError, type NativeDiagnostic } from './source.ts'
import { spaceBetween, Spacing } from './spacing.ts'
import type { Token } from './token.ts'

const INDENT = '  '

/**
 * Formats a policy: two spaces per level, single spaces around operators, at most one blank line.
 * Line breaks and comments stay where they are. Only whitespace changes, which is verified by
 * comparing the tokens before and after.
 */
export function formatNative(file: string, text: string): Result<string, NativeDiagnostic> {
  try {
    const source = new Source(file, text)
    // Only valid text is formatted: invalid tokens might merge.
    parseHcl(source)
    const tokens = scan(source)
    const formatted = new Printer(source.text).print(tokens)
    const again = scan(new Source(file, formatted))
    assert(haveSameTokens(tokens, again), 'formatting changes white space only')
    return ok(formatted)
  } catch (thrown) {
    if (thrown instanceof NativeSyntaxError) return err(thrown.problem)
    throw thrown
  }
}

function haveSameTokens(left: readonly Token[], right: readonly Token[]): boolean {
  return (
    left.length === right.length &&
    left.every((token, index) => {
      const other = right[index]
      return other !== undefined && other.kind === token.kind && other.text === token.text
    })
  )
}

/** A token as written, or a comment. */
interface Piece {
  readonly text: string
  readonly token: Token | undefined
  /** Number of line breaks before it. */
  readonly breaks: number
}

class Printer {
  readonly #text: string
  readonly #levels: Level[] = []
  readonly #spacing = new Spacing()
  readonly #lines: string[] = []
  #line = ''
  /** Whether the line continues a statement of the previous line. */
  #continues = false

  constructor(text: string) {
    this.#text = text
  }

  print(tokens: readonly Token[]): string {
    for (const piece of this.#pieces(tokens)) {
      if (piece.breaks > 0) this.#break(piece)
      this.#add(piece)
    }
    this.#endLine()
    const text = this.#lines.join('\n').trim()
    return text === '' ? '' : `${text}\n`
  }

  *#pieces(tokens: readonly Token[]): Iterable<Piece> {
    let at = this.#text.startsWith('\uFEFF') ? 1 : 0
    for (const token of tokens) {
      if (token.isImplied === true) {
        this.#continues = false
        this.#spacing.endStatement()
        continue
      }
      const breaks = yield* this.#comments(at, token.start)
      at = token.end
      if (token.kind !== 'end-of-text')
        yield { text: this.#text.slice(token.start, token.end), token, breaks }
    }
  }

  /**
   * Yields the comments between two tokens; returns the number of line breaks after the last one.
   */
  *#comments(from: number, to: number): Generator<Piece, number> {
    const gap = this.#text.slice(from, to)
    let breaks = 0
    for (const [part] of gap.matchAll(/\n|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//g))
      if (part === '\n') breaks++
      else {
        yield { text: part.trimEnd(), token: undefined, breaks }
        breaks = 0
      }
    return breaks
  }

  #break({ breaks, token }: Piece): void {
    this.#endLine()
    const isFirst = this.#lines.length === 0
    const isInside = this.#lines.at(-1)?.match(/[{([:]$/) !== null
    const isClosing = token !== undefined && /^[)\]}]$/.test(token.text)
    if (breaks > 1 && !isFirst && !isInside && !isClosing) this.#lines.push('')
  }

  #endLine(): void {
    if (this.#line !== '') this.#lines.push(this.#line.trimEnd())
    this.#line = ''
  }

  #add({ text, token }: Piece): void {
    if (token === undefined) {
      this.#line += this.#line === '' ? this.#indent(undefined) + text : ` ${text}`
      return
    }
    if (this.#line === '') this.#line = this.#indent(token) + text
    else this.#line += (spaceBetween(this.#spacing, token) ? ' ' : '') + text
    this.#track(token)
    this.#spacing.push(token)
    this.#continues = true
  }

  /** Brackets opened on the same line count as one level. */
  #indent(token: Token | undefined): string {
    const isClosing = token !== undefined && token.kind === 'mark' && /^[)\]}]$/.test(token.text)
    const closed = isClosing ? this.#levels.at(-1)?.line : undefined
    const open = this.#levels.filter(({ line }) => line !== closed)
    const last = open.at(-1)
    const isClause = token?.kind === 'word' && (token.text === 'when' || token.text === 'else')
    const inClause = open.filter((level) => level.inClause).length
    const clauses =
      last?.isCase === true && isClause ? inClause - (last.inClause ? 1 : 0) : inClause
    const lines = new Set(open.map(({ line }) => line)).size
    return INDENT.repeat(lines + clauses + (this.#goesOn(isClosing, isClause) ? 1 : 0))
  }

  #goesOn(isClosing: boolean, isClause: boolean): boolean {
    // An `else` on the line after a closing brace continues the `if`, at the same indentation.
    const isElse = isClause && this.#spacing.previous?.text === '}'
    return this.#continues && !isClosing && !isElse && !this.#spacing.isAfterOpening
  }

  #track(token: Token): void {
    const { text, kind } = token
    const last = this.#levels.at(-1)
    if (kind === 'word' && text === 'case') this.#spacing.awaitCase(this.#levels.length)
    if (kind === 'mark' && /^[({[]$/.test(text)) {
      const isCase = text === '{' && this.#spacing.takeCase(this.#levels.length)
      this.#levels.push({ line: this.#lines.length, isCase, inClause: false })
    } else if (kind === 'mark' && /^[)}\]]$/.test(text)) this.#levels.pop()
    else if (kind === 'mark' && text === ':' && last?.isCase === true) last.inClause = true
  }
}

interface Level {
  /** The line of the opening bracket. */
  readonly line: number
  readonly isCase: boolean
  /** After the colon of a clause statements are indented one more level. */
  inClause: boolean
}
