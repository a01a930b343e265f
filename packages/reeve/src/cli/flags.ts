import type { CommandFlags } from './command-line.ts'
import { UsageError } from './errors.ts'

/** The flags of a command by name, without dashes, with typed accessors. */
export class Flags {
  readonly #values: CommandFlags

  constructor(values: CommandFlags) {
    this.#values = values
  }

  /** Whether a flag without value is set. For `--no-x` use the negated form. */
  has(name: string): boolean {
    return this.#value(name) === true
  }

  /** Whether `--no-<name>` was given. */
  isNegated(name: string): boolean {
    return this.#value(name) === false
  }

  string(name: string): string | undefined {
    const value = this.#value(name)
    return typeof value === 'string' ? value : undefined
  }

  strings(name: string): readonly string[] {
    const value = this.#value(name)
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  }

  integer(name: string): number | undefined {
    const text = this.string(name)
    if (text === undefined) return undefined
    if (!/^\d{1,15}$/.test(text)) {
      throw new UsageError(`--${name} needs a whole number, not "${text}".`)
    }
    return Number(text)
  }

  /** Returns the value of a flag with a closed set of values. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.string(name)
    if (text === undefined) return undefined
    const word = words.find((one) => one === text)
    if (word === undefined) {
      throw new UsageError(`--${name} is one of ${words.join(', ')}, not "${text}".`)
    }
    return word
  }

  /** Returns repeated `KEY=VALUE` flags as a map; the last value of a key wins. */
  keyValues(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.strings(name).map((text) => {
        const at = text.indexOf('=')
        if (at <= 0) throw new UsageError(`--${name} needs KEY=VALUE, not "${text}".`)
        return [text.slice(0, at), text.slice(at + 1)]
      }),
    )
  }

  /** The argument parser stores `--var-file` as `varFile`. */
  #value(name: string): unknown {
    return this.#values[name.replace(/-[a-z0-9]/g, (part) => part.slice(1).toUpperCase())]
  }
}
