import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { parseYaml, writeYaml, type YamlValue } from '@reeve/kit/yaml/index.ts'
import {
  jsonString,
  toHtmlSafeJsonString,
  type JsonLayout,
  parseHclJson,
  keyText,
} from '../value/json.ts'
import {
  isArray,
  isNumber,
  kindOf,
  ObjectBuilder,
  type ObjectValue,
  type Value,
} from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'
import { findBadBase64 } from '../crypto/token.ts'
import { fromBigInt, fromDouble, toBigInt, toDouble } from '../value/number.ts'
import { chargeForString, chargedString } from './operands.ts'

export const ENCODING_BUILTINS: readonly Builtin[] = [
  define({ name: 'json.marshal', operands: ['any'], result: 'string' }, (context, value) =>
    chargedString(context, toHtmlSafeJsonString(value)),
  ),
  define(
    { name: 'json.marshal_with_options', operands: ['any', 'object'], result: 'string' },
    (context, value, options) => {
      const layout = layoutOf(context, options)
      if (layout === undefined) return undefined
      if (layout === 'plain') return chargedString(context, toHtmlSafeJsonString(value))
      return chargedString(context, layout.prefix + toHtmlSafeJsonString(value, layout))
    },
  ),
  define({ name: 'json.unmarshal', operands: ['string'], result: 'any' }, (context, text) => {
    chargeForString(context, text.length)
    const value = parseHclJson(text)
    return value.ok ? value.value : context.fail(value.error)
  }),
  validity('json.is_valid', (text) => parseHclJson(text).ok),
  define({ name: 'yaml.marshal', operands: ['any'], result: 'string' }, (context, value) => {
    // Shared parts are written out at every use; this refuses what would grow too large.
    chargeForString(context, toHtmlSafeJsonString(value).length)
    return chargedString(context, writeYaml(toYamlValue(value)))
  }),
  define({ name: 'yaml.unmarshal', operands: ['string'], result: 'any' }, (context, text) => {
    chargeForString(context, text.length)
    const value = parseYaml(text)
    return value.ok ? fromYamlValue(value.value) : context.fail(yamlProblem(value.error))
  }),
  validity('yaml.is_valid', (text) => parseYaml(text).ok),
  define({ name: 'base64.encode', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length * 4)
    return encodeBase64(encodeUtf8(text))
  }),
  define({ name: 'base64.decode', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length)
    const bytes = decodeBase64(text)
    return bytes === undefined ? context.fail(findBadBase64(text)) : decodeUtf8Lossy(bytes)
  }),
  validity('base64.is_valid', (text) => decodeBase64(text) !== undefined),
  ...(['base64url.encode', 'base64url.encode_no_pad'] as const).map((name) =>
    define({ name, operands: ['string'], result: 'string' }, (context, text) => {
      chargeForString(context, text.length * 4)
      const encoded = encodeBase64(encodeUtf8(text)).replaceAll('+', '-').replaceAll('/', '_')
      return name === 'base64url.encode' ? encoded : encoded.replace(/=+$/, '')
    }),
  ),
  define({ name: 'base64url.decode', operands: ['string'], result: 'string' }, decodeUrlSafe),
  define({ name: 'hex.encode', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length * 6)
    return encodeHex(encodeUtf8(text))
  }),
  define({ name: 'hex.decode', operands: ['string'], result: 'string' }, decodeHex),
]

/** Anything but a text is not valid, which is no failure. */
function validity(name: string, test: (text: string) => boolean): Builtin {
  return define({ name, operands: ['any'], result: 'boolean' }, (context, value) => {
    if (typeof value !== 'string') return false
    chargeForString(context, value.length)
    return test(value)
  })
}

/** Lines unless `pretty` is false; `pretty` alone makes lines indented by tabs. */
function layoutOf(context: CallContext, options: ObjectValue): JsonLayout | 'plain' | undefined {
  let [prefix, indent] = ['', '\t']
  let isPretty: boolean | undefined
  for (const [name, value] of options.entries()) {
    if (name === 'pretty') {
      if (typeof value !== 'boolean')
        return context.failType('operand 2 key "pretty" failed cast to bool')
      isPretty = value
      continue
    }
    if (name !== 'prefix' && name !== 'indent')
      return context.failType(
        `operand 2 object contained unknown key ${typeof name === 'string' ? jsonString(name) : kindOf(name)}`,
      )
    if (typeof value !== 'string')
      return context.failType(`operand 2 key "${name}" failed cast to string`)
    if (name === 'prefix') prefix = value
    else indent = value
  }
  const isWanted = isPretty ?? (options.has('prefix') || options.has('indent'))
  return isWanted ? { prefix, indent } : 'plain'
}

function decodeUrlSafe(context: CallContext, text: string): Value | undefined {
  chargeForString(context, text.length)
  const rest = text.length % 4
  if (!text.endsWith('=') && rest === 1) return context.fail(`illegal base64url string: ${text}`)
  const padded = text.endsWith('=') || rest === 0 ? text : text + '='.repeat(4 - rest)
  const standard = /[+/]/.test(padded)
    ? undefined
    : padded.replaceAll('-', '+').replaceAll('_', '/')
  const bytes = standard === undefined ? undefined : decodeBase64(standard)
  return bytes === undefined ? context.fail(findBadBase64(padded, 'url')) : decodeUtf8Lossy(bytes)
}

function decodeHex(context: CallContext, text: string): Value | undefined {
  chargeForString(context, text.length)
  const bad = /[^0-9a-fA-F]/u.exec(text)
  if (bad !== null && bad.index <= text.length - (text.length % 2)) {
    const code = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return context.fail(`encoding/hex: invalid byte: U+${code} '${bad[0]}'`)
  }
  if (text.length % 2 === 1) return context.fail('encoding/hex: odd length hex string')
  const bytes = Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(at * 2, at * 2 + 2), 16),
  )
  return decodeUtf8Lossy(bytes)
}

/** The reader says what is wrong and where: `line 3, column 5: …`. */
function yamlProblem(problem: string): string {
  const [, line, column, what] = /^line ([0-9]+), column ([0-9]+): (.*)$/s.exec(problem) ?? []
  return line === undefined
    ? `yaml: ${problem}`
    : `yaml: line ${line}: did not find valid YAML at column ${column}: ${what}`
}

function fromYamlValue(value: YamlValue): Value {
  if (typeof value === 'number') return fromDouble(value) ?? 0
  if (typeof value === 'bigint') return fromBigInt(value) ?? 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(fromYamlValue)
  const builder = new ObjectBuilder()
  for (const [name, item] of Object.entries(value)) builder.set(name, fromYamlValue(item))
  return builder.build()
}

function toYamlValue(value: Value): YamlValue {
  if (isNumber(value)) {
    if (typeof value === 'number') return value
    return toBigInt(value) ?? toDouble(value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (isArray(value)) return value.map(toYamlValue)
  if (value.kind === 'set') return value.sorted().map(toYamlValue)
  return Object.fromEntries(value.entries().map(([key, item]) => [keyText(key), toYamlValue(item)]))
}
