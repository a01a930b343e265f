import type { Token } from './token.ts'

/** The preceding tokens, as far as they affect spaces. */
export class Spacing {
  #previous: Token | undefined
  /** Whether the previous token was a unary sign, not a binary operator. */
  #isSign = false
  /** Kinds of the open brackets. */
  readonly #brackets: Bracket[] = []
  #last: Bracket | undefined
  #caseDepth = -1

  get previous(): Token | undefined {
    return this.#previous
  }

  get isSign(): boolean {
    return this.#isSign
  }

  /** The bracket that the previous token opened or closed. */
  get last(): Bracket | undefined {
    return this.#last
  }

  get inside(): Bracket | undefined {
    return this.#brackets.at(-1)
  }

  /**
   * Whether the position starts a new operand: after an opening bracket, a comma or the colon of a
   * clause.
   */
  get isAfterOpening(): boolean {
    const { text, kind } = this.#previous ?? { text: '{', kind: 'mark' }
    return (kind === 'mark' && /^[{([,:]$/.test(text)) || kind === 'end-of-statement'
  }

  /** Whether an operand is expected: a minus is then a sign, and a brace opens a map. */
  get expectsOperand(): boolean {
    const previous = this.#previous
    if (previous === undefined) return true
    const { kind, text } = previous
    if (kind === 'word') return !OPERAND_WORDS.has(text)
    return kind === 'mark' ? !/^[)\]}]$/.test(text) : kind === 'end-of-statement'
  }

  endStatement(): void {
    this.#previous = undefined
    this.#last = undefined
  }

  awaitCase(depth: number): void {
    this.#caseDepth = depth
  }

  takeCase(depth: number): boolean {
    if (this.#caseDepth !== depth) return false
    this.#caseDepth = -1
    return true
  }

  push(token: Token): void {
    const { kind, text } = token
    this.#isSign = kind === 'mark' && /^[-+!]$/.test(text) && this.expectsOperand
    this.#last = undefined
    if (kind === 'mark' && /^[({[]$/.test(text)) {
      this.#last = bracketOf(this, token)
      this.#brackets.push(this.#last)
    } else if (kind === 'mark' && /^[)}\]]$/.test(text)) this.#last = this.#brackets.pop()
    this.#previous = token
  }
}

type Bracket = 'group' | 'list' | 'index' | 'map' | 'block'

/** Words that end an operand, and `func`, `rule`, `else` and `case`, which a block may follow. */
const OPERAND_WORDS: ReadonlySet<string> = new Set(['empty', 'func', 'rule', 'case', 'break'])

function bracketOf(spacing: Spacing, { text }: Token): Bracket {
  if (text === '(') return 'group'
  if (text === '[') return spacing.expectsOperand ? 'list' : 'index'
  return isBlock(spacing) ? 'block' : 'map'
}

/** `else` between blocks is followed by a block; between values it is an operator. */
function isBlock(spacing: Spacing): boolean {
  const { previous } = spacing
  if (previous?.kind === 'word' && previous.text === 'else') return spacing.inside !== 'group'
  return !spacing.expectsOperand
}

/** Whether there is a space between the previous token and this one on the same line. */
export function spaceBetween(spacing: Spacing, token: Token): boolean {
  const { previous, last, isSign } = spacing
  const { kind, text } = token
  if (previous === undefined) return true
  if (isSign) return false
  if (kind === 'end-of-statement') return false
  if (kind === 'mark') return spaceBeforeMark(spacing, text)
  if (previous.kind !== 'mark') return true
  if (/^[([]$/.test(previous.text) || previous.text === '.') return false
  if (previous.text === '{') return last === 'block'
  return previous.text !== ':' || spacing.inside !== 'index'
}

function spaceBeforeMark(spacing: Spacing, text: string): boolean {
  const { previous, last, inside } = spacing
  const before = previous?.kind === 'mark' ? previous.text : ''
  // `1 .a` must not become the number `1.`.
  if (text === '.' && previous?.kind === 'int') return true
  if (text === ',' || text === '.' || text === ')' || text === ']') return false
  if (text === ':') return false
  if (text === '}') return inside === 'block' && before !== '{'
  if (before === '.' || before === '(' || before === '[') return false
  if (before === '{') return last === 'block'
  if (before === ':') return inside !== 'index'
  if (text === '(') return !isCallable(spacing)
  if (text === '[') return spacing.expectsOperand
  return true
}

/** `f(…)`, `a[0](…)`, `func(…)`: no space before the parenthesis. */
function isCallable({ previous, expectsOperand }: Spacing): boolean {
  if (previous?.kind === 'word') return previous.text === 'func'
  return !expectsOperand
}
