/**
 * Standard base64 with padding, on what every platform has: only the newest can convert bytes at
 * once.
 */
export function bytesFromBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

export function base64FromBytes(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
