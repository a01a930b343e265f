import { decodeBase64 } from '../../../kit/base64.ts'
import { err, ok, type Result } from '../../../kit/result.ts'
import { readDer, type DerItem } from './der.ts'
import type { PrivateKey } from './rsa.ts'
import { readOpenSshKey } from './openssh-key.ts'
import { RSA_BITS_MAX } from '../limits.ts'

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/

/** Longer than any key of allowed size in any of the forms. */
const PEM_CHARACTERS_MAX = RSA_BITS_MAX * 4

/** An RSA key from PEM text: PKCS #1, PKCS #8 or OpenSSH, without a passphrase. */
export function parsePrivateKey(pem: string): Result<PrivateKey, string> {
  if (pem.length > PEM_CHARACTERS_MAX)
    return err(`it must be PEM text of at most ${PEM_CHARACTERS_MAX} characters`)
  const match = PEM.exec(pem)
  if (match === null) return err('it must be PEM text, from "-----BEGIN" to "-----END"')
  const [, label = '', body = ''] = match
  if (label === 'ENCRYPTED PRIVATE KEY' || body.includes('Proc-Type:'))
    return err('it must not be protected by a passphrase')
  const bytes = decodeBase64(body.replace(/\s+/g, ''))
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
  const numbers = sequence?.tag === 'sequence' ? sequence.items : []
  const [, modulus, , exponent, p, q] = numbers.map(numberOf)
  if (modulus === undefined || exponent === undefined || p === undefined || q === undefined)
    return undefined
  return modulus === p * q && p > 2n && q > 2n && exponent > 0n
    ? { modulus, exponent, p, q }
    : undefined
}

/** RFC 5208, section 5: version, algorithm, and the key above in an octet string. */
function readWrappedKey(bytes: Uint8Array): PrivateKey | undefined {
  const [sequence] = readDer(bytes) ?? []
  const items = sequence?.tag === 'sequence' ? sequence.items : []
  const inner = items[2]
  return inner?.tag === 'octets' ? readRsaKey(inner.bytes) : undefined
}

function numberOf(item: DerItem): bigint | undefined {
  return item.tag === 'integer' ? item.value : undefined
}
