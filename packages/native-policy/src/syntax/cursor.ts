import { NESTING_DEPTH_MAX } from '../limits.ts'
import { NativeSyntaxError, type Source } from './source.ts'
import type { Token, TokenKind } from './token.ts'
import type { TextSpan, Statement, Warning } from './ast.ts'

/** The parser's position in the tokens. */
export class Cursor {
  readonly source: Source
  readonly warnings: Warning[] = []
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0

  readonly #parseBlock: (cursor: Cursor) => readonly Statement[]

  /**
   * `parseBlock` parses a function body: expressions contain functions, and direct imports would be
   * cyclic.
   */
  constructor(
    source: Source,
    tokens: readonly Token[],
    parseBlock: (cursor: Cursor) => readonly Statement[],
  ) {
    this.source = source
    this.#tokens = tokens
    this.#parseBlock = parseBlock
  }

  block(): readonly Statement[] {
    return this.#parseBlock(this)
  }

  get token(): Token {
    return this.peek(0)
  }

  peek(ahead: number): Token {
    const token = this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)]
    if (token === undefined) throw new Error('a text has at least its end')
    return token
  }

  advance(): Token {
    const { token } = this
    if (token.kind !== 'end-of-text') this.#at++
    return token
  }

  /** Whether the token is this keyword, word operator or punctuation. */
  is(text: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return (token.kind === 'word' || token.kind === 'mark') && token.text === text
  }

  isKind(kind: TokenKind): boolean {
    return this.token.kind === kind
  }

  take(text: string): Token | undefined {
    return this.is(text) ? this.advance() : undefined
  }

  expect(text: string, where: string): Token {
    return this.take(text) ?? this.fail(`${JSON.stringify(text)} is expected ${where}`)
  }

  expectKind(kind: TokenKind, what: string): Token {
    return this.isKind(kind) ? this.advance() : this.fail(`${what} is expected`)
  }

  /** Lists and maps may span lines: implied terminators inside them are ignored. */
  skipImplied(): void {
    while (this.isKind('end-of-statement') && this.token.isImplied === true) this.advance()
  }

  skipEnds(): void {
    while (this.isKind('end-of-statement')) this.advance()
  }

  /** Expects the end of a statement, a closing brace or the end of the text. */
  endStatement(): void {
    if (this.isKind('end-of-text') || this.is('}')) return
    if (!this.isKind('end-of-statement')) this.fail('the end of the statement is expected')
    this.skipEnds()
  }

  /** Parses a recursive part of the grammar with a depth check. */
  nested<T>(parse: () => T): T {
    if (this.#depth >= NESTING_DEPTH_MAX)
      this.fail(`expressions and blocks are nested deeper than ${NESTING_DEPTH_MAX}`)
    this.#depth++
    try {
      return parse()
    } finally {
      this.#depth--
    }
  }

  spotFrom(start: number, at = start): TextSpan {
    const previous = this.#tokens[this.#at - 1]
    return { start, end: previous?.end ?? start, at }
  }

  warn(at: number, message: string): void {
    this.warnings.push({ at, message })
  }

  fail(message: string): never {
    this.failAt(this.token.start, `${message}, but ${nameOf(this.token)} stands here`)
  }

  failAt(at: number, message: string): never {
    throw new NativeSyntaxError(this.source.problemAt(at, message))
  }
}

function nameOf({ kind, text, isImplied }: Token): string {
  switch (kind) {
    case 'end-of-text':
      return 'the end of the text'
    case 'end-of-statement':
      return isImplied === true ? 'the end of the line' : '";"'
    case 'string':
      return 'a string'
    default:
      return JSON.stringify(text)
  }
}
