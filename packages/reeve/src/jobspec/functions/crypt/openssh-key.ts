import { encodeBase64Url } from '@reeve/kit/base64.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import { bytesToBigInt, bigIntToBytes } from '@reeve/kit/bytes.ts'
import type { CryptoHost, Jwk } from '@reeve/kit/crypto-host.ts'

export const NOT_RSA = 'it is not an RSA private key'

const MAGIC = encodeUtf8('openssh-key-v1\0')

/**
 * Parses the `ssh-keygen` format: cipher, key derivation and its options, number of keys, public
 * key and private section, each with a length prefix.
 */
export function readOpenSshKey(crypto: CryptoHost, bytes: Uint8Array): Result<Jwk, string> {
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) return err(NOT_RSA)
  const [cipher, , , , , privatePart] = readFields(bytes.subarray(MAGIC.length), HEADER)
  if (cipher === undefined || privatePart === undefined) return err(NOT_RSA)
  if (decodeUtf8(cipher) !== 'none') return err('it must not be protected by a passphrase')
  const [, , kind, ...numbers] = readFields(privatePart, RSA_FIELDS).map(bytesToBigInt)
  if (kind !== bytesToBigInt(encodeUtf8('ssh-rsa'))) return err(NOT_RSA)
  const [n, e, d, qi, p, q] = numbers
  if (n === undefined || e === undefined || d === undefined || qi === undefined) return err(NOT_RSA)
  if (p === undefined || q === undefined || p < 2n || q < 2n) return err(NOT_RSA)
  const members = { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi }
  const jwk: Jwk = { kty: 'RSA' }
  for (const [name, value] of Object.entries(members)) Object.assign(jwk, { [name]: encode(value) })
  const key = crypto.privateJwk({ form: 'jwk', jwk })
  return key === undefined ? err(NOT_RSA) : ok(key)
}

function encode(value: bigint): string {
  const size = Math.max(1, Math.ceil(value.toString(16).length / 2))
  return encodeBase64Url(bigIntToBytes(value, size))
}

/** A `number` has four bytes; a `field` has a length prefix. */
type FieldKind = 'number' | 'field'
const HEADER: readonly FieldKind[] = ['field', 'field', 'field', 'number', 'field', 'field']

/** Two check numbers, the key type, modulus, both exponents, the inverse, the primes. */
const RSA_FIELDS: readonly FieldKind[] = [
  'number',
  'number',
  'field',
  'field',
  'field',
  'field',
  'field',
  'field',
  'field',
]

/** Reads the complete fields; a truncated field ends the list. */
function readFields(bytes: Uint8Array, kinds: readonly FieldKind[]): readonly Uint8Array[] {
  const fields: Uint8Array[] = []
  let at = 0
  for (const kind of kinds) {
    const start = kind === 'field' ? at + 4 : at
    const length = kind === 'field' ? lengthAt(bytes, at) : 4
    if (start + length > bytes.length) return fields
    fields.push(bytes.subarray(start, start + length))
    at = start + length
  }
  return fields
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return Number(bytesToBigInt(bytes.subarray(at, at + 4)))
}
