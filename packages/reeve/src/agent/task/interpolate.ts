import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** Returns the value of a reference such as `node.datacenter` or `REEVE_ALLOC_ID`. */
type Lookup = (name: string) => string | undefined

/**
 * Replaces `${name}` if the name is known, and keeps it otherwise. `${ name }` and `${env["NAME"]}`
 * are equivalent.
 */
const REFERENCE_PATTERN = /\$\{\s*(?:env\["([^"\]]{1,1024})"\]|([A-Za-z0-9_.-]+))\s*\}/g

/**
 * Resolves references in the fields of one task. All calls share one budget: a short job can
 * reference a long value many times, and the result would exceed what a process can receive.
 */
export class Interpolator {
  readonly #lookup: Lookup
  #remainingChars: number = AGENT_LIMITS.interpolatedTotalCharsMax

  constructor(lookup: Lookup) {
    this.#lookup = lookup
  }

  /** `field` names the field in the Fault `task-invalid` of a result that is too long. */
  resolve(value: string, field: string): string {
    if (!value.includes('${')) return this.#chargeBudget(value, field)
    const parts: string[] = []
    let resultLength = 0
    let position = 0
    const append = (part: string): void => {
      resultLength += part.length
      if (resultLength > AGENT_LIMITS.interpolatedCharsMax) throw tooLongFault(field)
      parts.push(part)
    }
    for (const match of value.matchAll(REFERENCE_PATTERN)) {
      append(value.slice(position, match.index))
      append(this.#lookUp(match[1], match[2]) ?? match[0])
      position = match.index + match[0].length
    }
    append(value.slice(position))
    return this.#chargeBudget(parts.join(''), field)
  }

  /** Resolves all strings in a JSON value; keys are unchanged. */
  resolveDeep(value: unknown, field: string, depth = 0): unknown {
    if (typeof value === 'string') return this.resolve(value, field)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= AGENT_LIMITS.configDepthMax) {
      throw new Fault('task-invalid', `${field} is nested too deeply`)
    }
    if (Array.isArray(value)) {
      return value.map((inner, index) => this.resolveDeep(inner, `${field}[${index}]`, depth + 1))
    }
    // fromEntries defines own properties, so a key named __proto__ stays data.
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        this.resolveDeep(inner, `${field}.${key}`, depth + 1),
      ]),
    )
  }

  #lookUp(quoted: string | undefined, plain: string | undefined): string | undefined {
    if (quoted !== undefined) return this.#lookup(quoted)
    if (plain === undefined) return undefined
    const found = this.#lookup(plain)
    if (found !== undefined || !plain.startsWith('env.')) return found
    return this.#lookup(plain.slice('env.'.length))
  }

  #chargeBudget(text: string, field: string): string {
    this.#remainingChars -= text.length
    if (text.length > AGENT_LIMITS.interpolatedCharsMax || this.#remainingChars < 0)
      throw tooLongFault(field)
    return text
  }
}

function tooLongFault(field: string): Fault {
  return new Fault('task-invalid', `${field} is longer than a process can be given`)
}
