import type { v2 } from '@reeve/contract'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { isObject } from './plan-document.ts'

/** What stands where a sensitive value was. */
export const MASK = '(sensitive value)'

/** Shorter ones are in every text, and hiding them would tell what they are. */
const SECRET_CHARS_MIN = 4

/**
 * Values are cut before they are shown, so a longer secret is known by its beginning. Of a guess
 * nothing is learned: it would have to be right in so many characters at once.
 */
const HEAD_CHARS = 64

/** Gathers values that nobody is to be shown, however deep they lie in others. */
export class Secrets {
  readonly #found = new Set<string>()
  readonly #most: number

  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  add(value: unknown): void {
    if (this.#found.size >= this.#most) return
    if (typeof value === 'object' && value !== null)
      for (const part of Object.values(value)) this.add(part)
    else if (typeof value === 'string' || typeof value === 'number') this.#note(String(value))
  }

  #note(text: string): void {
    if (text.length >= SECRET_CHARS_MIN) this.#found.add(text)
  }

  /** Every spelling of each, the longest first: one may be in another. */
  texts(): readonly string[] {
    const all = new Set([...this.#found].flatMap(spellings))
    return [...all].toSorted((a, b) => b.length - a.length)
  }
}

/** As it is; in quotes, as values are shown; and so within JSON that a policy made of it. */
function spellings(secret: string): readonly string[] {
  const quoted = [inQuotes(secret), inQuotes(secret).replaceAll(/[<>&]/g, escaped)]
  return [secret, ...quoted, ...quoted.map(inQuotes)]
}

function inQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Some JSON can stand in web pages. */
function escaped(mark: string): string {
  return `\\u00${mark.charCodeAt(0).toString(16)}`
}

interface Spoken {
  readonly output: readonly unknown[]
  readonly findings: readonly v2.PolicyFinding[]
}

/** What a policy said, without secrets that it may have repeated. */
export function withoutSecrets<Said extends Spoken>(
  said: Said,
  secrets: readonly string[],
  mask: string = MASK,
): Said {
  if (secrets.length === 0) return said
  const hide = (value: unknown): unknown => maskedValue(value, secrets, mask)
  return {
    ...said,
    output: said.output.map(hide),
    findings: said.findings.map((finding) => ({
      ...finding,
      message: maskedText(finding.message, secrets, mask),
      ...(finding.value === undefined ? {} : { value: hide(finding.value) }),
    })),
  }
}

function maskedValue(value: unknown, secrets: readonly string[], mask: string): unknown {
  const hide = (part: unknown): unknown => maskedValue(part, secrets, mask)
  if (typeof value === 'string') return maskedText(value, secrets, mask)
  if (typeof value === 'number') return secrets.includes(String(value)) ? mask : value
  if (Array.isArray(value)) return value.map(hide)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => [name, hide(part)]),
  )
}

function maskedText(text: string, secrets: readonly string[], mask: string): string {
  const whole = secrets.reduce(
    (left, secret) =>
      secret.length <= HEAD_CHARS
        ? left.replaceAll(secret, mask)
        : withoutBeginnings(left, secret, mask),
    text,
  )
  return whole.endsWith(ELLIPSIS) ? withoutCutSecret(whole, secrets, mask) : whole
}

/** Where a text was cut within a secret, the rest of the secret is hidden too. */
function withoutCutSecret(text: string, secrets: readonly string[], mask: string): string {
  const kept = text.slice(0, -ELLIPSIS.length)
  const rest = secrets.reduce((most, secret) => Math.max(most, beginningAtEnd(kept, secret)), 0)
  return rest < SECRET_CHARS_MIN ? text : kept.slice(0, -rest) + mask + ELLIPSIS
}

/** How many characters at the end of the text are the first ones of the secret. */
function beginningAtEnd(text: string, secret: string): number {
  const last = text.at(-1)
  for (let length = Math.min(secret.length, HEAD_CHARS) - 1; length > 0; length--)
    // Most lengths end here, before a text is made: there may be thousands of secrets.
    if (secret[length - 1] === last && text.endsWith(secret.slice(0, length))) return length
  return 0
}

/** As much of the secret as there is, wherever it begins. */
function withoutBeginnings(text: string, secret: string, mask: string): string {
  const head = secret.slice(0, HEAD_CHARS)
  let shown = ''
  let from = 0
  for (let at = text.indexOf(head); at !== -1; at = text.indexOf(head, from)) {
    shown += text.slice(from, at) + mask
    let length = HEAD_CHARS
    while (length < secret.length && text[at + length] === secret[length]) length++
    from = at + length
  }
  return shown + text.slice(from)
}
