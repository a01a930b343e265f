import { err, ok, type Result } from '../../../kit/result.ts'
import { toBigInt, toBytes } from '../../../kit/bytes.ts'
import { bitLength, rsaPrivatePower, type RsaPrimes } from '../../../kit/modular.ts'
import { RSA_BITS_MAX } from '../limits.ts'

export interface PrivateKey extends RsaPrimes {
  /** The product of the two primes. */
  readonly modulus: bigint
}

/** PKCS #1 v1.5 (RFC 8017, section 7.2.2): the message that was encrypted for the key. */
export function decryptRsa(cipher: Uint8Array, key: PrivateKey): Result<Uint8Array, string> {
  const bits = bitLength(key.modulus)
  if (bits > RSA_BITS_MAX)
    return err(`the key has ${bits} bits; at most ${RSA_BITS_MAX} are allowed`)
  const size = Math.ceil(bits / 8)
  const value = toBigInt(cipher)
  if (cipher.length !== size || value >= key.modulus)
    return err(`the ciphertext must be ${size} bytes that were encrypted for this key`)
  const message = unpad(toBytes(rsaPrivatePower(key, value), size))
  return message === undefined ? err('the ciphertext was not encrypted for this key') : ok(message)
}

/** `00 02`, at least eight bytes that are not zero, `00`, the message. */
function unpad(block: Uint8Array): Uint8Array | undefined {
  const end = block.indexOf(0, 2)
  if (block[0] !== 0 || block[1] !== 2 || end < 10) return undefined
  return block.subarray(end + 1)
}
