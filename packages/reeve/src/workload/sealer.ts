/**
 * Protects secrets in storage. Token secrets must be found by hash and shown again to permitted
 * callers, so they are stored hashed and sealed with a key that is stored separately from the data.
 */
export interface Sealer {
  /** Deterministic one-way hash for lookups. */
  hash(secret: string): string
  /** Encrypts a secret; only `open` with the same key decrypts it. */
  seal(secret: string): string
  /** Throws a Fault if it was sealed with another key. */
  open(sealed: string): string
  /** Encrypts bytes. */
  sealBytes(bytes: Uint8Array): Uint8Array
  /** Throws a Fault if it was sealed with another key. */
  openBytes(sealed: Uint8Array): Uint8Array
}
