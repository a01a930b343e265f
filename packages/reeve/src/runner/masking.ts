/** Shorter values occur in many lines; masking them would make the log unreadable. */
const SECRET_LENGTH_MIN = 4
const MASK = '***'

/** Replaces secrets in lines of a log before they leave the node. */
export class SecretMasker {
  readonly #patterns: readonly string[]

  constructor(secrets: readonly string[]) {
    const forms = secrets.flatMap((secret) => [...secret.split('\n'), secret]).flatMap(encodedForms)
    // Longest first, because one secret may contain another.
    this.#patterns = [...new Set(forms)]
      .filter(({ length }) => length >= SECRET_LENGTH_MIN)
      .toSorted((a, b) => b.length - a.length)
  }

  mask(line: string): string {
    let masked = line
    for (const pattern of this.#patterns) masked = masked.replaceAll(pattern, MASK)
    return masked
  }
}

/** Returns the forms in which a secret may occur: plain, base64, and JSON-escaped. */
function encodedForms(secret: string): readonly string[] {
  if (secret.length < SECRET_LENGTH_MIN) return []
  const base64 = Buffer.from(secret, 'utf8').toString('base64').replace(/=+$/, '')
  return [secret, base64, JSON.stringify(secret).slice(1, -1)]
}
