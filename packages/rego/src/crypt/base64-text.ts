const STANDARD = /[A-Za-z0-9+/]/
const URL_SAFE = /[A-Za-z0-9_-]/

/** The complaint about a text that is no base64, with the place of the first wrong character. */
export function findBadBase64(text: string, alphabet: 'standard' | 'url' = 'standard'): string {
  const allowed = alphabet === 'url' ? URL_SAFE : STANDARD
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\n' || character === '\r') continue
    const isEnd = character === '=' && count % 4 >= 2 && /^=*[\r\n]*$/.test(text.slice(at))
    if (isEnd && (count + text.slice(at).replace(/[^=]/g, '').length) % 4 === 0) break
    if (!allowed.test(character)) return `illegal base64 data at input byte ${at}`
    count++
  }
  return `illegal base64 data at input byte ${Math.floor(count / 4) * 4}`
}
