import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  isArray,
  ObjectBuilder,
  objectOf,
  type ObjectValue,
  SetValue,
  type Value,
} from '../value/value.ts'
import { quote } from '@reeve/go-template/fmt'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString, chargedString } from './operands.ts'
import { escapeQuery, parseUrl, unescapeText } from '@reeve/go-template/url'

export const URI_BUILTINS: readonly Builtin[] = [
  define({ name: 'uri.parse', operands: ['string'], result: 'object' }, (context, text) => {
    chargeForString(context, text.length * 2)
    const url = parseUrl(text)
    if (!url.ok) return context.fail(`parse ${quote(text)}: ${url.error}`)
    // Parts that are not there have no entry.
    return objectOf(Object.entries(url.value).filter(([, part]) => part !== ''))
  }),
  define({ name: 'uri.is_valid', operands: ['any'], result: 'boolean' }, (context, value) => {
    if (typeof value !== 'string' || value === '') return false
    chargeForString(context, value.length * 2)
    return parseUrl(value).ok
  }),
  define({ name: 'urlquery.encode', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length * 3)
    return escapeQuery(text)
  }),
  define({ name: 'urlquery.decode', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length)
    const decoded = unescapeText(text, 'query')
    return decoded.ok ? decoded.value : context.fail(decoded.error)
  }),
  define({ name: 'urlquery.encode_object', operands: ['object'], result: 'string' }, encodeObject),
  define({ name: 'urlquery.decode_object', operands: ['string'], result: 'object' }, decodeObject),
]

function encodeObject(context: CallContext, object: ObjectValue): string | undefined {
  const pairs: string[] = []
  for (const [name, value] of object.entries()) {
    const values = typeof value === 'string' ? [value] : listOf(value)
    for (const one of values ?? [null]) {
      if (typeof name !== 'string' || typeof one !== 'string')
        return context.failType('operand 1 values must be string, array[string], or set[string]')
      chargeForString(context, encodeUtf8(one).length * 3)
      pairs.push(`${escapeQuery(name)}=${escapeQuery(one)}`)
    }
  }
  return chargedString(context, pairs.join('&'))
}

function listOf(value: Value): readonly Value[] | undefined {
  if (isArray(value)) return value
  return value instanceof SetValue ? value.sorted() : undefined
}

function decodeObject(context: CallContext, query: string): ObjectValue | undefined {
  chargeForString(context, query.length)
  const found = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    context.charge(1)
    if (pair.includes(';')) return context.fail('invalid semicolon separator in query')
    const equals = pair.indexOf('=')
    const name = unescapeText(equals < 0 ? pair : pair.slice(0, equals), 'query')
    const value = unescapeText(equals < 0 ? '' : pair.slice(equals + 1), 'query')
    if (!name.ok) return context.fail(name.error)
    if (!value.ok) return context.fail(value.error)
    const values = found.get(name.value)
    if (values === undefined) found.set(name.value, [value.value])
    else values.push(value.value)
  }
  const object = new ObjectBuilder()
  for (const [name, values] of found) object.set(name, values)
  return object.build()
}
