import { err, ok, type Result } from '../../../kit/result.ts'
import { RSA_BITS_MAX } from '../limits.ts'

export interface PrivateKey {
  /** The product of the two primes. */
  readonly modulus: bigint
  readonly exponent: bigint
  readonly p: bigint
  readonly q: bigint
}

/** PKCS #1 v1.5 (RFC 8017, section 7.2.2): the message that was encrypted for the key. */
export function decryptRsa(cipher: Uint8Array, key: PrivateKey): Result<Uint8Array, string> {
  const bits = key.modulus.toString(2).length
  if (bits > RSA_BITS_MAX)
    return err(`the key has ${bits} bits; at most ${RSA_BITS_MAX} are allowed`)
  const size = Math.ceil(bits / 8)
  const value = toBigInt(cipher)
  if (cipher.length !== size || value >= key.modulus)
    return err(`the ciphertext must be ${size} bytes that were encrypted for this key`)
  const message = unpad(toBytes(power(value, key), size))
  return message === undefined ? err('the ciphertext was not encrypted for this key') : ok(message)
}

/** By the Chinese remainder theorem: two powers of half the size take a quarter of the time. */
function power(value: bigint, { exponent, p, q }: PrivateKey): bigint {
  const atP = modularPower(value % p, exponent % (p - 1n), p)
  const atQ = modularPower(value % q, exponent % (q - 1n), q)
  const inverse = inverseOf(q % p, p)
  const lift = (((atP - atQ) % p) + p) % p
  return atQ + q * ((lift * inverse) % p)
}

/** What times the value leaves one, by Euclid; meaningless when they have a common divisor. */
function inverseOf(value: bigint, modulus: bigint): bigint {
  let [rest, nextRest] = [modulus, value]
  let [factor, nextFactor] = [0n, 1n]
  while (nextRest !== 0n) {
    const quotient = rest / nextRest
    ;[rest, nextRest] = [nextRest, rest - quotient * nextRest]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return ((factor % modulus) + modulus) % modulus
}

function modularPower(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  let square = base % modulus
  for (const bit of [...exponent.toString(2)].toReversed()) {
    if (bit === '1') result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** `00 02`, at least eight bytes that are not zero, `00`, the message. */
function unpad(block: Uint8Array): Uint8Array | undefined {
  const end = block.indexOf(0, 2)
  if (block[0] !== 0 || block[1] !== 2 || end < 10) return undefined
  return block.subarray(end + 1)
}

export function toBigInt(bytes: Uint8Array): bigint {
  let hex = '0'
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return BigInt(`0x${hex}`)
}

function toBytes(value: bigint, size: number): Uint8Array {
  const hex = value.toString(16).padStart(size * 2, '0')
  return Uint8Array.from({ length: size }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  )
}
