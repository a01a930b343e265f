/** Two lower-case digits for each byte. */
export function encodeHex(bytes: Uint8Array): string {
  return bytes.toHex()
}
