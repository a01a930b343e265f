import { SOURCE_LENGTH_MAX, TOKEN_COUNT_MAX } from '../limits.ts'
import { wrapInt, type Int } from '../value/value.ts'
import { readQuoted } from './quoted.ts'
import { NativeSyntaxError, type Source } from './source.ts'
import { KEYWORDS, WORD_OPERATORS, type Token } from './token.ts'

/** Longest first: `<=` before `<`. */
const MARKS = [
  '+=',
  '-=',
  '*=',
  '/=',
  '%=',
  '==',
  '!=',
  '<=',
  '>=',
  ...'+-*/%<>=!()[]{},.:',
] as const

const IDENTIFIER = /[\p{L}_][\p{L}_\p{Nd}]*/uy
const BLANK = /[ \t\r]+/y
const LINE_COMMENT = /(?:#|\/\/)[^\n]*/y
const NUMBER =
  /0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+/y
const CONTINUES = /^\s*(?:(?:#|\/\/)[^\n]*\n\s*)*(?:\.[\p{L}_]|else\b(?!\s*:))/u

/** Keywords after which a line break may end a statement. */
const ENDING_WORDS: ReadonlySet<string> = new Set(['break', 'continue', 'return', 'empty'])
const ENDING_MARKS: ReadonlySet<string> = new Set([')', ']', '}'])

/** Splits text into tokens, with statement terminators. Throws a `NativeSyntaxError`. */
export function scan(source: Source): readonly Token[] {
  return new Scanner(source).all()
}

class Scanner {
  readonly #source: Source
  readonly #text: string
  readonly #tokens: Token[] = []
  /** `#` comments on the lines directly above the next token. */
  #comments: string[] = []
  #at = 0

  constructor(source: Source) {
    this.#source = source
    this.#text = source.text
  }

  all(): readonly Token[] {
    if (this.#text.length > SOURCE_LENGTH_MAX)
      this.#fail(0, `the text is longer than ${SOURCE_LENGTH_MAX} characters`)
    if (this.#text.startsWith('\uFEFF')) this.#at = 1
    while (this.#at < this.#text.length) this.#next()
    this.#endLine()
    this.#push({ kind: 'end-of-text', text: '', start: this.#at, end: this.#at })
    return this.#tokens
  }

  #next(): void {
    if (this.#skip(BLANK)) return
    const character = this.#text[this.#at] ?? ''
    if (character === '\n') return this.#newLine()
    if (character === '#' || this.#text.startsWith('//', this.#at)) return this.#lineComment()
    if (this.#text.startsWith('/*', this.#at)) return this.#blockComment()
    if (character === ';') return this.#semicolon()
    if (character === '"' || character === '`') return this.#string()
    if (/[0-9]/.test(character) || /^\.[0-9]/.test(this.#text.slice(this.#at, this.#at + 2)))
      return this.#number()
    const name = this.#match(IDENTIFIER)
    if (name !== undefined) return this.#word(name)
    this.#mark()
  }

  #newLine(): void {
    const wasBlank = this.#text[this.#at - 1] === '\n'
    if (wasBlank) this.#comments = []
    this.#endLine()
    this.#at++
  }

  /** Inserts a terminator where a line break ends a statement. */
  #endLine(): void {
    const last = this.#tokens.at(-1)
    if (last === undefined || !endsStatement(last)) return
    if (CONTINUES.test(this.#text.slice(this.#at, this.#at + CONTINUATION_WINDOW))) return
    const { end } = last
    this.#push({ kind: 'end-of-statement', text: ';', start: end, end, isImplied: true })
  }

  #lineComment(): void {
    const comment = this.#match(LINE_COMMENT) ?? ''
    if (comment.startsWith('#')) this.#comments.push(comment.slice(1).trim())
    this.#at += comment.length
  }

  #blockComment(): void {
    const end = this.#text.indexOf('*/', this.#at + 2)
    if (end === -1) this.#fail(this.#at, 'the comment is not closed: "*/" is missing')
    const hasNewline = this.#text.slice(this.#at, end).includes('\n')
    this.#at = end + 2
    if (hasNewline) this.#endLine()
  }

  #semicolon(): void {
    const start = this.#at++
    this.#push({ kind: 'end-of-statement', text: ';', start, end: this.#at })
  }

  #string(): void {
    const start = this.#at
    const read = readQuoted(this.#text, start)
    if ('problem' in read) return this.#fail(read.at, read.problem)
    this.#at = read.end
    this.#push({ kind: 'string', text: read.value, start, end: read.end })
  }

  #number(): void {
    const start = this.#at
    const text = this.#match(NUMBER) ?? ''
    this.#at += text.length
    const end = this.#at
    if (/^[\p{L}_\p{Nd}]/u.test(this.#text.slice(end, end + 2)))
      this.#fail(end, `${JSON.stringify(text)} is followed by a letter: a number ends before it`)
    if (/^0[xX]/.test(text) || !/[.eE]/.test(text))
      return this.#push({ kind: 'int', text, start, end, int: this.#int(text, start) })
    this.#push({ kind: 'float', text, start, end, float: Number(text) })
  }

  #int(text: string, start: number): Int {
    const isOctal = /^0[0-9]/.test(text)
    if (isOctal && /[89]/.test(text)) this.#fail(start, `"${text}" begins with 0 and is not octal`)
    const value = BigInt(isOctal ? `0o${text.slice(1)}` : text)
    // 2^63 is allowed only after a minus sign, where it wraps to the smallest int.
    const isNegated = this.#tokens.at(-1)?.text === '-' && this.#tokens.at(-1)?.kind === 'mark'
    if (value > 2n ** 63n || (value === 2n ** 63n && !isNegated))
      this.#fail(start, `"${text}" does not fit in 64 bits`)
    return wrapInt(value)
  }

  #word(text: string): void {
    const start = this.#at
    this.#at += text.length
    const end = this.#at
    // After a dot, keywords are selectors, even as the last token of a line.
    const isSelector = this.#tokens.at(-1)?.text === '.' && this.#tokens.at(-1)?.kind === 'mark'
    const isReserved = !isSelector && (KEYWORDS.has(text) || WORD_OPERATORS.has(text))
    this.#push({ kind: isReserved ? 'word' : 'identifier', text, start, end })
  }

  #mark(): void {
    const start = this.#at
    const text = MARKS.find((mark) => this.#text.startsWith(mark, start))
    if (text === undefined) {
      const character = String.fromCodePoint(this.#text.codePointAt(start) ?? 0)
      return this.#fail(start, `unexpected character ${JSON.stringify(character)}`)
    }
    this.#at += text.length
    this.#push({ kind: 'mark', text, start, end: this.#at })
  }

  #push(token: Token): void {
    if (this.#tokens.length >= TOKEN_COUNT_MAX)
      this.#fail(token.start, `the text has more than ${TOKEN_COUNT_MAX} tokens`)
    const isEnd = token.kind === 'end-of-statement'
    const described = !isEnd && this.#comments.length > 0
    this.#tokens.push(described ? { ...token, description: this.#comments.join('\n') } : token)
    if (!isEnd) this.#comments = []
  }

  #skip(pattern: RegExp): boolean {
    const found = this.#match(pattern)
    if (found === undefined) return false
    this.#at += found.length
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)?.[0]
  }

  #fail(at: number, message: string): never {
    throw new NativeSyntaxError(this.#source.problemAt(at, message))
  }
}

/** Maximum characters of comments and whitespace between a line and its continuation. */
const CONTINUATION_WINDOW = 2000

function endsStatement({ kind, text }: Token): boolean {
  if (kind === 'word') return ENDING_WORDS.has(text)
  if (kind === 'mark') return ENDING_MARKS.has(text)
  return kind === 'identifier' || kind === 'int' || kind === 'float' || kind === 'string'
}
