const LINE_ENDS = new Set([0x0a, 0x0d])
const DOT = 0x2e

/**
 * Finds the way out of a terminal session in what is typed: at the beginning of a line the escape
 * character and a dot, as `ssh` has it. Everything a person types in raw mode goes to the command,
 * also Ctrl-C, so a command that hangs could not be left otherwise.
 */
export class EscapeReader {
  readonly #escape: number | undefined
  #isLineStart = true
  #isEscaped = false

  /** Undefined finds nothing. */
  constructor(escape: string | undefined) {
    this.#escape = escape?.charCodeAt(0)
  }

  /** What to send on, and whether the person wants to leave. */
  read(typed: Uint8Array): { readonly send: Uint8Array; readonly isLeaving: boolean } {
    if (this.#escape === undefined) return { send: typed, isLeaving: false }
    const send: number[] = []
    for (const byte of typed) {
      if (this.#isEscaped && byte === DOT) return { send: Uint8Array.from(send), isLeaving: true }
      send.push(...this.#next(byte, this.#escape))
    }
    return { send: Uint8Array.from(send), isLeaving: false }
  }

  #next(byte: number, escape: number): readonly number[] {
    const wasEscaped = this.#isEscaped
    this.#isEscaped = !wasEscaped && this.#isLineStart && byte === escape
    if (this.#isEscaped) return []
    this.#isLineStart = LINE_ENDS.has(byte)
    // Twice the escape character is one of them.
    return wasEscaped && byte !== escape ? [escape, byte] : [byte]
  }
}
