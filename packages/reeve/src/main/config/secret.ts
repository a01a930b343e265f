import { inspect } from 'node:util'

export const REDACTED = '<redacted>'

/** A text that reaches no log, message or answer by accident: only `reveal` gives it away. */
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
