import { RE2JS, RE2JSException } from 're2js'
import { decodeBase64, encodeBase64 } from '../../kit/base64.ts'
import { encodeHex } from '../../kit/hex.ts'
import { md5 } from '../../kit/md5.ts'
import { sha256 } from '../../kit/sha256.ts'
import { decodeUtf8, encodeUtf8 } from '../../kit/utf8.ts'
import { hmac, SHA256 } from '../rego/crypt/hash.ts'
import { clockFace } from '../rego/time/calendar.ts'
import { formatTime } from '../rego/time/time-layout.ts'
import { parseYaml, writeYaml } from '../yaml/index.ts'
import { count, int64, list, map, text } from './argument.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import type { TemplateFunction, TemplateFunctions } from './render.ts'
import { fail } from './template-error.ts'
import { fromPlain, isMap, isTrue, printValue, toPlain, typeNameOf, type Value } from './value.ts'

/**
 * What templates of tasks may call beside the language's own functions (scheduling reference §30).
 * The value that a pipeline hands on comes last.
 */
export const PLAIN_FUNCTIONS: TemplateFunctions = new Map<string, TemplateFunction>([
  ...textFunctions(),
  ...listFunctions(),
  ...numberFunctions(),
  ...codeFunctions(),
  ...sprigFunctions(),
])

type Entries = readonly (readonly [string, TemplateFunction])[]

function textFunctions(): Entries {
  return [
    ['toLower', (value) => text(value).toLowerCase()],
    ['toUpper', (value) => text(value).toUpperCase()],
    ['toTitle', (value) => titled(text(value))],
    ['trimSpace', (value) => text(value).trim()],
    ['trim', (cut, value) => trimmed(text(value), text(cut))],
    ['trimPrefix', (prefix, value) => withoutPrefix(text(value), text(prefix))],
    ['trimSuffix', (suffix, value) => withoutSuffix(text(value), text(suffix))],
    ['replaceAll', (from, to, value) => replaced(text(value), text(from), text(to))],
    ['regexMatch', (pattern, value) => compiled(text(pattern)).matcher(text(value)).find()],
    [
      'regexReplaceAll',
      (pattern, to, value) => {
        // `$1` and `${name}` mean the same in both libraries.
        return bounded(compiled(text(pattern)).matcher(text(value)).replaceAll(text(to), true))
      },
    ],
    ['indent', (spaces, value) => indented(text(value), count(spaces))],
    ['split', (mark, value) => text(value).split(text(mark))],
    ['join', (mark, value) => joined(list(value), text(mark))],
    ['contains', (item, value) => isIn(value, item)],
    ['in', (value, item) => isIn(value, item)],
    ['containsAll', (items, value) => list(items).every((item) => isIn(value, item))],
    ['containsAny', (items, value) => list(items).some((item) => isIn(value, item))],
    ['containsNone', (items, value) => !list(items).some((item) => isIn(value, item))],
    ['containsNotAll', (items, value) => !list(items).every((item) => isIn(value, item))],
  ]
}

function listFunctions(): Entries {
  return [
    ['loop', (...bounds) => counted(bounds.map(count))],
    ['mergeMap', (over, under) => new Map([...map(under), ...map(over)])],
    ['explodeMap', (value) => exploded(map(value))],
  ]
}

function numberFunctions(): Entries {
  return [
    ['add', (b, a) => calculate(a, b, { whole: (x, y) => x + y, broken: (x, y) => x + y })],
    ['subtract', (b, a) => calculate(a, b, { whole: (x, y) => x - y, broken: (x, y) => x - y })],
    ['multiply', (b, a) => calculate(a, b, { whole: (x, y) => x * y, broken: (x, y) => x * y })],
    [
      'divide',
      (b, a) => calculate(a, notZero(b), { whole: (x, y) => x / y, broken: (x, y) => x / y }),
    ],
    [
      'modulo',
      (b, a) =>
        calculate(a, notZero(b), {
          whole: (x, y) => x % y,
          broken: () => fail('modulo wants whole numbers'),
        }),
    ],
    ['minimum', (b, a) => calculate(a, b, { whole: (x, y) => (x < y ? x : y), broken: Math.min })],
    ['maximum', (b, a) => calculate(a, b, { whole: (x, y) => (x > y ? x : y), broken: Math.max })],
    ['parseInt', (value) => parseWhole(text(value))],
    [
      'parseUint',
      (value) => {
        const whole = parseWhole(text(value))
        return whole < 0n ? fail('it is negative') : whole
      },
    ],
    ['parseFloat', (value) => parseBroken(text(value))],
    ['parseBool', (value) => parseBoolean(text(value))],
  ]
}

