/** Shorter values are in everything; hiding them would hide the log. */
const CHARS_MIN = 4
const MASK = '***'

/** Replaces secrets in lines of a log before they leave the node. */
export class Masking {
  readonly #needles: readonly string[]

  constructor(secrets: readonly string[]) {
    const forms = secrets.flatMap((secret) => [...secret.split('\n'), secret]).flatMap(formsOf)
    // The longest first: one secret may be part of another.
    this.#needles = [...new Set(forms)]
      .filter(({ length }) => length >= CHARS_MIN)
      .toSorted((a, b) => b.length - a.length)
  }

  mask(line: string): string {
    let masked = line
    for (const needle of this.#needles) masked = masked.replaceAll(needle, MASK)
    return masked
  }
}

/** As it is, as base64, and as part of a JSON text. */
function formsOf(secret: string): readonly string[] {
  if (secret.length < CHARS_MIN) return []
  const base64 = Buffer.from(secret, 'utf8').toString('base64').replace(/=+$/, '')
  return [secret, base64, JSON.stringify(secret).slice(1, -1)]
}
