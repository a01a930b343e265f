import { isArray, objectOf, ObjectValue, type Value } from '../value/value.ts'
import { decodeBase64Url, encodeBase64Url } from './base64-text.ts'
import { toBigInt, toBytes } from '../../../kit/bytes.ts'
import { CURVES } from './curves.ts'
import { isOnCurve, type Curve, type EcPublicKey } from './ecdsa.ts'
import {
  ecPrivate,
  edPrivate,
  rsaPrivate,
  rsaPublic,
  type PrivateKey,
  type PublicKey,
} from './keys.ts'
import { bitLength, modularInverse } from '../../../kit/modular.ts'
import type { RsaPrivateKey } from './rsa.ts'

/** A secret that both sides know. */
export interface SharedKey {
  readonly type: 'oct'
  readonly bytes: Uint8Array
}

/** The keys of a JWK or a set of them (RFC 7517, section 5). */
export function jwksOf(value: Value): readonly ObjectValue[] {
  if (!(value instanceof ObjectValue)) return []
  const keys = value.get('keys')
  if (keys === undefined) return [value]
  return isArray(keys) ? keys.filter((key) => key instanceof ObjectValue) : []
}

/** RFC 7518, section 6; undefined for a key that is broken or of an unknown kind. */
export function publicKeyFromJwk(jwk: ObjectValue): PublicKey | SharedKey | undefined {
  const bytes = (name: string) => bytesAt(jwk, name)
  const number = (name: string) => numberAt(jwk, name)
  switch (jwk.get('kty')) {
    case 'oct': {
      const secret = bytes('k')
      return secret === undefined ? undefined : { type: 'oct', bytes: secret }
    }
    case 'RSA':
      return rsaPublic(number('n'), number('e'))
    case 'EC':
      return ecPublic(curveOf(jwk), number('x'), number('y'))
    case 'OKP': {
      const point = bytes('x')
      return jwk.get('crv') === 'Ed25519' && point?.length === 32
        ? { type: 'ed25519', bytes: point }
        : undefined
    }
    default:
      return undefined
  }
}

export function privateKeyFromJwk(jwk: ObjectValue): PrivateKey | SharedKey | undefined {
  const number = (name: string) => numberAt(jwk, name)
  switch (jwk.get('kty')) {
    case 'RSA': {
      const key = rsaPublic(number('n'), number('e'))
      return rsaPrivate(key, { secret: number('d'), p: number('p'), q: number('q') })
    }
    case 'EC': {
      const curve = curveOf(jwk)
      const secret = number('d')
      return curve === undefined || secret === undefined ? undefined : ecPrivate(curve, secret)
    }
    case 'OKP':
      return jwk.get('crv') === 'Ed25519' ? edPrivate(bytesAt(jwk, 'd')) : undefined
    default: {
      const key = publicKeyFromJwk(jwk)
      return key?.type === 'oct' ? key : undefined
    }
  }
}

function bytesAt(jwk: ObjectValue, name: string): Uint8Array | undefined {
  const text = jwk.get(name)
  return typeof text === 'string' ? decodeBase64Url(text) : undefined
}

function numberAt(jwk: ObjectValue, name: string): bigint | undefined {
  const bytes = bytesAt(jwk, name)
  return bytes === undefined ? undefined : toBigInt(bytes)
}

function curveOf(jwk: ObjectValue): Curve | undefined {
  return CURVES.find(({ name }) => name === jwk.get('crv'))
}

function ecPublic(
  curve: Curve | undefined,
  x: bigint | undefined,
  y: bigint | undefined,
): EcPublicKey | undefined {
  if (curve === undefined || x === undefined || y === undefined) return undefined
  return isOnCurve(curve, { x, y }) ? { type: 'ec', curve, point: { x, y } } : undefined
}

export function jwkFromPrivateKey(key: PrivateKey): ObjectValue {
  switch (key.type) {
    case 'rsa':
      return rsaJwk(key)
    case 'ec': {
      const coordinate = (value: bigint) => encodeBase64Url(toBytes(value, key.curve.size))
      return objectOf([
        ['kty', 'EC'],
        ['crv', key.curve.name],
        ['x', coordinate(key.point.x)],
        ['y', coordinate(key.point.y)],
        ['d', coordinate(key.secret)],
      ])
    }
    case 'ed25519':
      return objectOf([
        ['kty', 'OKP'],
        ['crv', 'Ed25519'],
        ['x', encodeBase64Url(key.bytes)],
        ['d', encodeBase64Url(key.seed)],
      ])
  }
}

function rsaJwk({ modulus, exponent, secret, p, q }: RsaPrivateKey): ObjectValue {
  const text = (value: bigint) =>
    encodeBase64Url(toBytes(value, Math.max(1, Math.ceil(bitLength(value) / 8))))
  return objectOf([
    ['kty', 'RSA'],
    ['n', text(modulus)],
    ['e', text(exponent)],
    ['d', text(secret)],
    ['p', text(p)],
    ['q', text(q)],
    ['dp', text(secret % (p - 1n))],
    ['dq', text(secret % (q - 1n))],
    ['qi', text(modularInverse(q, p))],
  ])
}
