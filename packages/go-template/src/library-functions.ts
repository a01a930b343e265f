import { EMBEDDED_JSON_MEMORY_BYTES_MAX, exactJsonMemoryBytes } from '@reeve/kit/json.ts'
import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { compileRegex, type RE2JS } from '@reeve/kit/regex.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import { hmac, MD5, SHA256 } from '@reeve/kit/hash.ts'
import { toDateTimeFields } from './time/calendar.ts'
import { formatTime } from './time/time-layout.ts'
import { parseYaml, writeYaml } from '@reeve/kit/yaml/index.ts'
import { count, int64, list, map, text } from './argument.ts'
import {
  constantCost,
  ELEMENT_BYTES,
  deepCost,
  encodingCost,
  escapingCost,
  parseCost,
  patternCost,
  searchCost,
  shallowCost,
  textCost,
  tooLong,
  type ByteBudget,
} from './budget.ts'
import { functionTable, type FunctionEntry, type TemplateFunctions } from './function-table.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { fail } from './template-error.ts'
import { fromPlain, isMap, isTrue, printValue, toPlain, typeNameOf, type Value } from './value.ts'

/**
 * Functions that templates of tasks may call in addition to the language's own. The piped value is
 * the last argument.
 */
export const HELPER_FUNCTIONS: TemplateFunctions = functionTable([
  ...textFunctions(),
  ...listFunctions(),
  ...numberFunctions(),
  ...codeFunctions(),
  ...sprigFunctions(),
])

type Entries = readonly FunctionEntry[]

function textFunctions(): Entries {
  return [
    ['toLower', textCost, (value) => text(value).toLowerCase()],
    ['toUpper', textCost, (value) => text(value).toUpperCase()],
    ['toTitle', textCost, (value) => titled(text(value))],
    ['trimSpace', textCost, (value) => text(value).trim()],
    ['trim', textCost, (cut, value) => trimmed(text(value), text(cut))],
    ['trimPrefix', textCost, (prefix, value) => withoutPrefix(text(value), text(prefix))],
    ['trimSuffix', textCost, (suffix, value) => withoutSuffix(text(value), text(suffix))],
    ['replaceAll', replaceCost, (from, to, value) => replaced(text(value), text(from), text(to))],
    [
      'regexMatch',
      patternCost,
      (pattern, value) => compiled(text(pattern)).matcher(text(value)).find(),
    ],
    [
      'regexReplaceAll',
      patternCost,
      (pattern, to, value) => replacedMatches(compiled(text(pattern)), text(value), text(to)),
    ],
    ['indent', textCost, (spaces, value) => indented(text(value), count(spaces))],
    ['split', textCost, (mark, value) => splitText(text(value), text(mark))],
    ['join', deepCost, (mark, value) => joined(list(value), text(mark))],
    ['contains', deepCost, (item, value) => isIn(value, item)],
    ['in', deepCost, (value, item) => isIn(value, item)],
    ['containsAll', searchCost, (items, value) => list(items).every((item) => isIn(value, item))],
    ['containsAny', searchCost, (items, value) => list(items).some((item) => isIn(value, item))],
    ['containsNone', searchCost, (items, value) => !list(items).some((item) => isIn(value, item))],
    [
      'containsNotAll',
      searchCost,
      (items, value) => !list(items).every((item) => isIn(value, item)),
    ],
  ]
}

function listFunctions(): Entries {
  return [
    ['loop', constantCost, (...bounds) => counted(bounds.map(count))],
    ['mergeMap', shallowCost, (over, under) => new Map([...map(under), ...map(over)])],
    ['explodeMap', deepCost, (value) => exploded(map(value))],
  ]
}

function numberFunctions(): Entries {
  return [
    [
      'add',
      constantCost,
      (b, a) => calculate(a, b, { whole: (x, y) => x + y, broken: (x, y) => x + y }),
    ],
    [
      'subtract',
      constantCost,
      (b, a) => calculate(a, b, { whole: (x, y) => x - y, broken: (x, y) => x - y }),
    ],
    [
      'multiply',
      constantCost,
      (b, a) => calculate(a, b, { whole: (x, y) => x * y, broken: (x, y) => x * y }),
    ],
    [
      'divide',
      constantCost,
      (b, a) => calculate(a, notZero(b), { whole: (x, y) => x / y, broken: (x, y) => x / y }),
    ],
    [
      'modulo',
      constantCost,
      (b, a) =>
        calculate(a, notZero(b), {
          whole: (x, y) => x % y,
          broken: () => fail('modulo wants whole numbers'),
        }),
    ],
    [
      'minimum',
      constantCost,
      (b, a) => calculate(a, b, { whole: (x, y) => (x < y ? x : y), broken: Math.min }),
    ],
    [
      'maximum',
      constantCost,
      (b, a) => calculate(a, b, { whole: (x, y) => (x > y ? x : y), broken: Math.max }),
    ],
    ['parseInt', textCost, (value) => parseWhole(text(value))],
    [
      'parseUint',
      textCost,
      (value) => {
        const whole = parseWhole(text(value))
        return whole < 0n ? fail('it is negative') : whole
      },
    ],
    ['parseFloat', textCost, (value) => parseBroken(text(value))],
    ['parseBool', textCost, (value) => parseBoolean(text(value))],
  ]
}

