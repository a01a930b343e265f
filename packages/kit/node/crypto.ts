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
import { toBigInt } from '../src/bytes.ts'
import type { CryptoHost, HostKey, Jwk, SignatureScheme } from '../src/crypto-host.ts'

/** Bits of an RSA modulus: the time of one operation grows with the third power of its length. */
const RSA_BITS_MAX = 8192

/** Keys and signatures by Node's own module. */
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
      // Public keys come in these two forms; a private one would silently become public.
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

/** Node reads RSA keys whose numbers do not belong together. */
function isConsistent({ kty, n = '', p = '', q = '' }: Jwk): boolean {
  const number = (text: string) => toBigInt(Buffer.from(text, 'base64url'))
  return kty !== 'RSA' || number(n) === number(p) * number(q)
}

/** Ed25519 signs the message itself. */
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
 * Undefined for what throws: Node's module throws many kinds of errors for keys and texts that are
 * malformed or unsupported, and there is no other reason for it to throw.
 */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
