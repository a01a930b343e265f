import type { CryptoHost, Jwk } from '@reeve/kit/crypto-host.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { numberIn } from './private-key.ts'
import { RSA_BITS_MAX } from '../limits.ts'

/** Decrypts PKCS #1 v1.5 (RFC 8017, section 7.2.2). */
export function decryptRsa(
  crypto: CryptoHost,
  jwk: Jwk,
  cipher: Uint8Array,
): Result<Uint8Array, string> {
  const bits = numberIn(jwk, 'n').toString(2).length
  if (bits > RSA_BITS_MAX)
    return err(`the key has ${bits} bits; at most ${RSA_BITS_MAX} are allowed`)
  const size = Math.ceil(bits / 8)
  const block =
    cipher.length === size ? crypto.decryptRsaRaw({ form: 'jwk', jwk }, cipher) : undefined
  if (block === undefined)
    return err(`the ciphertext must be ${size} bytes that were encrypted for this key`)
  const message = unpad(block)
  return message === undefined ? err('the ciphertext was not encrypted for this key') : ok(message)
}

/**
 * Expects `00 02`, at least eight non-zero bytes, `00` and the message. OpenSSL returns random
 * bytes instead of an error for invalid padding (implicit rejection); the author of a job file owns
 * the key and needs the error.
 */
function unpad(block: Uint8Array): Uint8Array | undefined {
  const end = block.indexOf(0, 2)
  if (block[0] !== 0 || block[1] !== 2 || end < 10) return undefined
  return block.subarray(end + 1)
}
