import { err, ok, type Result } from '../../../kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '../../../kit/utf8.ts'
import { toBigInt } from '../../../kit/bytes.ts'
import type { PrivateKey } from './rsa.ts'

const MAGIC = encodeUtf8('openssh-key-v1\0')

/**
 * The form of `ssh-keygen`: cipher, key derivation and its options, how many keys, the public key,
 * and the private part, each a length and so many bytes.
 */
export function readOpenSshKey(bytes: Uint8Array): Result<PrivateKey, string> {
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) return err(BROKEN)
  const [cipher, , , , , privatePart] = readFields(bytes.subarray(MAGIC.length), HEADER)
  if (cipher === undefined || privatePart === undefined) return err(BROKEN)
  if (decodeUtf8(cipher) !== 'none') return err('it must not be protected by a passphrase')
  const [, , kind, modulus, , exponent, , p, q] = readFields(privatePart, RSA_FIELDS)
  if (kind === undefined || decodeUtf8(kind) !== 'ssh-rsa') return err(BROKEN)
  if (modulus === undefined || exponent === undefined || p === undefined || q === undefined)
    return err(BROKEN)
  const key = {
    modulus: toBigInt(modulus),
    secret: toBigInt(exponent),
    p: toBigInt(p),
    q: toBigInt(q),
  }
  const isSound = key.modulus === key.p * key.q && key.p > 2n && key.q > 2n
  return isSound && key.secret > 0n ? ok(key) : err(BROKEN)
}

const BROKEN = 'it is not an RSA private key'

/** A `number` is four bytes; a `field` says first how many bytes it has. */
type FieldKind = 'number' | 'field'
const HEADER: readonly FieldKind[] = ['field', 'field', 'field', 'number', 'field', 'field']

/** Two check numbers, the kind, modulus, both exponents, the inverse, the primes. */
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

/** As many as there are; a field that is cut off ends the list. */
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
  return Number(toBigInt(bytes.subarray(at, at + 4)))
}
