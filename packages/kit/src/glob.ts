/**
 * Whether the text matches a pattern in which `*` stands for any run of characters, also none. Only
 * `*` is special. Each piece between stars is taken at its first place, which never has to be
 * revised: a later place would leave less text for the pieces that follow.
 */
export function matchGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return pattern === text
  if (!text.startsWith(head)) return false
  let at = head.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.length - tail.length >= at && text.endsWith(tail)
}
