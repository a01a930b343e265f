import { fail } from './template-error.ts'

export interface Delimiters {
  readonly left: string
  readonly right: string
}

export type TokenKind =
  | 'identifier'
  | 'field'
  | 'variable'
  | 'dot'
  | 'number'
  | 'string'
  | 'character'
  | 'mark'

export interface Token {
  readonly kind: TokenKind
  /** Value of a string or character, name of a field, otherwise the source text. */
  readonly text: string
  readonly isSpaced: boolean
}

/** A template is a sequence of text and actions. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly tokens: readonly Token[]; readonly line: number }

const BLANKS = ' \t\r\n'

/** Splits a template into text and actions, and trims the whitespace next to `{{-` and `-}}`. */
export function scanTemplate(source: string, { left, right }: Delimiters): readonly Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let isTrimmed = false
  let line = 1
  let counted = 0
  while (at < source.length) {
    const open = source.indexOf(left, at)
    const end = open < 0 ? source.length : open
    const afterOpen = open + left.length
    const trimsBefore = open >= 0 && source[afterOpen] === '-' && isBlank(source[afterOpen + 1])
    pieces.push({ kind: 'text', text: trimmed(source.slice(at, end), isTrimmed, trimsBefore) })
    if (open < 0) break
    line += countLines(source, counted, open)
    counted = open
    const scanner = new ActionScanner(source, afterOpen + (trimsBefore ? 2 : 0), { right, line })
    const tokens = scanner.isComment() ? undefined : scanner.tokens()
    if (tokens !== undefined) pieces.push({ kind: 'action', tokens, line })
    at = scanner.end
    isTrimmed = scanner.trimsAfter
  }
  return pieces
}

function trimmed(text: string, start: boolean, end: boolean): string {
  const head = start ? text.replace(/^[ \t\r\n]+/, '') : text
  if (!end) return head
  let length = head.length
  while (length > 0 && isBlank(head[length - 1])) length -= 1
  return head.slice(0, length)
}

function isBlank(character: string | undefined): boolean {
  return character !== undefined && BLANKS.includes(character)
}

function countLines(source: string, from: number, to: number): number {
  let count = 0
  for (let at = source.indexOf('\n', from); at >= 0 && at < to; at = source.indexOf('\n', at + 1)) {
    count += 1
  }
  return count
}

const NUMBER =
  /[+-]?(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(\d[\d_]*)?(\.\d+)?([eE][+-]?\d+)?)/y
const WORD = /[\p{L}_][\p{L}\p{Nd}_]*/uy

class ActionScanner {
  readonly #source: string
  readonly #right: string
  readonly #line: number
  #at: number
  end = 0
  trimsAfter = false

  constructor(
    source: string,
    at: number,
    options: { readonly right: string; readonly line: number },
  ) {
    this.#source = source
    this.#at = at
    this.#right = options.right
    this.#line = options.line
  }

  /** Reports whether the action is a comment, which must fill the action. */
  isComment(): boolean {
    if (!this.#source.startsWith('/*', this.#at)) return false
    const close = this.#source.indexOf('*/', this.#at + 2)
    if (close < 0) this.#fail('unclosed comment')
    this.#at = close + 2
    if (!this.#atEnd()) this.#fail('comment ends before closing delimiter')
    return true
  }

  tokens(): readonly Token[] {
    const tokens: Token[] = []
    for (;;) {
      if (this.#atEnd()) return tokens
      const start = this.#at
      while (isBlank(this.#source[this.#at])) this.#at += 1
      const isSpaced = this.#at > start
      if (this.#atEnd()) return tokens
      if (this.#at >= this.#source.length) this.#fail('unclosed action')
      tokens.push({ ...this.#next(), isSpaced })
    }
  }

  #atEnd(): boolean {
    const source = this.#source
    // A trim marker requires whitespace before it; otherwise it is a minus.
    const marker = /[ \t\r\n]+-/y
    marker.lastIndex = this.#at
    const close = marker.test(source) ? marker.lastIndex : -1
    if (close >= 0 && source.startsWith(this.#right, close)) {
      this.end = close + this.#right.length
      this.trimsAfter = true
      return true
    }
    // The whitespace may have been skipped already.
    const isMarked =
      source[this.#at] === '-' &&
      isBlank(source[this.#at - 1]) &&
      source.startsWith(this.#right, this.#at + 1)
    if (!isMarked && !source.startsWith(this.#right, this.#at)) return false
    this.end = this.#at + (isMarked ? 1 : 0) + this.#right.length
    this.trimsAfter = isMarked
    return true
  }

  #next(): Omit<Token, 'isSpaced'> {
    const character = this.#source[this.#at] ?? ''
    if (character === '"' || character === "'") return this.#quoted(character)
    if (character === '`') return this.#raw()
    if (character === '$') {
      this.#at += 1
      return { kind: 'variable', text: `$${this.#match(WORD)}` }
    }
    if (character === '.' && !/\d/.test(this.#source[this.#at + 1] ?? '')) {
      this.#at += 1
      const name = this.#match(WORD)
      return name === '' ? { kind: 'dot', text: '.' } : { kind: 'field', text: name }
    }
    const word = this.#match(WORD)
    if (word !== '') return { kind: 'identifier', text: word }
    if (this.#source.startsWith(':=', this.#at)) return this.#mark(':=')
    if ('()|,='.includes(character)) return this.#mark(character)
    const number = this.#match(NUMBER)
    if (/\d/.test(number)) return { kind: 'number', text: number }
    return this.#fail(`unexpected ${JSON.stringify(character)} in action`)
  }

  #mark(text: string): Omit<Token, 'isSpaced'> {
    this.#at += text.length
    return { kind: 'mark', text }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#source)?.[0] ?? ''
    this.#at += text.length
    return text
  }

  #raw(): Omit<Token, 'isSpaced'> {
    const close = this.#source.indexOf('`', this.#at + 1)
    if (close < 0) this.#fail('unterminated raw quoted string')
    const text = this.#source.slice(this.#at + 1, close)
    this.#at = close + 1
    return { kind: 'string', text }
  }

  #quoted(quote: string): Omit<Token, 'isSpaced'> {
    let text = ''
    for (let at = this.#at + 1; ;) {
      const character = this.#source[at]
      if (character === undefined || character === '\n')
        return this.#fail('unterminated quoted string')
      at += 1
      if (character === quote) {
        this.#at = at
        return { kind: quote === '"' ? 'string' : 'character', text }
      }
      if (character !== '\\') {
        text += character
        continue
      }
      const escape = ESCAPE.exec(this.#source.slice(at, at + 10))
      if (escape === null) return this.#fail('unknown escape sequence')
      text += unescaped(escape[0])
      at += escape[0].length
    }
  }

  #fail(message: string): never {
    return fail(`line ${this.#line}: ${message}`)
  }
}

const ESCAPE = /^([abfnrtv\\'"]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3})/
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

function unescaped(escape: string): string {
  const first = escape[0] ?? ''
  if (escape.length === 1) return SIMPLE[first] ?? first
  const code = /^[xuU]/.test(first)
    ? Number.parseInt(escape.slice(1), 16)
    : Number.parseInt(escape, 8)
  return code > 0x10ffff ? fail('escape sequence is no character') : String.fromCodePoint(code)
}
