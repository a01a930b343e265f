import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { ALGORITHMS, verifySignature, type Algorithm } from '../crypt/signature.ts'
import { parseHclJson } from '../value/json.ts'
import type { Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { TOKEN_DEPTH_MAX } from './limits.ts'
import { chargeForString } from './operand.ts'
import {
  decodePart,
  decodeText,
  isNestedJwt,
  parseJwt,
  unquoted,
  type Token,
} from '../crypt/token.ts'
import { decodeAndVerify } from './token-constraints.ts'
import { chooseKeys, readVerificationKeys, type VerificationKey } from '../crypt/token-keys.ts'

const VERIFIERS = [...ALGORITHMS.values()]

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
