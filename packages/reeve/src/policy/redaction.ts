import type { v2 } from '@reeve/contract'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { asList, asObject, isObject } from './plan-document.ts'
import type { JsonObject } from './policy-input.ts'

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

/** Maximum number of values that are searched for in policy results. */
const SECRETS_MAX = 1_000

type JsonRecord = Readonly<Record<string, unknown>>

/**
 * Returns the plan with all values redacted that `before_sensitive`, `after_sensitive`,
 * `sensitive_values` and `sensitive` mark. Policies receive the unredacted plan.
 */
export function redactPlan(plan: JsonObject): JsonRecord {
  return new PlanRedactor().plan(plan)
}

/** Returns the texts of the values that `redactPlan` redacts. */
export function sensitiveValues(plan: JsonObject): readonly string[] {
  const redaction = new PlanRedactor()
  redaction.plan(plan)
  return redaction.secrets.encodedValues()
}

class PlanRedactor {
  readonly secrets = new SecretCollector(SECRETS_MAX)

  plan(plan: JsonRecord): JsonRecord {
    return {
      ...plan,
      ...this.#mapField(plan, 'resource_changes', (list) => asList(list).map(this.#entry)),
      ...this.#mapField(plan, 'resource_drift', (list) => asList(list).map(this.#entry)),
      ...this.#mapField(plan, 'output_changes', (map) => mapValues(map, this.#change)),
      ...this.#mapField(plan, 'planned_values', this.#values),
      ...this.#mapField(plan, 'prior_state', (state) => ({
        ...asObject(state),
        ...this.#mapField(asObject(state), 'values', this.#values),
      })),
      ...this.#mapField(plan, 'variables', (map) => this.#variables(map, plan)),
      ...this.#mapField(plan, 'configuration', (configuration) => ({
        ...asObject(configuration),
        ...this.#mapField(asObject(configuration), 'root_module', this.#declarations),
      })),
    }
  }

  #mapField(owner: JsonRecord, name: string, map: (value: unknown) => unknown): JsonRecord {
    return owner[name] === undefined || owner[name] === null ? {} : { [name]: map(owner[name]) }
  }

  readonly #entry = (entry: unknown): unknown =>
    isObject(entry) ? { ...entry, ...this.#mapField(entry, 'change', this.#change) } : entry

  readonly #change = (change: unknown): unknown => {
    if (!isObject(change)) return change
    const { before, after } = change
    return {
      ...change,
      ...(before === undefined
        ? {}
        : { before: this.#redactMarked(before, change['before_sensitive']) }),
      ...(after === undefined
        ? {}
        : { after: this.#redactMarked(after, change['after_sensitive']) }),
    }
  }

  /** Redacts a values representation: outputs and modules. */
  readonly #values = (values: unknown): unknown => {
    if (!isObject(values)) return values
    return {
      ...values,
      ...this.#mapField(values, 'outputs', (map) =>
        mapValues(map, (output) =>
          isObject(output) && output['sensitive'] === true
            ? { ...output, value: this.#redact(output['value']) }
            : output,
        ),
      ),
      ...this.#mapField(values, 'root_module', this.#module),
    }
  }

  readonly #module = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapField(module, 'resources', (list) =>
        asList(list).map((one) =>
          isObject(one)
            ? { ...one, values: this.#redactMarked(one['values'], one['sensitive_values']) }
            : one,
        ),
      ),
      ...this.#mapField(module, 'child_modules', (list) => asList(list).map(this.#module)),
    }
  }

  /**
   * Redacts variables; whether one is sensitive is part of its declaration in the configuration.
   */
  #variables(map: unknown, plan: JsonRecord): unknown {
    const root = asObject(asObject(plan['configuration'])['root_module'])
    const declared = asObject(root['variables'])
    return Object.fromEntries(
      Object.entries(asObject(map)).map(([name, variable]): [string, unknown] => {
        const isSensitive = asObject(declared[name])['sensitive'] === true
        if (!isSensitive || !isObject(variable)) return [name, variable]
        return [name, { ...variable, value: this.#redact(variable['value']) }]
      }),
    )
  }

  /** Redacts the defaults of sensitive variables in the configuration of a module. */
  readonly #declarations = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapField(module, 'variables', (map) =>
        mapValues(map, (variable) =>
          isObject(variable) && variable['sensitive'] === true && 'default' in variable
            ? { ...variable, default: this.#redact(variable['default']) }
            : variable,
        ),
      ),
      ...this.#mapField(module, 'module_calls', (map) =>
        mapValues(map, (call) =>
          isObject(call)
            ? { ...call, ...this.#mapField(call, 'module', this.#declarations) }
            : call,
        ),
      ),
    }
  }

  /** `mark` is true, or has the shape of the value with true for each sensitive part. */
  #redactMarked(value: unknown, sensitivity: unknown): unknown {
    if (sensitivity === true) return this.#redact(value)
    if (Array.isArray(value) && Array.isArray(sensitivity))
      return value.map((item, i) => this.#redactMarked(item, sensitivity[i]))
    if (!isObject(value) || !isObject(sensitivity)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, part]): [string, unknown] => [
        name,
        this.#redactMarked(part, Object.hasOwn(sensitivity, name) ? sensitivity[name] : undefined),
      ]),
    )
  }

  #redact(value: unknown): unknown {
    // A missing value is not secret.
    if (value === null || value === undefined) return null
    this.secrets.add(value)
    return MASK
  }
}

function mapValues(map: unknown, change: (value: unknown) => unknown): unknown {
  return Object.fromEntries(
    Object.entries(asObject(map)).map(([name, value]): [string, unknown] => [name, change(value)]),
  )
}
