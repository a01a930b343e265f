import { decodeBase64 } from '../../../kit/base64.ts'
import { err, ok, type Result } from '../../../kit/result.ts'
import { integerOf, itemsOf, readDer, TAG } from '../../../kit/der.ts'
import { findPem } from '../../../kit/pem.ts'
import type { PrivateKey } from './rsa.ts'
import { readOpenSshKey } from './openssh-key.ts'
import { RSA_BITS_MAX } from '../limits.ts'

/** Longer than any key of allowed size in any of the forms. */
const PEM_CHARACTERS_MAX = RSA_BITS_MAX * 4

/** An RSA key from PEM text: PKCS #1, PKCS #8 or OpenSSH, without a passphrase. */
export function parsePrivateKey(pem: string): Result<PrivateKey, string> {
  if (pem.length > PEM_CHARACTERS_MAX)
    return err(`it must be PEM text of at most ${PEM_CHARACTERS_MAX} characters`)
  const [block] = findPem(pem)
  if (block === undefined) return err('it must be PEM text, from "-----BEGIN" to "-----END"')
  const { label, content, headers } = block
  const isProtected = headers.some((header) => header.startsWith('Proc-Type:'))
  if (label === 'ENCRYPTED PRIVATE KEY' || isProtected)
    return err('it must not be protected by a passphrase')
  const bytes = decodeBase64(content)
  if (bytes === undefined) return err('it is not valid base64 between its first and last line')
  switch (label) {
    case 'RSA PRIVATE KEY':
      return orBroken(readRsaKey(bytes))
    case 'PRIVATE KEY':
      return orBroken(readWrappedKey(bytes))
    case 'OPENSSH PRIVATE KEY':
      return readOpenSshKey(bytes)
    default:
      return err(`it must be an RSA private key, but it is ${JSON.stringify(label)}`)
  }
}

function orBroken(key: PrivateKey | undefined): Result<PrivateKey, string> {
  return key === undefined ? err('it is not an RSA private key') : ok(key)
}

/** RFC 8017, section A.1.2: version, modulus, public and private exponent, the two primes. */
function readRsaKey(bytes: Uint8Array): PrivateKey | undefined {
  const [sequence] = readDer(bytes) ?? []
  const numbers = sequence?.tag === TAG.sequence ? itemsOf(sequence) : []
  const [, modulus, , secret, p, q] = numbers.map(integerOf)
  if (modulus === undefined || secret === undefined || p === undefined || q === undefined)
    return undefined
  return modulus === p * q && p > 2n && q > 2n && secret > 0n
    ? { modulus, secret, p, q }
    : undefined
}

/** RFC 5208, section 5: version, algorithm, and the key above in an octet string. */
function readWrappedKey(bytes: Uint8Array): PrivateKey | undefined {
  const [sequence] = readDer(bytes) ?? []
  const inner = itemsOf(sequence)[2]
  return inner?.tag === TAG.octets ? readRsaKey(inner.content) : undefined
}
