import type { CryptoHost, HostKey, Jwk } from '@reeve/kit/crypto-host.ts'
import { isArray, objectOf, ObjectValue, type Entry, type Value } from '../value/value.ts'
import { decodeBase64Url } from '@reeve/kit/base64.ts'
import { readable } from './keys.ts'

/** A secret that both sides know. */
export interface SharedKey {
  readonly form: 'oct'
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
export function publicKeyFromJwk(
  crypto: CryptoHost,
  jwk: ObjectValue,
): HostKey | SharedKey | undefined {
  if (jwk.get('kty') === 'oct') return sharedKey(jwk)
  const members = readMembers(jwk, PUBLIC_MEMBERS)
  return members === undefined ? undefined : readable(crypto, { form: 'jwk', jwk: members })
}

export function privateKeyFromJwk(
  crypto: CryptoHost,
  jwk: ObjectValue,
): HostKey | SharedKey | undefined {
  if (jwk.get('kty') === 'oct') return sharedKey(jwk)
  const members = readMembers(jwk, PRIVATE_MEMBERS)
  const key = members === undefined ? undefined : crypto.privateJwk({ form: 'jwk', jwk: members })
  return key === undefined ? undefined : { form: 'jwk', jwk: key }
}

export function jwkFromPrivateKey(key: Jwk): ObjectValue {
  return objectOf(Object.entries(key).map(([name, value]): Entry => [name, String(value)]))
}

function sharedKey(jwk: ObjectValue): SharedKey | undefined {
  const text = jwk.get('k')
  const bytes = typeof text === 'string' ? decodeBase64Url(text) : undefined
  return bytes === undefined ? undefined : { form: 'oct', bytes }
}

const PUBLIC_MEMBERS = ['n', 'e', 'x', 'y'] as const
const PRIVATE_MEMBERS = [...PUBLIC_MEMBERS, 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const

/** The host reads base64url leniently, so each member is checked here. */
function readMembers(
  jwk: ObjectValue,
  names: readonly (typeof PRIVATE_MEMBERS)[number][],
): Jwk | undefined {
  const [kty, crv] = [jwk.get('kty'), jwk.get('crv')]
  const members: Jwk = {}
  if (typeof kty === 'string') members.kty = kty
  if (typeof crv === 'string') members.crv = crv
  for (const name of names) {
    const value = jwk.get(name)
    if (value === undefined) continue
    if (typeof value !== 'string' || decodeBase64Url(value) === undefined) return undefined
    members[name] = value
  }
  return members
}
