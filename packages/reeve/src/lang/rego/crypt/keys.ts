import { toBigInt } from '../../../kit/bytes.ts'
import { CURVE_BY_OID } from './curves.ts'
import { bitsOf, integerOf, itemsOf, oidOf, readOne, TAG, type DerItem } from '../../../kit/der.ts'
import { isOnCurve, publicPoint, type Curve, type EcPrivateKey, type EcPublicKey } from './ecdsa.ts'
import { publicBytes, type EdPrivateKey, type EdPublicKey } from './ed25519.ts'
import { RSA_BITS_MAX } from '../builtins/limits.ts'
import { bitLength } from '../../../kit/modular.ts'
import type { PemBlock } from '../../../kit/pem.ts'
import type { RsaPrivateKey, RsaPublicKey } from './rsa.ts'

export type PublicKey = RsaPublicKey | EcPublicKey | EdPublicKey
export type PrivateKey = RsaPrivateKey | EcPrivateKey | EdPrivateKey

export const OID = {
  rsa: '1.2.840.113549.1.1.1',
  ec: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
} as const

/** A public key from its own block; undefined when there is none of a known kind in it. */
export function publicKeyOf({ label, bytes }: PemBlock): PublicKey | undefined {
  if (label === 'RSA PUBLIC KEY') return rsaPublicKey(bytes)
  return label === 'PUBLIC KEY' ? readPublicKeyInfo(readOne(bytes)) : undefined
}

/** RFC 5280, section 4.1.2.7: an algorithm and the key. */
export function readPublicKeyInfo(info: DerItem | undefined): PublicKey | undefined {
  const [algorithm, key] = itemsOf(info)
  const [name, parameter] = itemsOf(algorithm)
  const bytes = bitsOf(key)
  if (bytes === undefined) return undefined
  switch (oidOf(name)) {
    case OID.rsa:
      return rsaPublicKey(bytes)
    case OID.ec:
      return ecPublicKey(CURVE_BY_OID.get(oidOf(parameter) ?? ''), bytes)
    case OID.ed25519:
      return bytes.length === 32 ? { type: 'ed25519', bytes } : undefined
    default:
      return undefined
  }
}

function rsaPublicKey(bytes: Uint8Array): RsaPublicKey | undefined {
  const [modulus, exponent] = itemsOf(readOne(bytes)).map(integerOf)
  return rsaPublic(modulus, exponent)
}

export function rsaPublic(
  modulus: bigint | undefined,
  exponent: bigint | undefined,
): RsaPublicKey | undefined {
  if (modulus === undefined || exponent === undefined) return undefined
  if (modulus <= 1n || exponent < 2n || bitLength(modulus) > RSA_BITS_MAX) return undefined
  return { type: 'rsa', modulus, exponent }
}

/** `04`, then both coordinates (SEC 1, section 2.3.3). */
function ecPublicKey(curve: Curve | undefined, bytes: Uint8Array): EcPublicKey | undefined {
  if (curve === undefined || bytes.length !== 1 + 2 * curve.size || bytes[0] !== 4) return undefined
  const x = toBigInt(bytes.subarray(1, 1 + curve.size))
  const y = toBigInt(bytes.subarray(1 + curve.size))
  return isOnCurve(curve, { x, y }) ? { type: 'ec', curve, point: { x, y } } : undefined
}

/** A private key without a passphrase: PKCS #1, PKCS #8 or SEC 1. */
export function privateKeyOf({ label, bytes }: PemBlock): PrivateKey | undefined {
  switch (label) {
    case 'RSA PRIVATE KEY':
      return rsaPrivateKey(bytes)
    case 'EC PRIVATE KEY':
      return ecPrivateKey(bytes, undefined)
    case 'PRIVATE KEY':
      return wrappedPrivateKey(bytes)
    default:
      return undefined
  }
}

/** RFC 5208, section 5: version, algorithm, and the key in an octet string. */
function wrappedPrivateKey(bytes: Uint8Array): PrivateKey | undefined {
  const [, algorithm, key] = itemsOf(readOne(bytes))
  const [name, parameter] = itemsOf(algorithm)
  if (key?.tag !== TAG.octets) return undefined
  switch (oidOf(name)) {
    case OID.rsa:
      return rsaPrivateKey(key.content)
    case OID.ec:
      return ecPrivateKey(key.content, CURVE_BY_OID.get(oidOf(parameter) ?? ''))
    case OID.ed25519:
      return edPrivate(readOne(key.content)?.content)
    default:
      return undefined
  }
}

/** RFC 8017, section A.1.2: version, modulus, public and private exponent, the two primes. */
function rsaPrivateKey(bytes: Uint8Array): RsaPrivateKey | undefined {
  const [, modulus, exponent, secret, p, q] = itemsOf(readOne(bytes)).map(integerOf)
  return rsaPrivate(rsaPublic(modulus, exponent), { secret, p, q })
}

interface RsaSecrets {
  readonly secret: bigint | undefined
  readonly p: bigint | undefined
  readonly q: bigint | undefined
}

export function rsaPrivate(
  key: RsaPublicKey | undefined,
  { secret, p, q }: RsaSecrets,
): RsaPrivateKey | undefined {
  if (key === undefined || secret === undefined || p === undefined || q === undefined)
    return undefined
  return p > 2n && q > 2n && p * q === key.modulus && secret > 0n
    ? { ...key, secret, p, q }
    : undefined
}

/** RFC 5915, section 3: version, secret, and the curve unless it is known from outside. */
function ecPrivateKey(bytes: Uint8Array, known: Curve | undefined): EcPrivateKey | undefined {
  const [, secret, ...tagged] = itemsOf(readOne(bytes))
  const [named] = itemsOf(tagged.find(({ tag }) => tag === 0xa0))
  const curve = known ?? CURVE_BY_OID.get(oidOf(named) ?? '')
  if (secret?.tag !== TAG.octets || curve === undefined) return undefined
  return ecPrivate(curve, toBigInt(secret.content))
}

export function ecPrivate(curve: Curve, secret: bigint): EcPrivateKey | undefined {
  if (secret <= 0n || secret >= curve.order) return undefined
  const point = publicPoint(curve, secret)
  return point === undefined ? undefined : { type: 'ec', curve, point, secret }
}

export function edPrivate(seed: Uint8Array | undefined): EdPrivateKey | undefined {
  return seed?.length === 32 ? { type: 'ed25519', seed, bytes: publicBytes(seed) } : undefined
}
