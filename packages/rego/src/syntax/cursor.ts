import { NESTING_DEPTH_MAX } from '../limits.ts'
import { RegoCompileError, type Source } from './source.ts'
import type { Token } from './token.ts'
import type { Body } from './ast.ts'

export type RegoVersion = 0 | 1

/** Keywords that a module imports, besides those of every module. */
export type FutureKeyword = 'if' | 'contains' | 'in' | 'every' | 'not' | 'and' | 'or'

const ALWAYS_KEYWORDS: ReadonlySet<string> = new Set(
  'package import as default else not some with null true false'.split(' '),
)

/** State shared by the cursors of one module. */
export interface ParserState {
  readonly source: Source
  version: RegoVersion
  readonly keywords: Set<FutureKeyword>
  wildcardCount: number
  depth: number
  /** Positions of the opening braces of bodies, for the formatter. */
  readonly bodyStarts: Set<number>
  /**
   * Parses a body. Terms contain bodies and bodies contain terms; this function breaks the import
   * cycle.
   */
  readonly readBody: (cursor: Cursor) => Body
}

/** A position in a list of tokens; a template expression has a list of its own. */
export class Cursor {
  readonly reading: ParserState
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(reading: ParserState, tokens: readonly Token[]) {
    this.reading = reading
    this.#tokens = tokens
  }

  get token(): Token {
    return this.peek(0)
  }

  /** The last consumed token. */
  get previous(): Token {
    return this.peek(-1)
  }

  /** The last token is of kind `end`; positions beyond it return it again. */
  peek(distance: number): Token {
    const token = this.#tokens[Math.max(0, Math.min(this.#at + distance, this.#tokens.length - 1))]
    if (token === undefined) throw new RangeError('a list of tokens is never empty')
    return token
  }

  isAtEnd(): boolean {
    return this.token.kind === 'end'
  }

  take(): Token {
    const { token } = this
    this.#at++
    return token
  }

  is(mark: string): boolean {
    const { token } = this
    return token.kind === 'mark' && token.text === mark
  }

  /** Reports whether the mark follows without whitespace: only then `[` continues a reference. */
  isAdjacent(mark: string): boolean {
    return this.is(mark) && !this.token.isSpaced
  }

  skip(mark: string): boolean {
    const found = this.is(mark)
    if (found) this.#at++
    return found
  }

  expect(mark: string): Token {
    if (!this.is(mark)) this.failHere(`expected \`${mark}\``)
    return this.take()
  }

  /** Reports whether the token is this keyword; a keyword that starts a reference is a name. */
  isKeyword(word: string, distance = 0): boolean {
    const token = this.peek(distance)
    if (token.kind !== 'name' || token.text !== word || !this.#hasKeyword(word)) return false
    const next = this.peek(distance + 1)
    return next.kind !== 'mark' || next.isSpaced || next.text !== '.'
  }

  isAnyKeyword(): boolean {
    return this.token.kind === 'name' && this.isKeyword(this.token.text)
  }

  #hasKeyword(word: string): boolean {
    return ALWAYS_KEYWORDS.has(word) || isIn(this.reading.keywords, word)
  }

  skipKeyword(word: string): boolean {
    const found = this.isKeyword(word)
    if (found) this.#at++
    return found
  }

  /** Returns the index of the token after the brace that closes the one `distance` ahead. */
  afterBraces(distance: number): number {
    let depth = 0
    for (let ahead = distance; ; ahead++) {
      const token = this.peek(ahead)
      if (token.kind === 'end') return ahead
      if (token.kind !== 'mark') continue
      if (token.text === '{') depth++
      if (token.text === '}' && --depth === 0) return ahead + 1
    }
  }

  /** Tries to parse; on failure returns undefined and restores the position. */
  attempt<T>(read: () => T): T | undefined {
    const at = this.#at
    const { depth, wildcardCount } = this.reading
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RegoCompileError)) throw error
      this.#at = at
      this.reading.depth = depth
      this.reading.wildcardCount = wildcardCount
      return undefined
    }
  }

  nested<T>(read: () => T): T {
    if (++this.reading.depth > NESTING_DEPTH_MAX) this.failHere('the text is nested too deeply')
    const result = read()
    this.reading.depth--
    return result
  }

  fail(at: number, message: string): never {
    throw new RegoCompileError({
      code: 'rego_parse_error',
      message,
      location: this.reading.source.locate(at),
    })
  }

  failHere(message: string): never {
    const { token } = this
    const found = token.kind === 'end' ? 'end of text' : `\`${this.textOf(token)}\``
    this.fail(token.at, `${message}, found ${found}`)
  }

  textOf(token: Token): string {
    const text = this.reading.source.text.slice(token.at, token.end)
    return text.length > 40 ? `${text.slice(0, 40)}…` : text
  }
}

function isIn(keywords: ReadonlySet<FutureKeyword>, word: string): boolean {
  // The set contains any string of the union; only its type is too narrow for a lookup.
  const words: ReadonlySet<string> = keywords
  return words.has(word)
}
