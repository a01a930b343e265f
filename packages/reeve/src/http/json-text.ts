/**
 * The first JSON value of a body. Reference §0.2: trailing bytes are ignored, so a text that does
 * not parse whole is cut after its first value and parsed again.
 */
export function parseFirstJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    const end = endOfFirstValue(text)
    if (end === undefined || end === text.length) throw thrown
    return JSON.parse(text.slice(0, end))
  }
}

/**
 * Position after the first object, array or string; undefined when there is none or it does not
 * end.
 */
function endOfFirstValue(text: string): number | undefined {
  const start = text.search(/\S/)
  if (start < 0 || !'{["'.includes(text.charAt(start))) return undefined
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '"') {
      at = endOfString(text, at)
      if (depth === 0) return at + 1
    } else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1
  return at
}
