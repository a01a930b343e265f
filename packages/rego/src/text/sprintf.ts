import { isNumber, type Value } from '../value/value.ts'
import { isInteger, toBigInt, toDecimal, toDouble, type NumberValue } from '../value/number.ts'
import { formatValue } from '../value/format.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { addLength, chargeForString } from '../builtins/operands.ts'
import { formatArgument, typeName, type Argument, type Flags } from '@reeve/go-template/fmt'

/** A larger width or precision is not taken as one. */
const SIZE_MAX = 1_000_000

/** The verbs, flags and complaints of the language the first implementation is written in. */
export function sprintf(context: CallContext, format: string, values: readonly Value[]): string {
  const printer = new Printer(context, format, values.map(argumentOf))
  return printer.print()
}

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Everything that is neither number nor text is formatted as its text. */
function argumentOf(value: Value): Argument {
  if (typeof value === 'string') return { type: 'string', value }
  if (!isNumber(value)) return { type: 'string', value: formatValue(value) }
  // Larger than any double, and written with an exponent to begin with.
  if (!Number.isFinite(toDouble(value))) return { type: 'string', value: scientificText(value) }
  const whole = isInteger(value) ? toBigInt(value) : undefined
  if (whole === undefined) return { type: 'float64', value: toDouble(value) }
  return whole >= INT64_MIN && whole <= INT64_MAX
    ? { type: 'int64', value: whole }
    : { type: 'big.Int', value: whole }
}

function scientificText(value: NumberValue): string {
  const { digits, exponent } = toDecimal(value)
  return `${digits}e${exponent}`
}

const FLAG_NAMES: Readonly<Record<string, keyof Flags>> = {
  '+': 'plus',
  '-': 'minus',
  '#': 'sharp',
  ' ': 'space',
  '0': 'zero',
}

class Printer {
  readonly #context: CallContext
  readonly #format: string
  readonly #values: readonly Argument[]
  readonly #pieces: string[] = []
  #length = 0
  #at = 0
  /** The next value. */
  #next = 0
  #isReordered = false
  #isIndexGood = true
  /** An index stands right in front. */
  #isAfterIndex = false

  constructor(context: CallContext, format: string, values: readonly Argument[]) {
    this.#context = context
    this.#format = format
    this.#values = values
  }

  print(): string {
    chargeForString(this.#context, this.#format.length)
    for (;;) {
      const percent = this.#format.indexOf('%', this.#at)
      this.#put(this.#format.slice(this.#at, percent < 0 ? undefined : percent))
      if (percent < 0) break
      this.#at = percent + 1
      this.#printVerb()
    }
    if (!this.#isReordered && this.#next < this.#values.length) this.#printExtra()
    return this.#pieces.join('')
  }

  #put(text: string): void {
    this.#length = addLength(this.#context, this.#length, text.length)
    this.#pieces.push(text)
  }

  #printVerb(): void {
    this.#isIndexGood = true
    this.#isAfterIndex = false
    const flags = this.#takeFlags()
    this.#takeIndex()
    this.#takeWidth(flags)
    this.#takePrecision(flags)
    if (!this.#isAfterIndex) this.#takeIndex()
    const code = this.#format.codePointAt(this.#at)
    if (code === undefined) return this.#put('%!(NOVERB)')
    const verb = String.fromCodePoint(code)
    this.#at += verb.length
    if (verb === '%') return this.#put('%')
    if (!this.#isIndexGood) return this.#put(`%!${verb}(BADINDEX)`)
    const value = this.#values[this.#next]
    if (value === undefined) return this.#put(`%!${verb}(MISSING)`)
    this.#next++
    // Paid before it is padded.
    chargeForString(this.#context, (flags.width ?? 0) + (flags.precision ?? 0))
    this.#put(formatArgument(flags, verb, value))
  }

  #takeFlags(): Flags {
    const flags: Flags = { plus: false, minus: false, sharp: false, space: false, zero: false }
    for (;;) {
      const name = FLAG_NAMES[this.#format[this.#at] ?? '']
      if (name === undefined || name === 'width' || name === 'precision') return flags
      flags[name] = true
      this.#at++
    }
  }

  /** `[3]`: the value to take next, counted from one. */
  #takeIndex(): void {
    if (this.#format[this.#at] !== '[') return
    this.#isReordered = true
    const close = this.#format.indexOf(']', this.#at)
    const text = close < 0 ? '' : this.#format.slice(this.#at + 1, close)
    this.#at = close < 0 ? this.#at + 1 : close + 1
    const index = /^[0-9]{1,7}$/.test(text) ? Number(text) : 0
    if (index < 1 || index > this.#values.length) {
      this.#isIndexGood = false
      return
    }
    this.#next = index - 1
    this.#isAfterIndex = true
  }

  #takeWidth(flags: Flags): void {
    if (this.#format[this.#at] !== '*') {
      const width = this.#takeNumber()
      if (width === undefined) return
      flags.width = width
      if (this.#isAfterIndex) this.#isIndexGood = false
      return
    }
    this.#at++
    const width = this.#takeSize()
    this.#isAfterIndex = false
    if (width === undefined) return this.#put('%!(BADWIDTH)')
    flags.width = Math.abs(width)
    if (width < 0) flags.minus = true
  }

  #takePrecision(flags: Flags): void {
    if (this.#format[this.#at] !== '.') return
    this.#at++
    if (this.#isAfterIndex) this.#isIndexGood = false
    this.#isAfterIndex = false
    this.#takeIndex()
    if (this.#format[this.#at] !== '*') {
      flags.precision = this.#takeNumber() ?? 0
      return
    }
    this.#at++
    const precision = this.#takeSize()
    this.#isAfterIndex = false
    if (precision === undefined) return this.#put('%!(BADPREC)')
    if (precision >= 0) flags.precision = precision
  }

  #takeNumber(): number | undefined {
    const start = this.#at
    while (isDigit(this.#format.charCodeAt(this.#at))) this.#at++
    if (start === this.#at) return undefined
    const number = Number(this.#format.slice(start, this.#at))
    return number <= SIZE_MAX ? number : undefined
  }

  /** A width or a precision that is a value. */
  #takeSize(): number | undefined {
    const value = this.#values[this.#next]
    if (value === undefined) return undefined
    this.#next++
    const size = value.type === 'int64' ? Number(value.value) : undefined
    return size === undefined || Math.abs(size) > SIZE_MAX ? undefined : size
  }

  #printExtra(): void {
    const plain: Flags = { plus: false, minus: false, sharp: false, space: false, zero: false }
    const extra = this.#values
      .slice(this.#next)
      .map((value) => `${typeName(value)}=${formatArgument(plain, 'v', value)}`)
    this.#put(`%!(EXTRA ${extra.join(', ')})`)
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
