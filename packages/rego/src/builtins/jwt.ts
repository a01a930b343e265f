import { encodeBase64Url } from '@reeve/kit/base64.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  chooseKeys,
  jwksOf,
  privateKeyFromJwk,
  readVerificationKeys,
  type VerificationKey,
} from '../crypto/keys.ts'
import { ALGORITHMS, verifySignature, type Algorithm, makeSignature } from '../crypto/signature.ts'
import { parseHclJson, toHtmlSafeJsonString } from '../value/json.ts'
import {
  compare,
  EMPTY_OBJECT,
  isArray,
  isNumber,
  ObjectValue,
  type Value,
} from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { TOKEN_DEPTH_MAX } from './limits.ts'
import { chargedString, chargeForString } from './operands.ts'
import {
  decodePart,
  decodeText,
  isNestedJwt,
  parseJwt,
  unquoted,
  type Token,
} from '../crypto/token.ts'
import { divide } from '../value/arithmetic.ts'
import { formatText } from '../value/format.ts'
import { compareNumbers, fromBigInt, type NumberValue } from '../value/number.ts'

const VERIFIERS = [...ALGORITHMS.values()]

/** Result for a token that does not satisfy the constraints. */
const UNVERIFIED: readonly Value[] = [false, EMPTY_OBJECT, EMPTY_OBJECT]

const TEXT_CONSTRAINTS: ReadonlySet<string> = new Set(['cert', 'secret', 'alg', 'iss', 'aud'])

export const JWT_BUILTINS: readonly Builtin[] = [
  define({ name: 'io.jwt.decode', operands: ['string'], result: 'array' }, decode),
  define(
    { name: 'io.jwt.decode_verify', operands: ['string', 'object'], result: 'array' },
    decodeAndVerify,
  ),
  ...VERIFIERS.map((algorithm) =>
    define(
      {
        name: `io.jwt.verify_${algorithm.name.toLowerCase()}`,
        operands: ['string', 'string'],
        result: 'boolean',
      },
      (context, token, key) => verify(context, algorithm, { token, key }),
    ),
  ),
]

/** Header, payload and signature. A token inside a token is opened too, and its parts are given. */
function decode(context: CallContext, text: string): Value | undefined {
  let source = text
  for (let depth = 0; depth < TOKEN_DEPTH_MAX; depth++) {
    chargeForString(context, source.length * 4)
    const token = parseJwt(source)
    if (!token.ok) return context.fail(token.error)
    const payload = decodeText(token.value.payload)
    if (!payload.ok) return context.fail(`JWT payload had invalid encoding: ${payload.error}`)
    if (!isNestedJwt(token.value)) return partsOf(context, token.value, payload.value)
    source = unquoted(payload.value)
  }
  return context.fail('there are too many tokens inside one another')
}

function partsOf(context: CallContext, token: Token, payloadText: string): Value | undefined {
  const payload = parseHclJson(payloadText)
  if (!payload.ok) return context.fail(`invalid JSON: ${payload.error}`)
  const signature = decodePart(token.signature)
  if (!signature.ok) return context.fail(`JWT signature had invalid encoding: ${signature.error}`)
  return [token.header, payload.value, encodeHex(signature.value)]
}

function verify(
  context: CallContext,
  algorithm: Algorithm,
  { token: text, key }: { readonly token: string; readonly key: string },
): boolean | undefined {
  chargeForString(context, (text.length + key.length) * 4)
  const token = parseJwt(text)
  if (!token.ok) return context.fail(token.error)
  const signature = decodePart(token.value.signature)
  if (!signature.ok) return context.fail(`JWT signature had invalid encoding: ${signature.error}`)
  const keys =
    algorithm.kind === 'hmac'
      ? [{ key: { form: 'oct', bytes: encodeUtf8(key) } } satisfies VerificationKey]
      : readVerificationKeys(context.crypto, key)
  if (typeof keys === 'string') return context.fail(keys)
  const signed = { message: encodeUtf8(token.value.signed), signature: signature.value }
  return chooseKeys(keys, token.value).some((one) =>
    verifySignature(context, { algorithm, key: one.key }, signed),
  )
}

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

interface Constraints {
  readonly keys: readonly VerificationKey[]
  readonly isSecret: boolean
  readonly alg: string | undefined
  readonly iss: string | undefined
  readonly aud: string | undefined
  /** Nanoseconds since 1970. */
  readonly time: NumberValue
}

/**
 * Returns `[valid, header, payload]`. Signature, algorithm, issuer, audience and times must all
 * match.
 */
