import { decodeBase64, decodeBase64Url } from '@reeve/kit/base64.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { bytesToBigInt } from '@reeve/kit/bytes.ts'
import type { CryptoHost, Jwk, KeyEncoding } from '@reeve/kit/crypto-host.ts'
import { findPem } from '@reeve/kit/pem.ts'
import { NOT_RSA, readOpenSshKey } from './openssh-key.ts'
import { RSA_BITS_MAX } from '../limits.ts'

/** Longer than any allowed key in any format. */
const PEM_CHARACTERS_MAX = RSA_BITS_MAX * 4

/** Parses an RSA key in PEM: PKCS #1, PKCS #8 or OpenSSH, without a passphrase. */
export function parsePrivateKey(crypto: CryptoHost, pem: string): Result<Jwk, string> {
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
      return readRsaKey(crypto, 'pkcs1', bytes)
    case 'PRIVATE KEY':
      return readRsaKey(crypto, 'pkcs8', bytes)
    case 'OPENSSH PRIVATE KEY':
      return readOpenSshKey(crypto, bytes)
    default:
      return err(`it must be an RSA private key, but it is ${JSON.stringify(label)}`)
  }
}

function readRsaKey(crypto: CryptoHost, form: KeyEncoding, der: Uint8Array): Result<Jwk, string> {
  const key = crypto.privateJwk({ form, der })
  return key?.kty === 'RSA' ? ok(key) : err(NOT_RSA)
}

/** The host exported the key, so its numbers are valid base64url. */
export function numberIn(key: Jwk, name: keyof Jwk): bigint {
  return bytesToBigInt(decodeBase64Url(key[name] ?? '') ?? new Uint8Array(0))
}