function codeFunctions(): Entries {
  return [
    ['base64Encode', (value) => encodeBase64(encodeUtf8(text(value)))],
    ['base64Decode', (value) => decoded(text(value))],
    [
      'base64URLEncode',
      (value) =>
        encodeBase64(encodeUtf8(text(value)))
          .replaceAll('+', '-')
          .replaceAll('/', '_'),
    ],
    ['base64URLDecode', (value) => decoded(text(value).replaceAll('-', '+').replaceAll('_', '/'))],
    ['sha256Hex', (value) => encodeHex(sha256(encodeUtf8(text(value))))],
    ['md5sum', (value) => encodeHex(md5(encodeUtf8(text(value))))],
    [
      'hmacSHA256Hex',
      (message, key) => encodeHex(hmac(SHA256, encodeUtf8(text(key)), encodeUtf8(text(message)))),
    ],
    ['parseJSON', (value) => readJson(text(value))],
    ['toJSON', (value) => escapeMarks(JSON.stringify(toPlain(value)))],
    ['toJSONPretty', (value) => escapeMarks(JSON.stringify(toPlain(value), null, 2))],
    ['toUnescapedJSON', (value) => JSON.stringify(toPlain(value))],
    ['toUnescapedJSONPretty', (value) => JSON.stringify(toPlain(value), null, 2)],
    ['parseYAML', (value) => readYaml(text(value))],
    ['toYAML', (value) => writeYaml(toPlain(value)).trim()],
  ]
}

/** The functions of a well-known collection that jobs use most, under their usual prefix. */
function sprigFunctions(): Entries {
  const functions: Entries = [
    ['default', (fallback, value) => (isTrue(value) ? value : fallback)],
    ['empty', (value) => !isTrue(value)],
    ['coalesce', (...values) => values.find(isTrue)],
    ['ternary', (yes, no, isYes) => (isTrue(isYes) ? yes : no)],
    ['upper', (value) => text(value).toUpperCase()],
    ['lower', (value) => text(value).toLowerCase()],
    ['title', (value) => titled(text(value))],
    ['trim', (value) => text(value).trim()],
    ['trimAll', (cut, value) => trimmed(text(value), text(cut))],
    ['trimPrefix', (prefix, value) => withoutPrefix(text(value), text(prefix))],
    ['trimSuffix', (suffix, value) => withoutSuffix(text(value), text(suffix))],
    ['replace', (from, to, value) => replaced(text(value), text(from), text(to))],
    ['contains', (part, value) => text(value).includes(text(part))],
    ['hasPrefix', (prefix, value) => text(value).startsWith(text(prefix))],
    ['hasSuffix', (suffix, value) => text(value).endsWith(text(suffix))],
    [
      'quote',
      (...values) => values.map((value) => JSON.stringify(printValue(value, true))).join(' '),
    ],
    ['squote', (...values) => values.map((value) => `'${printValue(value, true)}'`).join(' ')],
    ['repeat', (times, value) => repeated(text(value), count(times))],
    ['indent', (spaces, value) => indented(text(value), count(spaces))],
    ['nindent', (spaces, value) => `\n${indented(text(value), count(spaces))}`],
    ['join', (mark, value) => joined(list(value), text(mark))],
    ['splitList', (mark, value) => text(value).split(text(mark))],
    ['list', (...values) => values],
    ['first', (value) => list(value)[0]],
    ['last', (value) => list(value).at(-1)],
    ['has', (item, value) => isIn(value, item)],
    ['uniq', (value) => [...new Set(list(value))]],
    ['dict', (...values) => dictionary(values)],
    ['keys', (value) => [...map(value).keys()].toSorted((a, b) => (a < b ? -1 : 1))],
    ['values', (value) => [...map(value).values()]],
    ['hasKey', (value, key) => map(value).has(text(key))],
    ['get', (value, key) => map(value).get(text(key)) ?? ''],
    ['toString', (value) => printValue(value, true)],
    [
      'int',
      (value) =>
        typeof value === 'string'
          ? parseWhole(value)
          : typeof value === 'number'
            ? BigInt(Math.trunc(value))
            : value,
    ],
    ['b64enc', (value) => encodeBase64(encodeUtf8(text(value)))],
    ['b64dec', (value) => decoded(text(value))],
    ['sha256sum', (value) => encodeHex(sha256(encodeUtf8(text(value))))],
    ['fail', (message) => fail(text(message))],
  ]
  return functions.map(([name, called]) => [`sprig_${name}`, called] as const)
}