function decodeAndVerify(
  context: CallContext,
  text: string,
  options: ObjectValue,
): Value | undefined {
  const constraints = readConstraints(context, options)
  if (constraints === undefined) return undefined
  let source = text
  for (let depth = 0; depth < TOKEN_DEPTH_MAX; depth++) {
    chargeForString(context, source.length * 4)
    const token = parseJwt(source)
    if (!token.ok) return context.fail(token.error)
    const isVerified = isSigned(context, token.value, constraints)
    if (isVerified === undefined) return undefined
    if (!isVerified) return UNVERIFIED
    const payload = decodeText(token.value.payload)
    if (!payload.ok) return context.fail(`JWT payload had invalid encoding: ${payload.error}`)
    if (!isNestedJwt(token.value))
      return judge(context, token.value, { constraints, payload: payload.value })
    source = unquoted(payload.value)
  }
  return context.fail('there are too many tokens inside one another')
}

function readConstraints(context: CallContext, options: ObjectValue): Constraints | undefined {
  const text = new Map<string, string>()
  let time: NumberValue = fromBigInt(context.nowNs) ?? 0
  for (const [name, value] of options.entries()) {
    if (name === 'time') {
      if (!isNumber(value)) return context.fail('token time constraint: must be a number')
      if (compareNumbers(value, 0) < 0)
        return context.fail('token time constraint: must not be negative')
      time = value
      continue
    }
    if (typeof name !== 'string' || !TEXT_CONSTRAINTS.has(name))
      return context.fail(`unknown token validation constraint: ${formatText(name)}`)
    if (typeof value !== 'string') return context.fail(`${name} constraint: must be a string`)
    text.set(name, value)
  }
  const [cert, secret] = [text.get('cert'), text.get('secret')]
  if (cert !== undefined && secret !== undefined) return context.fail('duplicate key constraints')
  const keys = readKeys(context, cert, secret)
  if (keys === undefined) return undefined
  return {
    keys,
    isSecret: secret !== undefined,
    alg: text.get('alg'),
    iss: text.get('iss'),
    aud: text.get('aud'),
    time,
  }
}

function readKeys(
  context: CallContext,
  cert: string | undefined,
  secret: string | undefined,
): readonly VerificationKey[] | undefined {
  if (secret !== undefined) return [{ key: { form: 'oct', bytes: encodeUtf8(secret) } }]
  if (cert === undefined) return context.fail('no key constraint')
  chargeForString(context, cert.length * 4)
  const keys = readVerificationKeys(context.crypto, cert)
  return typeof keys === 'string' ? context.fail(keys) : keys
}

/**
 * Tokens with critical extensions (RFC 7515, section 4.1.11) are rejected, because none is
 * supported.
 */
function isSigned(
  context: CallContext,
  token: Token,
  { keys, alg, isSecret }: Constraints,
): boolean | undefined {
  const { header } = token
  const name = header.get('alg')
  if (typeof name !== 'string' || header.has('crit')) return false
  if (alg !== undefined && alg !== name) return false
  const algorithm = ALGORITHMS.get(name)
  if (algorithm === undefined) return context.fail(`unknown JWS algorithm: ${name}`)
  // A public key must never verify an HMAC: it is not secret, so anyone could sign with it.
  if (isSecret !== (algorithm.kind === 'hmac')) return false
  const signature = decodePart(token.signature)
  if (!signature.ok) return context.fail(`JWT signature had invalid encoding: ${signature.error}`)
  const signed = { message: encodeUtf8(token.signed), signature: signature.value }
  return chooseKeys(keys, token).some((one) =>
    verifySignature(context, { algorithm, key: one.key }, signed),
  )
}

function judge(
  context: CallContext,
  { header }: Token,
  { constraints, payload: text }: { readonly constraints: Constraints; readonly payload: string },
): Value | undefined {
  const payload = parseHclJson(text)
  if (!payload.ok) return context.fail(`invalid JSON: ${payload.error}`)
  if (!(payload.value instanceof ObjectValue))
    return context.fail('decoded JSON type was not an Object')
  const { iss, aud, time } = constraints
  if (iss !== undefined && payload.value.get('iss') !== iss) return UNVERIFIED
  if (!isForAudience(payload.value.get('aud'), aud)) return UNVERIFIED
  const now = divide(time, 1_000_000_000) ?? time
  const expires = payload.value.get('exp')
  if (expires !== undefined && !isNumber(expires)) return context.fail('exp value must be a number')
  const begins = payload.value.get('nbf')
  if (begins !== undefined && !isNumber(begins)) return context.fail('nbf value must be a number')
  if (expires !== undefined && compare(now, expires) >= 0) return UNVERIFIED
  if (begins !== undefined && compare(now, begins) < 0) return UNVERIFIED
  return [true, header, payload.value]
}

/**
 * A token with an audience requires a matching constraint, and the reverse (RFC 7519, section
 * 4.1.3).
 */
function isForAudience(audience: Value | undefined, wanted: string | undefined): boolean {
  if (audience === undefined || wanted === undefined) return audience === wanted
  return isArray(audience) ? audience.includes(wanted) : audience === wanted
}
