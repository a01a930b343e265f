import { decodeBase64, encodeBase64 } from '../../../kit/base64.ts'

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

/** Without padding, as tokens have it; nothing when it is none. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (/[^A-Za-z0-9_-]/.test(text) || text.length % 4 === 1) return undefined
  const padding = '='.repeat((4 - (text.length % 4)) % 4)
  return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding)
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
