/**
 * Keeps secrets out of storage. A token's secret must be found (by hash) and shown again to who may
 * read it, so it is stored hashed and sealed with a key that lives beside the data, not in it.
 */
export interface Sealer {
  /** One-way, the same for the same text: for finding. */
  hash(secret: string): string
  /** Only `open` with the same key gives the text back. */
  seal(secret: string): string
  /** Throws a Fault when the key is another one. */
  open(sealed: string): string
  /** The same for bytes, which become a few more and no text. */
  sealBytes(bytes: Uint8Array): Uint8Array
  /** Throws a Fault when the key is another one. */
  openBytes(sealed: Uint8Array): Uint8Array
}