/** Those that tell the time, as of one moment. */
export function timeFunctions(nowMs: number): TemplateFunctions {
  const at = (layout: string): string =>
    formatTime(clockFace(BigInt(nowMs) * 1_000_000n, 0, 'UTC'), layout)
  return new Map<string, TemplateFunction>([
    [
      'timestamp',
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
  const characters = Array.from(value)
  let from = 0
  let to = characters.length
  while (from < to && marks.has(characters[from] ?? '')) from += 1
  while (to > from && marks.has(characters[to - 1] ?? '')) to -= 1
  return characters.slice(from, to).join('')
}

function withoutPrefix(value: string, prefix: string): string {
  return value.startsWith(prefix) ? value.slice(prefix.length) : value
}

function withoutSuffix(value: string, suffix: string): string {
  return suffix !== '' && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value
}

function replaced(value: string, from: string, to: string): string {
  const times = from === '' ? value.length + 1 : value.split(from).length - 1
  tooLong(value.length + times * to.length)
  return value.replaceAll(from, () => to)
}

function repeated(value: string, times: number): string {
  tooLong(value.length * times)
  return value.repeat(Math.max(0, times))
}

function indented(value: string, spaces: number): string {
  if (spaces < 0) return fail('indent is negative')
  const lines = value.split('\n')
  tooLong(value.length + lines.length * spaces)
  return lines.map((line) => `${' '.repeat(spaces)}${line}`).join('\n')
}

function joined(values: readonly Value[], mark: string): string {
  tooLong(values.length * mark.length)
  return bounded(values.map((value) => printValue(value, true)).join(mark))
}

/** A text is refused before it is built, where its length can be told. */
function tooLong(chars: number): void {
  if (chars > TEMPLATE_LIMITS.outputCharsMax) fail('the text becomes too long')
}

function bounded(value: string): string {
  tooLong(value.length)
  return value
}

function compiled(pattern: string): RE2JS {
  try {
    const regex = RE2JS.compile(pattern)
    if (regex.programSize() > TEMPLATE_LIMITS.patternInstructionsMax)
      fail('the pattern is too large')
    return regex
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return fail(thrown.message)
  }
}

function isIn(value: Value, item: Value): boolean {
  if (typeof value === 'string') return value.includes(text(item))
  if (isMap(value)) return value.has(text(item))
  return list(value).includes(item)
}

function counted(bounds: readonly number[]): readonly Value[] {
  const [from, to] = bounds.length > 1 ? [bounds[0] ?? 0, bounds[1] ?? 0] : [0, bounds[0] ?? 0]
  if (to - from > TEMPLATE_LIMITS.stepsMax) return fail('the loop is too long')
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => BigInt(from + index))
}

/** `a/b` = 1 becomes b inside a. */
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
  try {
    return fromPlain(JSON.parse(value))
  } catch {
    return fail('it is no JSON')
  }
}

/** Go's writer makes JSON safe to be put into a page. */
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
