/**
 * Keys and signatures for the languages. Pure folders have no host modules, so the program that
 * runs them passes an implementation (`@reeve/kit/node`). Methods return undefined or false for
 * keys that are malformed, too large or of an unsupported kind; they never throw.
 */
export interface CryptoHost {
  /** The public key with its numbers, e.g. to compare two keys. */
  publicJwk(key: HostKey): Jwk | undefined
  /** The private key with its numbers; an RSA key is consistent: the modulus is `p * q`. */
  privateJwk(key: HostKey): Jwk | undefined
  verify(key: HostKey, scheme: SignatureScheme, signed: SignedMessage): boolean
  /** Undefined as well when the key is of another kind or too short for the scheme. */
  sign(key: HostKey, scheme: SignatureScheme, message: Uint8Array): Uint8Array | undefined
  /** The private operation of RSA without padding; the result is as long as the modulus. */
  decryptRsaRaw(key: HostKey, cipher: Uint8Array): Uint8Array | undefined
}

/** A key in one of the forms that it has in files and tokens. */
export type HostKey =
  | { readonly form: 'jwk'; readonly jwk: Jwk }
  | { readonly form: KeyEncoding; readonly der: Uint8Array }

/** RFC 5280 (public), RFC 8017 (RSA), RFC 5208 (private) and RFC 5915 (elliptic curves). */
export type KeyEncoding = 'spki' | 'pkcs1' | 'pkcs8' | 'sec1'

/** A JSON Web Key (RFC 7518, section 6); the numbers are in base64url. */
export interface Jwk {
  kty?: string
  crv?: string
  n?: string
  e?: string
  d?: string
  p?: string
  q?: string
  dp?: string
  dq?: string
  qi?: string
  x?: string
  y?: string
}

export interface SignatureScheme {
  readonly kind: 'pkcs1' | 'pss' | 'ecdsa' | 'eddsa'
  readonly hash: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** ECDSA only: certificates use DER, tokens the two numbers in fixed length. */
  readonly encoding?: 'der' | 'ieee-p1363'
}

export interface SignedMessage {
  readonly message: Uint8Array
  readonly signature: Uint8Array
}
