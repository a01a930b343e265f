import {
  constants,
  createPrivateKey,
  createPublicKey,
  privateDecrypt,
  sign,
  verify,
  type KeyObject,
  type SigningOptions,
} from 'node:crypto'
import { bytesToBigInt } from '../src/bytes.ts'
import type { CryptoHost, HostKey, Jwk, SignatureScheme } from '../src/crypto-host.ts'

/** Maximum bits of an RSA modulus. The time of an operation grows with the cube of the length. */
const RSA_BITS_MAX = 8192

/** `CryptoHost` on `node:crypto`. */
export const nodeCrypto: CryptoHost = {
  publicJwk: (key) => exportJwk(readPublicKey(key)),
  privateJwk(key) {
    const jwk = exportJwk(readPrivateKey(key))
    return jwk === undefined || isConsistent(jwk) ? jwk : undefined
  },
  verify(key, scheme, { message, signature }) {
    const object = readPublicKey(key)
    if (object?.asymmetricKeyType !== KEY_TYPES[scheme.kind]) return false
    const options = { key: object, ...signingOptions(scheme, constants.RSA_PSS_SALTLEN_AUTO) }
    return attempt(() => verify(digestOf(scheme), message, options, signature)) ?? false
  },
  sign(key, scheme, message) {
    const object = readPrivateKey(key)
    if (object?.asymmetricKeyType !== KEY_TYPES[scheme.kind]) return undefined
    const options = { key: object, ...signingOptions(scheme, constants.RSA_PSS_SALTLEN_DIGEST) }
    return attempt(() => sign(digestOf(scheme), message, options))
  },
  decryptRsaRaw(key, cipher) {
    const object = readPrivateKey(key)
    if (object?.asymmetricKeyType !== 'rsa') return undefined
    return attempt(() => privateDecrypt({ key: object, padding: constants.RSA_NO_PADDING }, cipher))
  },
}

const KEY_TYPES = { pkcs1: 'rsa', pss: 'rsa', ecdsa: 'ec', eddsa: 'ed25519' } as const

function readPublicKey(key: HostKey): KeyObject | undefined {
  return withinLimits(
    attempt(() => {
      if (key.form === 'jwk') return createPublicKey({ key: { ...key.jwk }, format: 'jwk' })
      // Only these forms hold public keys. Node would derive a public key from a private one.
      if (key.form !== 'spki' && key.form !== 'pkcs1') return undefined
      return createPublicKey({ key: Buffer.from(key.der), format: 'der', type: key.form })
    }),
  )
}

function readPrivateKey(key: HostKey): KeyObject | undefined {
  return withinLimits(
    attempt(() => {
      if (key.form === 'jwk') return createPrivateKey({ key: { ...key.jwk }, format: 'jwk' })
      if (key.form === 'spki') return undefined
      return createPrivateKey({ key: Buffer.from(key.der), format: 'der', type: key.form })
    }),
  )
}

function withinLimits(key: KeyObject | undefined): KeyObject | undefined {
  return (key?.asymmetricKeyDetails?.modulusLength ?? 0) > RSA_BITS_MAX ? undefined : key
}

function exportJwk(key: KeyObject | undefined): Jwk | undefined {
  return key === undefined ? undefined : attempt(() => key.export({ format: 'jwk' }))
}

/** Whether `n = p * q`. Node accepts RSA keys with inconsistent numbers. */
function isConsistent({ kty, n = '', p = '', q = '' }: Jwk): boolean {
  const number = (text: string) => bytesToBigInt(Buffer.from(text, 'base64url'))
  return kty !== 'RSA' || number(n) === number(p) * number(q)
}

/** Ed25519 signs the message itself, without a separate digest. */
function digestOf({ kind, hash }: SignatureScheme): string | null {
  return kind === 'eddsa' ? null : hash
}

function signingOptions({ kind, encoding }: SignatureScheme, saltLength: number): SigningOptions {
  switch (kind) {
    case 'pkcs1':
      return { padding: constants.RSA_PKCS1_PADDING }
    case 'pss':
      return { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
    case 'ecdsa':
      return { dsaEncoding: encoding ?? 'ieee-p1363' }
    case 'eddsa':
      return {}
  }
}

/**
 * Undefined when `work` throws. Node throws many kinds of errors for malformed and unsupported
 * keys, and for no other reason.
 */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
