/** Lower case, two digits per byte. */
export function encodeHex(bytes: Uint8Array): string {
  return bytes.toHex()
}
