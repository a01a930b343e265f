import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { encodeBase64Url } from '@reeve/kit/base64.ts'
import { jwksOf, privateKeyFromJwk } from '../crypt/jwk.ts'
import { ALGORITHMS, makeSignature } from '../crypt/signature.ts'
import { toHtmlSafeJsonString } from '../value/json-text.ts'
import { parseHclJson } from '../value/json.ts'
import { ObjectValue } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString, chargedString } from './operand.ts'

export const TOKEN_SIGN_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'io.jwt.encode_sign', operands: ['object', 'object', 'object'], result: 'string' },
    (context, ...[header, payload, key]) =>
      sign(context, {
        header: toHtmlSafeJsonString(header),
        payload: toHtmlSafeJsonString(payload),
        key: toHtmlSafeJsonString(key),
      }),
  ),
  define(
    { name: 'io.jwt.encode_sign_raw', operands: ['string', 'string', 'string'], result: 'string' },
    (context, ...[header, payload, key]) => sign(context, { header, payload, key }),
  ),
]

interface Unsigned {
  readonly header: string
  readonly payload: string
  readonly key: string
}

function sign(context: CallContext, { header, payload, key }: Unsigned): string | undefined {
  chargeForString(context, (header.length + payload.length + key.length) * 4)
  const keys = parseHclJson(key)
  if (!keys.ok) return context.fail(`failed to parse JWK set: ${keys.error}`)
  const [jwk] = jwksOf(keys.value)
  if (jwk === undefined) return context.fail('no keys found in JWK set')
  const head = parseHclJson(header)
  // A header that is not an object has no members, but a malformed object is an error of its own.
  if (!head.ok && (header === '' || header.startsWith('{')))
    return context.fail(
      `missing or invalid 'alg' header: cannot parse JSON: cannot parse ${header === '' ? 'empty string' : 'object'}`,
    )
  const fields = head.ok && head.value instanceof ObjectValue ? head.value : undefined
  const name = fields?.get('alg')
  if (typeof name !== 'string')
    return context.fail(`missing or invalid 'alg' header: jwsbb: header "alg" not found`)
  const algorithm = ALGORITHMS.get(name)
  if (algorithm === undefined) return context.fail(`unknown JWS algorithm: ${name}`)
  if (fields?.get('typ') === 'JWT' && !parseHclJson(payload).ok)
    return context.fail('type is JWT but payload is not JSON')
  const secret = privateKeyFromJwk(context.crypto, jwk)
  if (secret === undefined) return context.fail('failed to get first key from JWK set')
  const signed = `${encodeBase64Url(encodeUtf8(header))}.${encodeBase64Url(encodeUtf8(payload))}`
  const signature = makeSignature(context, { algorithm, key: secret }, encodeUtf8(signed))
  return signature === undefined
    ? context.fail(`failed to sign payload: the key is not one for ${name}`)
    : chargedString(context, `${signed}.${encodeBase64Url(signature)}`)
}
