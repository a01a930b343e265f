import { NESTING_DEPTH_MAX, SOURCE_LENGTH_MAX, TOKEN_COUNT_MAX } from '../limits.ts'
import { parseNumber } from '../value/number.ts'
import { RegoCompileError, type Source } from './source.ts'
import type { Comment, TemplatePiece, Token } from './token.ts'

/** Longer marks first: the first that fits is the mark. */
const MARKS = ':= == != <= >= { } [ ] ( ) , ; : . = < > | & + - * / %'.split(' ')
const MARKS_BY_START = Map.groupBy(MARKS, (mark) => mark.charAt(0))

const SPACE = /[ \t\r\n]*/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /(?:0|[1-9][0-9]*)?(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const NUMBER_START = /[0-9]|\.[0-9]/y

export interface Scanned {
  readonly tokens: readonly Token[]
  readonly comments: readonly Comment[]
}

/** The tokens of a module, ended by one of kind `end`. Throws RegoCompileError. */
export function scan(source: Source): Scanned {
  const scanner = new Scanner(source)
  if (source.text.length > SOURCE_LENGTH_MAX)
    scanner.fail(0, `the text is longer than ${SOURCE_LENGTH_MAX} characters`)
  return { tokens: scanner.scanUntil('end', 0), comments: scanner.comments }
}

class Scanner {
  readonly comments: Comment[] = []
  readonly #source: Source
  readonly #text: string
  #at = 0
  #row = 1
  #tokenCount = 0

  constructor(source: Source) {
    this.#source = source
    this.#text = source.text
    // Editors of some systems begin files with a byte order mark.
    if (source.text.startsWith('\ufeff')) this.#at = 1
  }

  fail(at: number, message: string): never {
    throw new RegoCompileError({
      code: 'rego_parse_error',
      message,
      location: this.#source.locate(at),
    })
  }

  /** Up to the end of the text, or up to and past the brace that ends a template expression. */
  scanUntil(end: 'end' | 'brace', depth: number): Token[] {
    if (depth > NESTING_DEPTH_MAX) this.fail(this.#at, 'the templates are nested too deeply')
    const tokens: Token[] = []
    let braces = 0
    for (;;) {
      const isSpaced = this.#skipSpace()
      const token = this.#next(isSpaced, depth)
      if (++this.#tokenCount > TOKEN_COUNT_MAX)
        this.fail(token.at, `the text has more than ${TOKEN_COUNT_MAX} tokens`)
      if (token.kind === 'end' && end === 'brace')
        this.fail(token.at, 'the template expression is not closed')
      if (end === 'brace' && token.kind === 'mark') {
        if (token.text === '{') braces++
        if (token.text === '}' && braces-- === 0)
          return [...tokens, { ...token, kind: 'end', text: '' }]
      }
      tokens.push(token)
      if (token.kind === 'end') return tokens
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)?.[0] ?? ''
  }

  #skipSpace(): boolean {
    const start = this.#at
    for (;;) {
      this.#advance(this.#match(SPACE))
      if (this.#text[this.#at] !== '#') return this.#at > start || start === 0
      const newline = this.#text.indexOf('\n', this.#at)
      const end = newline === -1 ? this.#text.length : newline
      this.comments.push({
        row: this.#row,
        column: this.#source.locate(this.#at).column,
        text: this.#text.slice(this.#at + 1, end),
      })
      this.#at = end
    }
  }

  #advance(text: string): void {
    this.#at += text.length
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#row++
  }

  #next(isSpaced: boolean, depth: number): Token {
    const at = this.#at
    const row = this.#row
    const place = (end: number) => ({ at, end, row, isSpaced })
    const first = this.#text[at]
    if (first === undefined) return { kind: 'end', text: '', ...place(at) }
    if (first === '"' || first === '`') {
      const text = first === '"' ? this.#readQuoted() : this.#readRaw()
      return { kind: 'string', text, ...place(this.#at) }
    }
    if (first === '$') {
      const parts = this.#readTemplate(depth)
      return { kind: 'template', text: '', parts, ...place(this.#at) }
    }
    const name = this.#match(NAME)
    if (name !== '') {
      this.#at += name.length
      return { kind: 'name', text: name, ...place(this.#at) }
    }
    if (this.#match(NUMBER_START) !== '') return this.#readNumber(place)
    const mark = MARKS_BY_START.get(first)?.find((known) => this.#text.startsWith(known, at))
    if (mark === undefined) this.fail(at, `illegal token: ${JSON.stringify(first)}`)
    this.#at += mark.length
    return { kind: 'mark', text: mark, ...place(this.#at) }
  }

  #readNumber(place: (end: number) => Pick<Token, 'at' | 'end' | 'row' | 'isSpaced'>): Token {
    const text = this.#match(NUMBER)
    const start = this.#at
    this.#at += text.length
    const number = parseNumber(text)
    if (number === undefined || /[0-9A-Za-z_]/.test(this.#text.charAt(this.#at)))
      this.fail(start, 'illegal number format')
    return { kind: 'number', text, number, ...place(this.#at) }
  }

  #readRaw(): string {
    const end = this.#text.indexOf('`', this.#at + 1)
    if (end === -1) this.fail(this.#at, 'the raw string is not closed')
    const whole = this.#text.slice(this.#at, end + 1)
    this.#advance(whole)
    return whole.slice(1, -1)
  }

  #readQuoted(): string {
    const start = this.#at++
    let text = ''
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined || character === '\n')
        this.fail(start, 'the string is not closed')
      this.#at++
      if (character === '"') return text
      text += character === '\\' ? this.#readEscape() : character
    }
  }

  /** After the backslash. */
  #readEscape(): string {
    const character = this.#text[this.#at] ?? ''
    const plain = ESCAPES.get(character)
    this.#at++
    if (plain !== undefined) return plain
    const hex = this.#text.slice(this.#at, this.#at + 4)
    if (character !== 'u' || !/^[0-9A-Fa-f]{4}$/.test(hex))
      this.fail(this.#at - 2, 'illegal string escape sequence')
    this.#at += 4
    return String.fromCharCode(Number.parseInt(hex, 16))
  }

  #readTemplate(depth: number): TemplatePiece[] {
    const start = this.#at
    const quote = this.#text[start + 1] ?? ''
    if (quote !== '"' && quote !== '`') this.fail(start, 'illegal token: "$"')
    this.#at += 2
    const pieces: TemplatePiece[] = []
    let text = ''
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined || (character === '\n' && quote === '"'))
        this.fail(start, 'the template string is not closed')
      this.#advance(character)
      if (character === quote) return [...pieces, text]
      if (character === '{') {
        pieces.push(text, this.scanUntil('brace', depth + 1))
        text = ''
      } else text += character === '\\' ? this.#readTemplateEscape(quote) : character
    }
  }

  /** A raw template knows `\{` only. */
  #readTemplateEscape(quote: string): string {
    if (this.#text[this.#at] === '{') {
      this.#at++
      return '{'
    }
    return quote === '`' ? '\\' : this.#readEscape()
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])
