/**
 * Keys and signatures for the policy and job languages. Pure packages have no access to host
 * modules, so the program passes an implementation (`@reeve/kit/node`). Methods return undefined or
 * false for keys that are malformed, too large or unsupported; they never throw.
 */
export interface CryptoHost {
  /** Exports the public key as numbers, for example to compare two keys. */
  publicJwk(key: HostKey): Jwk | undefined
  /** Exports the private key as numbers. For RSA, `n = p * q` holds. */
  privateJwk(key: HostKey): Jwk | undefined
  verify(key: HostKey, scheme: SignatureScheme, signed: SignedMessage): boolean
  /** Undefined also if the key has another type or is too short for the scheme. */
  sign(key: HostKey, scheme: SignatureScheme, message: Uint8Array): Uint8Array | undefined
  /** RSA private-key operation without padding; the result is as long as the modulus. */
  decryptRsaRaw(key: HostKey, cipher: Uint8Array): Uint8Array | undefined
}

/** A key as it appears in files and tokens. */
export type HostKey =
  | { readonly form: 'jwk'; readonly jwk: Jwk }
  | { readonly form: KeyEncoding; readonly der: Uint8Array }

/** RFC 5280 (public), RFC 8017 (RSA), RFC 5208 (private) and RFC 5915 (elliptic curves). */
export type KeyEncoding = 'spki' | 'pkcs1' | 'pkcs8' | 'sec1'

/** A JSON Web Key (RFC 7518, section 6). Numbers are base64url. */
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
  /** ECDSA only: certificates use DER; tokens use the two numbers at fixed length. */
  readonly encoding?: 'der' | 'ieee-p1363'
}

export interface SignedMessage {
  readonly message: Uint8Array
  readonly signature: Uint8Array
}
