/**
 * Whether the text matches a pattern in which `*` stands for any characters, including none. No
 * other character is special. Each literal piece is matched at its first occurrence; no
 * backtracking is needed, because a later occurrence leaves less text for the remaining pieces.
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
