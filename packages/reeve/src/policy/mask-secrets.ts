import type { v2 } from '@reeve/contract'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { isObject } from './plan-document.ts'

/** Replacement for sensitive values. */
export const MASK = '(sensitive value)'

/** Shorter values occur in many texts; masking them would reveal them. */
const SECRET_CHARS_MIN = 4

/**
 * Findings may be truncated, so a long secret is matched by its first 64 characters. A caller
 * cannot guess that many characters, so a match reveals nothing.
 */
const PREFIX_CHARS = 64

/** Collects sensitive values, including nested ones. */
export class SecretCollector {
  readonly #values = new Set<string>()
  readonly #countMax: number

  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#countMax = most
  }

  add(value: unknown): void {
    if (this.#values.size >= this.#countMax) return
    if (typeof value === 'object' && value !== null)
      for (const part of Object.values(value)) this.add(part)
    else if (typeof value === 'string' || typeof value === 'number') this.#addText(String(value))
  }

  #addText(text: string): void {
    if (text.length >= SECRET_CHARS_MIN) this.#values.add(text)
  }

  /** Returns all encodings of the values, the longest first, because one may contain another. */
  encodedValues(): readonly string[] {
    const all = new Set([...this.#values].flatMap(encodings))
    return [...all].toSorted((a, b) => b.length - a.length)
  }
}

/**
 * Returns the encodings of a secret: as it is, JSON-escaped as in displayed values, and escaped
 * twice as in JSON text that a policy produced.
 */
function encodings(secret: string): readonly string[] {
  const quoted = [jsonEscape(secret), jsonEscape(secret).replaceAll(/[<>&]/g, unicodeEscape)]
  return [secret, ...quoted, ...quoted.map(jsonEscape)]
}

function jsonEscape(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** HTML-safe JSON escapes `<`, `>` and `&`. */
function unicodeEscape(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`
}

interface RedactableResult {
  readonly output: readonly unknown[]
  readonly findings: readonly v2.PolicyFinding[]
}

/** Returns a policy result with all occurrences of the secrets redacted. */
export function withoutSecrets<Said extends RedactableResult>(
  result: Said,
  secrets: readonly string[],
  mask: string = MASK,
): Said {
  if (secrets.length === 0) return result
  const hide = (value: unknown): unknown => redactValue(value, secrets, mask)
  return {
    ...result,
    output: result.output.map(hide),
    findings: result.findings.map((finding) => ({
      ...finding,
      message: redactText(finding.message, secrets, mask),
      ...(finding.value === undefined ? {} : { value: hide(finding.value) }),
    })),
  }
}

function redactValue(value: unknown, secrets: readonly string[], mask: string): unknown {
  const hide = (part: unknown): unknown => redactValue(part, secrets, mask)
  if (typeof value === 'string') return redactText(value, secrets, mask)
  if (typeof value === 'number') return secrets.includes(String(value)) ? mask : value
  if (Array.isArray(value)) return value.map(hide)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => [name, hide(part)]),
  )
}

function redactText(text: string, secrets: readonly string[], mask: string): string {
  const redacted = secrets.reduce(
    (remaining, secret) =>
      secret.length <= PREFIX_CHARS
        ? remaining.replaceAll(secret, mask)
        : redactPrefixMatches(remaining, secret, mask),
    text,
  )
  return redacted.endsWith(ELLIPSIS) ? redactTruncatedSecret(redacted, secrets, mask) : redacted
}

/** Redacts a secret that was truncated at the end of the text. */
function redactTruncatedSecret(text: string, secrets: readonly string[], mask: string): string {
  const visible = text.slice(0, -ELLIPSIS.length)
  const prefixLength = secrets.reduce(
    (longest, secret) => Math.max(longest, trailingPrefixLength(visible, secret)),
    0,
  )
  return prefixLength < SECRET_CHARS_MIN ? text : visible.slice(0, -prefixLength) + mask + ELLIPSIS
}

/** Returns the length of the longest prefix of the secret at the end of the text. */
function trailingPrefixLength(text: string, secret: string): number {
  const last = text.at(-1)
  for (let length = Math.min(secret.length, PREFIX_CHARS) - 1; length > 0; length--)
    // Comparing one character first avoids a string allocation for most lengths; there may be
    // thousands of secrets.
    if (secret[length - 1] === last && text.endsWith(secret.slice(0, length))) return length
  return 0
}

/**
 * Redacts each occurrence of the secret's prefix with the following characters that match the
 * secret.
 */
function redactPrefixMatches(text: string, secret: string, mask: string): string {
  const prefix = secret.slice(0, PREFIX_CHARS)
  let redacted = ''
  let from = 0
  for (let index = text.indexOf(prefix); index !== -1; index = text.indexOf(prefix, from)) {
    redacted += text.slice(from, index) + mask
    let length = PREFIX_CHARS
    while (length < secret.length && text[index + length] === secret[length]) length++
    from = index + length
  }
  return redacted + text.slice(from)
}
