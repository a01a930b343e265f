import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** Finds the value of a reference by its name: `node.datacenter`, `REEVE_ALLOC_ID`. */
type Lookup = (name: string) => string | undefined

/**
 * `${name}` is replaced when the name is known and left as it is when not. The forms `${ name }`
 * and `${env["NAME"]}` mean the same.
 */
const REFERENCE = /\$\{\s*(?:env\["([^"\]]{1,1024})"\]|([A-Za-z0-9_.-]+))\s*\}/g

/**
 * Replaces references in the texts of one task. All calls share one budget: a short job can name a
 * long value very often, and what could never be passed to a process is not built up in memory
 * first.
 */
export class Interpolator {
  readonly #lookup: Lookup
  #charsLeft: number = AGENT_LIMITS.interpolatedTotalCharsMax

  constructor(lookup: Lookup) {
    this.#lookup = lookup
  }

  /** `field` names the text in the Fault `task-invalid` that an overlong result becomes. */
  text(value: string, field: string): string {
    if (!value.includes('${')) return this.#charge(value, field)
    const parts: string[] = []
    let chars = 0
    let at = 0
    const take = (part: string): void => {
      chars += part.length
      if (chars > AGENT_LIMITS.interpolatedCharsMax) throw tooLong(field)
      parts.push(part)
    }
    for (const match of value.matchAll(REFERENCE)) {
      take(value.slice(at, match.index))
      take(this.#find(match[1], match[2]) ?? match[0])
      at = match.index + match[0].length
    }
    take(value.slice(at))
    return this.#charge(parts.join(''), field)
  }

  /** All texts inside a JSON value; keys stay as they are. */
  deep(value: unknown, field: string, depth = 0): unknown {
    if (typeof value === 'string') return this.text(value, field)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= AGENT_LIMITS.configDepthMax) {
      throw new Fault('task-invalid', `${field} is nested too deeply`)
    }
    if (Array.isArray(value)) {
      return value.map((inner, index) => this.deep(inner, `${field}[${index}]`, depth + 1))
    }
    // fromEntries defines own properties, so a key named __proto__ stays data.
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        this.deep(inner, `${field}.${key}`, depth + 1),
      ]),
    )
  }

  #find(quoted: string | undefined, plain: string | undefined): string | undefined {
    if (quoted !== undefined) return this.#lookup(quoted)
    if (plain === undefined) return undefined
    const found = this.#lookup(plain)
    if (found !== undefined || !plain.startsWith('env.')) return found
    return this.#lookup(plain.slice('env.'.length))
  }

  #charge(text: string, field: string): string {
    this.#charsLeft -= text.length
    if (text.length > AGENT_LIMITS.interpolatedCharsMax || this.#charsLeft < 0) throw tooLong(field)
    return text
  }
}

function tooLong(field: string): Fault {
  return new Fault('task-invalid', `${field} is longer than a process can be given`)
}
