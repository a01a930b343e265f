import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { decodeBase64 } from '@reeve/kit/base64.ts'
import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { ok } from '@reeve/kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import type { FunctionDefinition, StepBudget } from '@reeve/hcl'
import { text, integer } from '../argument.ts'
import { bcrypt, SALT_BYTES } from './bcrypt.ts'
import type { FunctionOptions } from '../options.ts'
import { parsePrivateKey } from './private-key.ts'
import { decryptRsa } from './rsa.ts'
import {
  define,
  defineVariadic,
  chargeSteps,
  fail,
  failArgument,
  type FunctionResult,
} from '../define.ts'
import {
  BCRYPT_COST_DEFAULT,
  BCRYPT_COST_MAX,
  BCRYPT_COST_MIN,
  BCRYPT_PASSWORD_BYTES_MAX,
  STEPS_PER_HASHED_BYTE,
  HASHED_BYTES_MIN,
  STEPS_PER_BCRYPT_ROUND,
  STEPS_PER_RSA,
} from '../limits.ts'
import { randomBytes } from './random-bytes.ts'

export function cryptoFunctions({
  random,
  crypto,
}: FunctionOptions): Readonly<Record<string, FunctionDefinition>> {
  return {
    bcrypt: defineVariadic(
      {
        parameters: [text('str')],
        rest: integer('cost', { min: BCRYPT_COST_MIN, max: BCRYPT_COST_MAX }),
        countMax: 1,
      },
      ([str], [cost = BCRYPT_COST_DEFAULT], meter) => {
        if (encodeUtf8(str).length > BCRYPT_PASSWORD_BYTES_MAX)
          return failArgument(0, `str must be at most ${BCRYPT_PASSWORD_BYTES_MAX} bytes long`)
        const paid = chargeSteps(meter, 2 ** cost * STEPS_PER_BCRYPT_ROUND)
        if (!paid.ok) return paid
        return ok(bcrypt(str, { cost, salt: randomBytes(random, SALT_BYTES) }))
      },
    ),
    md5: hashFunction(md5),
    rsadecrypt: define(
      [text('ciphertext'), text('privatekey')],
      ([ciphertext, privateKey], meter) => decrypt(crypto, { ciphertext, privateKey }, meter),
    ),
    sha1: hashFunction(sha1),
    sha256: hashFunction(sha256),
    sha512: hashFunction(sha512),
  }
}

/** A function that returns the hexadecimal digest of a string's UTF-8 bytes. */
function hashFunction(hash: (message: Uint8Array) => Uint8Array): FunctionDefinition {
  return define([text('str')], ([str], meter) => {
    const bytes = encodeUtf8(str)
    const paid = chargeSteps(meter, (bytes.length + HASHED_BYTES_MIN) * STEPS_PER_HASHED_BYTE)
    return paid.ok ? ok(encodeHex(hash(bytes))) : paid
  })
}

function decrypt(
  crypto: CryptoHost | undefined,
  { ciphertext, privateKey }: { readonly ciphertext: string; readonly privateKey: string },
  meter: StepBudget,
): FunctionResult {
  if (crypto === undefined) return fail('rsadecrypt is not available here')
  const cipher = decodeBase64(ciphertext)
  if (cipher === undefined) return failArgument(0, 'ciphertext must be base64')
  const key = parsePrivateKey(crypto, privateKey)
  if (!key.ok) return failArgument(1, `privatekey cannot be used: ${key.error}`)
  const paid = chargeSteps(meter, STEPS_PER_RSA)
  if (!paid.ok) return paid
  const message = decryptRsa(crypto, key.value, cipher)
  if (!message.ok) return fail(message.error)
  const decrypted = decodeUtf8(message.value)
  return decrypted === undefined ? fail('the decrypted bytes are not UTF-8 text') : ok(decrypted)
}