function codeFunctions(): Entries {
  return [
    ['base64Encode', encodingCost, (value) => encodeBase64(encodeUtf8(text(value)))],
    ['base64Decode', encodingCost, (value) => decoded(text(value))],
    [
      'base64URLEncode',
      encodingCost,
      (value) =>
        encodeBase64(encodeUtf8(text(value)))
          .replaceAll('+', '-')
          .replaceAll('/', '_'),
    ],
    [
      'base64URLDecode',
      encodingCost,
      (value) => decoded(text(value).replaceAll('-', '+').replaceAll('_', '/')),
    ],
    ['sha256Hex', encodingCost, (value) => encodeHex(SHA256.digest(encodeUtf8(text(value))))],
    ['md5sum', encodingCost, (value) => encodeHex(MD5.digest(encodeUtf8(text(value))))],
    [
      'hmacSHA256Hex',
      encodingCost,
      (message, key) => encodeHex(hmac(SHA256, encodeUtf8(text(key)), encodeUtf8(text(message)))),
    ],
    ['parseJSON', parseCost, (value) => readJson(text(value))],
    ['toJSON', escapingCost, (value) => escapeMarks(JSON.stringify(toPlain(value)))],
    ['toJSONPretty', escapingCost, (value) => escapeMarks(JSON.stringify(toPlain(value), null, 2))],
    ['toUnescapedJSON', escapingCost, (value) => JSON.stringify(toPlain(value))],
    ['toUnescapedJSONPretty', escapingCost, (value) => JSON.stringify(toPlain(value), null, 2)],
    ['parseYAML', parseCost, (value) => readYaml(text(value))],
    ['toYAML', escapingCost, (value) => writeYaml(toPlain(value)).trim()],
  ]
}

/** The most used functions of the Sprig library, with their usual prefix. */
function sprigFunctions(): Entries {
  const functions: Entries = [
    ['default', constantCost, (fallback, value) => (isTrue(value) ? value : fallback)],
    ['empty', constantCost, (value) => !isTrue(value)],
    ['coalesce', constantCost, (...values) => values.find(isTrue)],
    ['ternary', constantCost, (yes, no, isYes) => (isTrue(isYes) ? yes : no)],
    ['upper', textCost, (value) => text(value).toUpperCase()],
    ['lower', textCost, (value) => text(value).toLowerCase()],
    ['title', textCost, (value) => titled(text(value))],
    ['trim', textCost, (value) => text(value).trim()],
    ['trimAll', textCost, (cut, value) => trimmed(text(value), text(cut))],
    ['trimPrefix', textCost, (prefix, value) => withoutPrefix(text(value), text(prefix))],
    ['trimSuffix', textCost, (suffix, value) => withoutSuffix(text(value), text(suffix))],
    ['replace', replaceCost, (from, to, value) => replaced(text(value), text(from), text(to))],
    ['contains', textCost, (part, value) => text(value).includes(text(part))],
    ['hasPrefix', textCost, (prefix, value) => text(value).startsWith(text(prefix))],
    ['hasSuffix', textCost, (suffix, value) => text(value).endsWith(text(suffix))],
    [
      'quote',
      escapingCost,
      (...values) => values.map((value) => JSON.stringify(printValue(value, true))).join(' '),
    ],
    [
      'squote',
      deepCost,
      (...values) => values.map((value) => `'${printValue(value, true)}'`).join(' '),
    ],
    ['repeat', textCost, (times, value) => repeated(text(value), count(times))],
    ['indent', textCost, (spaces, value) => indented(text(value), count(spaces))],
    ['nindent', textCost, (spaces, value) => `\n${indented(text(value), count(spaces))}`],
    ['join', deepCost, (mark, value) => joined(list(value), text(mark))],
    ['splitList', textCost, (mark, value) => splitText(text(value), text(mark))],
    ['list', constantCost, (...values) => values],
    ['first', constantCost, (value) => list(value)[0]],
    ['last', constantCost, (value) => list(value).at(-1)],
    ['has', deepCost, (item, value) => isIn(value, item)],
    ['uniq', deepCost, (value) => [...new Set(list(value))]],
    ['dict', constantCost, (...values) => dictionary(values)],
    ['keys', shallowCost, (value) => [...map(value).keys()].toSorted((a, b) => (a < b ? -1 : 1))],
    ['values', shallowCost, (value) => [...map(value).values()]],
    ['hasKey', constantCost, (value, key) => map(value).has(text(key))],
    ['get', constantCost, (value, key) => map(value).get(text(key)) ?? ''],
    ['toString', deepCost, (value) => printValue(value, true)],
    [
      'int',
      textCost,
      (value) =>
        typeof value === 'string'
          ? parseWhole(value)
          : typeof value === 'number'
            ? BigInt(Math.trunc(value))
            : value,
    ],
    ['b64enc', encodingCost, (value) => encodeBase64(encodeUtf8(text(value)))],
    ['b64dec', encodingCost, (value) => decoded(text(value))],
    ['sha256sum', encodingCost, (value) => encodeHex(SHA256.digest(encodeUtf8(text(value))))],
    ['fail', textCost, (message) => fail(text(message))],
  ]
  return functions.map(([name, cost, call]) => [`sprig_${name}`, cost, call] as const)
}

