import { decodeBase64Url } from '@reeve/kit/base64.ts'
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
import { type PemBlock, readPem } from '@reeve/kit/pem.ts'
import { CERTIFICATES_MAX } from '../builtins/limits.ts'
import { parseHclJson } from '../value/json.ts'
import { isArray, objectOf, ObjectValue, type Entry, type Value } from '../value/value.ts'
import type { Token } from './token.ts'
import { readCertificate } from './x509.ts'

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

function readable(crypto: CryptoHost, key: HostKey): HostKey | undefined {
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
type ShownKey =
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

export interface VerificationKey {
  readonly key: HostKey | SharedKey
  readonly id?: string
  /** The only algorithm it is for. */
  readonly algorithm?: string
}

/** A certificate or a public key in PEM, or a JWK or a set of them; or what is wrong. */
export function readVerificationKeys(
  crypto: CryptoHost,
  text: string,
): readonly VerificationKey[] | string {
  if (text.includes('-----BEGIN')) return keysInPem(crypto, text)
  const json = parseHclJson(text)
  if (!json.ok) return `failed to parse a JWK key (set): ${json.error}`
  const keys: VerificationKey[] = []
  for (const jwk of jwksOf(json.value).slice(0, CERTIFICATES_MAX)) {
    const key = publicKeyFromJwk(crypto, jwk)
    if (key === undefined) continue
    const [id, algorithm] = [jwk.get('kid'), jwk.get('alg')]
    keys.push({
      key,
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof algorithm === 'string' ? { algorithm } : {}),
    })
  }
  return keys.length === 0 ? 'failed to parse a JWK key (set): it has no usable key' : keys
}

function keysInPem(crypto: CryptoHost, text: string): readonly VerificationKey[] | string {
  const [block] = readPem(text)
  if (block === undefined) return 'failed to extract a Key from the PEM certificate'
  if (block.rest.trim() !== '') return 'extra data after a PEM certificate block'
  if (block.label === 'CERTIFICATE') {
    const certificate = readCertificate(readSingleDer(block.bytes))
    if (certificate === undefined)
      return 'failed to parse a PEM certificate: x509: malformed certificate'
    const key = readable(crypto, { form: 'spki', der: certificate.keyInfo.encoded })
    return key === undefined
      ? 'failed to parse a PEM certificate: its key is of an unknown kind'
      : [{ key }]
  }
  if (block.label !== 'PUBLIC KEY' && block.label !== 'RSA PUBLIC KEY')
    return 'failed to extract a Key from the PEM certificate'
  const key = publicKeyOf(crypto, block)
  return key === undefined ? 'failed to parse a PEM public key' : [{ key }]
}

function isKeyUsable({ algorithm }: VerificationKey, wanted: Value | undefined): boolean {
  return algorithm === undefined || algorithm === wanted
}

/** The key that the token names, if it is there; else all that say nothing against it. */
export function chooseKeys(
  keys: readonly VerificationKey[],
  { header }: Token,
): readonly VerificationKey[] {
  const id = header.get('kid')
  const named = id === undefined ? undefined : keys.find((one) => one.id === id)
  if (named !== undefined) return [named]
  return keys.filter((one) => isKeyUsable(one, header.get('alg')))
}
