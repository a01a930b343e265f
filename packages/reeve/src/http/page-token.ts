/**
 * Encodes a page token for a header. Tokens contain names with any characters, and a header holds
 * printable ASCII: other bytes and `%` are percent-encoded. The token of a plain name is that name.
 */
export function encodePageToken(token: string): string {
  return token.toWellFormed().replace(/[^!-~]|%/gu, (character) => encodeURIComponent(character))
}

/**
 * Decodes a page token. Text that `encodePageToken` has not encoded, such as a name typed by hand, is
 * returned unchanged.
 */
export function decodePageToken(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    if (thrown instanceof URIError) return text
    throw thrown
  }
}