/** Time functions, evaluated at a fixed time. */
export function timeFunctions(nowMs: number): TemplateFunctions {
  const at = (layout: string): string =>
    formatTime(toDateTimeFields(BigInt(nowMs) * 1_000_000n, 0, 'UTC'), layout)
  return functionTable([
    [
      'timestamp',
      textCost,
      (layout) => {
        if (layout === undefined) return at('2006-01-02T15:04:05Z07:00')
        return layout === 'unix' ? String(Math.floor(nowMs / 1_000)) : at(text(layout))
      },
    ],
  ])
}

function titled(value: string): string {
  return value.replace(/(^|[^\p{L}\p{N}_'])(\p{Ll})/gu, (_, before: string, letter: string) => {
    return `${before}${letter.toUpperCase()}`
  })
}

function trimmed(value: string, cut: string): string {
  const marks = new Set(cut)
  let from = 0
  for (const character of value) {
    if (!marks.has(character)) break
    from += character.length
  }
  let to = value.length
  while (to > from) {
    const isPair = isLowSurrogate(value.charCodeAt(to - 1)) && to - from > 1
    const character = isPair ? value.slice(to - 2, to) : value.charAt(to - 1)
    if (!marks.has(character)) break
    to -= character.length
  }
  return value.slice(from, to)
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

function withoutPrefix(value: string, prefix: string): string {
  return value.startsWith(prefix) ? value.slice(prefix.length) : value
}

function withoutSuffix(value: string, suffix: string): string {
  return suffix !== '' && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value
}

/** Each replacement costs as much as an element of a list, even if it is empty. */
function replaceCost(args: readonly Value[], budget: ByteBudget): void {
  textCost(args, budget)
  const [from, , value] = args
  budget.charge(occurrences(text(value), text(from)) * ELEMENT_BYTES)
}

function replaced(value: string, from: string, to: string): string {
  tooLong(value.length + occurrences(value, from) * to.length)
  // `$$` inserts one `$`. A function instead of a string would be called for each of millions of
  // matches.
  return value.replaceAll(from, to.replaceAll('$', '$$$$'))
}

/** Charged before the result is built, so that an oversized text or list is never allocated. */
function occurrences(value: string, part: string): number {
  if (part === '') return value.length + 1
  let found = 0
  for (let at = value.indexOf(part); at >= 0; at = value.indexOf(part, at + part.length)) found += 1
  return found
}

function splitText(value: string, mark: string): readonly string[] {
  if (occurrences(value, mark) >= TEMPLATE_LIMITS.listItemsMax) fail('the list becomes too long')
  return value.split(mark)
}

/** `$1` and `${name}` have the same meaning in both libraries. */
function replacedMatches(pattern: RE2JS, value: string, to: string): string {
  if (value.length * (1 + to.length) > TEMPLATE_LIMITS.outputCharsMax) {
    let [matches, matchedChars] = [0, 0]
    const matcher = pattern.matcher(value)
    while (matcher.find()) {
      matches += 1
      matchedChars += matcher.end() - matcher.start()
    }
    // Each reference to a group is replaced by a part of the match.
    const references = occurrences(to, '$')
    tooLong(value.length + matches * to.length + matchedChars * references)
  }
  return pattern.matcher(value).replaceAll(to, true)
}

function repeated(value: string, times: number): string {
  tooLong(value.length * times)
  return value.repeat(Math.max(0, times))
}

function indented(value: string, spaces: number): string {
  if (spaces < 0) return fail('indent is negative')
  tooLong(value.length + (occurrences(value, '\n') + 1) * spaces)
  const margin = ' '.repeat(spaces)
  return `${margin}${value.replaceAll('\n', `\n${margin}`)}`
}

function joined(values: readonly Value[], mark: string): string {
  tooLong(values.length * mark.length)
  return values.map((value) => printValue(value, true)).join(mark)
}

function compiled(pattern: string): RE2JS {
  const regex = compileRegex(pattern, PATTERN_LIMITS)
  return regex.ok ? regex.value.regex : fail(regex.error.message)
}

const PATTERN_LIMITS = {
  lengthMax: TEMPLATE_LIMITS.patternInstructionsMax,
  sizeMax: TEMPLATE_LIMITS.patternInstructionsMax,
}

function isIn(value: Value, item: Value): boolean {
  if (typeof value === 'string') return value.includes(text(item))
  if (isMap(value)) return value.has(text(item))
  return list(value).includes(item)
}

function counted(bounds: readonly number[]): readonly Value[] {
  const [from, to] = bounds.length > 1 ? [bounds[0] ?? 0, bounds[1] ?? 0] : [0, bounds[0] ?? 0]
  if (to - from > TEMPLATE_LIMITS.listItemsMax) return fail('the loop is too long')
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => BigInt(from + index))
}

/** Splits keys at slashes: `a/b` = 1 becomes key `b` of map `a`. */
function exploded(flat: ReadonlyMap<string, Value>): Value {
  const root = new Map<string, Value>()
  for (const [path, value] of flat) {
    const parts = path.split('/').filter((part) => part !== '')
    if (parts.length > TEMPLATE_LIMITS.depthMax) return fail('a key has too many parts')
    let at = root
    for (const part of parts.slice(0, -1)) {
      const next = at.get(part)
      const inner = next instanceof Map ? next : new Map<string, Value>()
      at.set(part, inner)
      at = inner
    }
    const name = parts.at(-1)
    if (name !== undefined) at.set(name, value)
  }
  return root
}

interface Operation {
  readonly whole: (a: bigint, b: bigint) => bigint
  readonly broken: (a: number, b: number) => number
}

function calculate(a: Value, b: Value, { whole, broken }: Operation): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return int64(whole(a, b))
  if (isNumber(a) && isNumber(b)) return broken(Number(a), Number(b))
  return fail(`wrong type for calculation: ${typeNameOf(a)} and ${typeNameOf(b)}`)
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function notZero(value: Value): Value {
  return value === 0n || value === 0 ? fail('division by zero') : value
}

function parseWhole(value: string): bigint {
  if (value === '') return 0n
  if (!/^[+-]?\d{1,19}$/.test(value)) return fail(`${JSON.stringify(value)} is no whole number`)
  const whole = BigInt(value.replace(/^\+/, ''))
  return whole === int64(whole) ? whole : fail(`${value} is out of range`)
}

function parseBroken(value: string): number {
  const number = value === '' ? 0 : Number(value)
  return Number.isNaN(number) || value.trim() !== value
    ? fail(`${JSON.stringify(value)} is no number`)
    : number
}

function parseBoolean(value: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true
  if (['', '0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false
  return fail(`${JSON.stringify(value)} is neither true nor false`)
}

function decoded(value: string): string {
  const bytes = decodeBase64(value)
  return (bytes === undefined ? undefined : decodeUtf8(bytes)) ?? fail('it is no base64 of a text')
}

function readJson(value: string): Value {
  if (value === '') return new Map()
  if (exactJsonMemoryBytes(value) > EMBEDDED_JSON_MEMORY_BYTES_MAX)
    return fail('the JSON has too many values')
  try {
    return fromPlain(JSON.parse(value))
  } catch {
    return fail('it is no JSON')
  }
}

/** Go's encoder escapes JSON for use in HTML. */
function escapeMarks(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (mark) => {
    return `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function readYaml(value: string): Value {
  if (value === '') return new Map()
  const parsed = parseYaml(value)
  return parsed.ok ? fromPlain(parsed.value, true) : fail('it is no YAML')
}

function dictionary(values: readonly Value[]): Value {
  const entries = new Map<string, Value>()
  for (let at = 0; at < values.length; at += 2) entries.set(text(values[at]), values[at + 1])
  return entries
}
