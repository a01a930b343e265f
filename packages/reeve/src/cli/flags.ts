import type { CommandFlags } from './command-line.ts'
import { UsageError } from './failure.ts'

/** The flags of one call by their names without dashes, read as what they are meant to be. */
export class Flags {
  readonly #values: CommandFlags

  constructor(values: CommandFlags) {
    this.#values = values
  }

  /** A flag without a value. `--no-x` is `isOff('x')`. */
  has(name: string): boolean {
    return this.#value(name) === true
  }

  /** Whether `--no-<name>` was given. */
  isOff(name: string): boolean {
    return this.#value(name) === false
  }

  text(name: string): string | undefined {
    const value = this.#value(name)
    return typeof value === 'string' ? value : undefined
  }

  texts(name: string): readonly string[] {
    const value = this.#value(name)
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  }

  whole(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!/^\d{1,15}$/.test(text)) {
      throw new UsageError(`--${name} needs a whole number, not "${text}".`)
    }
    return Number(text)
  }

  /** One of a few words. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const word = words.find((one) => one === text)
    if (word === undefined) {
      throw new UsageError(`--${name} is one of ${words.join(', ')}, not "${text}".`)
    }
    return word
  }

  /** `KEY=VALUE` flags as a map; the last of equal keys counts. */
  pairs(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.texts(name).map((text) => {
        const at = text.indexOf('=')
        if (at <= 0) throw new UsageError(`--${name} needs KEY=VALUE, not "${text}".`)
        return [text.slice(0, at), text.slice(at + 1)]
      }),
    )
  }

  /** The parser of arguments keeps `--var-file` as `varFile`. */
  #value(name: string): unknown {
    return this.#values[name.replace(/-[a-z0-9]/g, (part) => part.slice(1).toUpperCase())]
  }
}
