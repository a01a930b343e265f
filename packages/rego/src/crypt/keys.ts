import { bytesToBigInt } from '@reeve/kit/bytes.ts'
import type { CryptoHost, HostKey, Jwk, KeyEncoding } from '@reeve/kit/crypto-host.ts'
import {
  bitStringOf,
  integerOf,
  sequenceItems,
  oidOf,
  readSingleDer,
  type DerItem,
} from '@reeve/kit/der.ts'
import type { PemBlock } from '@reeve/kit/pem.ts'

export const OID = {
  rsa: '1.2.840.113549.1.1.1',
  ec: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
} as const

/** A public key from its own block; undefined when there is none of a known kind in it. */
export function publicKeyOf(crypto: CryptoHost, { label, bytes }: PemBlock): HostKey | undefined {
  if (label === 'RSA PUBLIC KEY') return readable(crypto, { form: 'pkcs1', der: bytes })
  return label === 'PUBLIC KEY' ? readable(crypto, { form: 'spki', der: bytes }) : undefined
}

export function readable(crypto: CryptoHost, key: HostKey): HostKey | undefined {
  return crypto.publicJwk(key) === undefined ? undefined : key
}

const PRIVATE_FORMS: ReadonlyMap<string, KeyEncoding> = new Map([
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['EC PRIVATE KEY', 'sec1'],
  ['PRIVATE KEY', 'pkcs8'],
])

/** A private key without a passphrase. */
export function privateKeyOf(crypto: CryptoHost, { label, bytes }: PemBlock): Jwk | undefined {
  const form = PRIVATE_FORMS.get(label)
  return form === undefined ? undefined : crypto.privateJwk({ form, der: bytes })
}

/** The numbers of a public key, as certificates show them. */
export type ShownKey =
  | { readonly type: 'rsa'; readonly modulus: bigint; readonly exponent: bigint }
  | { readonly type: 'ec'; readonly x: bigint; readonly y: bigint }
  | { readonly type: 'ed25519'; readonly bytes: Uint8Array }

/** RFC 5280, section 4.1.2.7: an algorithm and the key. */
export function readPublicKeyInfo(info: DerItem): ShownKey | undefined {
  const [algorithm, key] = sequenceItems(info)
  const [name, parameter] = sequenceItems(algorithm)
  const bytes = bitStringOf(key)
  if (bytes === undefined) return undefined
  switch (oidOf(name)) {
    case OID.rsa: {
      const [modulus, exponent] = sequenceItems(readSingleDer(bytes)).map(integerOf)
      if (modulus === undefined || exponent === undefined) return undefined
      return modulus > 1n && exponent > 1n ? { type: 'rsa', modulus, exponent } : undefined
    }
    case OID.ec: {
      // `04`, then both coordinates (SEC 1, section 2.3.3).
      const size = COORDINATE_BYTES.get(oidOf(parameter) ?? '')
      if (size === undefined || bytes.length !== 1 + 2 * size || bytes[0] !== 4) return undefined
      const y = bytesToBigInt(bytes.subarray(1 + size))
      return { type: 'ec', x: bytesToBigInt(bytes.subarray(1, 1 + size)), y }
    }
    case OID.ed25519:
      return bytes.length === 32 ? { type: 'ed25519', bytes } : undefined
    default:
      return undefined
  }
}

/** P-224, P-256, P-384 and P-521, by the identifiers in keys (RFC 5480, section 2.1.1.1). */
const COORDINATE_BYTES: ReadonlyMap<string, number> = new Map([
  ['1.3.132.0.33', 28],
  ['1.2.840.10045.3.1.7', 32],
  ['1.3.132.0.34', 48],
  ['1.3.132.0.35', 66],
])
