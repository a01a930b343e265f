import { toDecimal } from '../value/number.ts'
import { isArray, type SetValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString, chargedString, smallWholeOf, textsOf } from './operands.ts'
import { replaceAll, replacerOf } from '../text/replace.ts'
import { sprintf } from '../text/sprintf.ts'

const RADIXES: ReadonlyMap<Value, number> = new Map([2, 8, 10, 16].map((base) => [base, base]))

const TEXTS = ['string', 'set', 'array'] as const

export const STRING_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'concat', operands: ['string', ['set', 'array']], result: 'string' },
    (context, separator, parts) => {
      const texts = textsOf(context, parts, 2)
      if (texts === undefined) return undefined
      const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0)
      chargeForString(context, length)
      return texts.join(separator)
    },
  ),
  define(
    { name: 'format_int', operands: ['number', 'number'], result: 'string' },
    (context, value, base) => {
      const radix = RADIXES.get(base)
      if (radix === undefined) return context.failType('operand 2 must be one of {2, 8, 10, 16}')
      const { digits, exponent } = toDecimal(value)
      // Digits after the point are cut off.
      const whole =
        exponent >= 0 ? digits * 10n ** BigInt(exponent) : digits / 10n ** BigInt(-exponent)
      return chargedString(context, whole.toString(radix))
    },
  ),
  define(
    { name: 'sprintf', operands: ['string', 'array'], result: 'string' },
    (context, format, values) => sprintf(context, format, values),
  ),
  define(
    { name: 'replace', operands: ['string', 'string', 'string'], result: 'string' },
    (context, ...[text, old, by]) => replaceAll(context, text, replacerOf([[old, by]])),
  ),
  define(
    { name: 'strings.replace_n', operands: ['object', 'string'], result: 'string' },
    (context, patterns, text) => {
      const pairs: [string, string][] = []
      for (const [old, by] of patterns.entries()) {
        if (typeof old !== 'string')
          return context.failType('operand 1 non-string key found in pattern object')
        if (typeof by !== 'string')
          return context.failType('operand 1 non-string value found in pattern object')
        pairs.push([old, by])
      }
      return replaceAll(context, text, replacerOf(pairs))
    },
  ),
  define({ name: 'split', operands: ['string', 'string'], result: 'array' }, splitText),
  define(
    { name: 'strings.split_n', operands: ['string', 'string', 'number'], result: 'array' },
    (context, ...[text, separator, count]) => {
      const wanted = smallWholeOf(context, count, 3)
      if (wanted === undefined) return undefined
      // A number below zero counts from the end.
      const parts = splitText(context, text, separator)
      return wanted >= 0 ? parts.slice(0, wanted) : parts.slice(Math.max(parts.length + wanted, 0))
    },
  ),
  define({ name: 'strings.reverse', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length)
    return Array.from(text).toReversed().join('')
  }),
  ...cases('lower', (text) => text.replaceAll('İ', 'i').toLowerCase()),
  ...cases('upper', (text) => text.toUpperCase()),
  affixes('strings.any_prefix_match', (text) => text),
  affixes('strings.any_suffix_match', (text) => Array.from(text).toReversed().join('')),
]

/** Without a separator every character is a part. */
function splitText(context: CallContext, text: string, separator: string): readonly string[] {
  chargeForString(context, text.length)
  const parts = separator === '' ? Array.from(text) : text.split(separator)
  context.charge(parts.length)
  return parts
}

/**
 * Character by character: whole words would change by their neighbours, and one character must not
 * become several. Only `İ` is one of those and has a small letter of one character.
 */
function cases(name: string, change: (text: string) => string): readonly Builtin[] {
  return [
    define({ name, operands: ['string'], result: 'string' }, (context, text) => {
      chargeForString(context, text.length)
      if (isAscii(text)) return change(text)
      let changed = ''
      for (const character of text) {
        const one = change(character)
        changed += Array.from(one).length === 1 ? one : character
      }
      return changed
    }),
  ]
}

const ASCII = /^[\0-\x7f]*$/

function isAscii(text: string): boolean {
  return ASCII.test(text)
}

/** `turn` makes ends of texts their beginnings. */
function affixes(name: string, turn: (text: string) => string): Builtin {
  return define({ name, operands: [TEXTS, TEXTS], result: 'boolean' }, (context, search, base) => {
    const texts = oneOrMany(context, search, 1)
    if (texts === undefined) return undefined
    const wanted = oneOrMany(context, base, 2)
    if (wanted === undefined) return undefined
    for (const text of [...texts, ...wanted]) chargeForString(context, text.length)
    return startsWithAny(texts.map(turn), wanted.map(turn))
  })
}

function oneOrMany(
  context: CallContext,
  value: string | readonly Value[] | SetValue,
  position: number,
): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  return isArray(value) || value.kind === 'set' ? textsOf(context, value, position) : undefined
}

/** Texts that start with a prefix stand right behind it in order: two sorted lists, not n × m. */
function startsWithAny(texts: readonly string[], prefixes: readonly string[]): boolean {
  const sorted = texts.toSorted(byUnit)
  const wanted = prefixes.toSorted(byUnit)
  let at = 0
  for (const prefix of wanted) {
    while (at < sorted.length && byUnit(sorted[at] ?? '', prefix) < 0) at++
    if (sorted[at]?.startsWith(prefix) === true) return true
  }
  return false
}

function byUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
