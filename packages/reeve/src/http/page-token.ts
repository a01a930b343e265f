/**
 * Tokens of pages name rows, and names may hold anything; a header holds printable ASCII. So the
 * bytes of everything else are written as in a URL, and `%` with them. A token of a plain name is
 * that name.
 */
export function tokenToHeader(token: string): string {
  return token.toWellFormed().replace(/[^!-~]|%/gu, (character) => encodeURIComponent(character))
}

/** What was not made by `tokenToHeader`, such as a name that somebody wrote, counts as it is. */
export function tokenFromHeader(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    if (thrown instanceof URIError) return text
    throw thrown
  }
}
