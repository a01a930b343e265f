import { inspect } from 'node:util'

export const REDACTED = '<redacted>'

/**
 * A string that cannot appear in logs, messages or responses by accident; only `reveal` returns it.
 */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toJSON(): string {
    return REDACTED
  }

  toString(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
