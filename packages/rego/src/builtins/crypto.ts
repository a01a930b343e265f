import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { constantTimeEqual } from '@reeve/kit/bytes.ts'
import { hmac, MD5, SHA1, SHA256, SHA512, type Hash } from '@reeve/kit/hash.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString } from './operands.ts'

const HASHES = [MD5, SHA1, SHA256] as const
const HMACS = [MD5, SHA1, SHA256, SHA512] as const

export const CRYPTO_BUILTINS: readonly Builtin[] = [
  ...HASHES.map((hash) =>
    define(
      { name: `crypto.${hash.name}`, operands: ['string'], result: 'string' },
      (context, text) => encodeHex(hash.digest(bytesToHash(context, text, hash))),
    ),
  ),
  ...HMACS.map((hash) =>
    define(
      { name: `crypto.hmac.${hash.name}`, operands: ['string', 'string'], result: 'string' },
      (context, message, key) =>
        encodeHex(hmac(hash, bytesToHash(context, key, hash), bytesToHash(context, message, hash))),
    ),
  ),
  define(
    { name: 'crypto.hmac.equal', operands: ['string', 'string'], result: 'boolean' },
    (context, a, b) => {
      chargeForString(context, a.length + b.length)
      return constantTimeEqual(encodeUtf8(a), encodeUtf8(b))
    },
  ),
]

/** Hashing in pure code takes some hundred times as long as copying. */
function bytesToHash(context: CallContext, text: string, { blockSize }: Hash): Uint8Array {
  chargeForString(context, text.length)
  context.charge(Math.ceil(text.length / blockSize) * 4)
  return encodeUtf8(text)
}
