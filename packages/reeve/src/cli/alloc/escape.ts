const LINE_ENDS = new Set([0x0a, 0x0d])
const DOT = 0x2e

/**
 * Detects the escape sequence of a terminal session: at the start of a line the escape character
 * and a dot, as in `ssh`. In raw mode all keys, including Ctrl-C, are sent to the command, so a
 * session that hangs could not be ended otherwise.
 */
export class EscapeDetector {
  readonly #escape: number | undefined
  #isLineStart = true
  #isEscaped = false

  /** Without an escape character, nothing is detected. */
  constructor(escape: string | undefined) {
    this.#escape = escape?.charCodeAt(0)
  }

  /** Returns the bytes to send to the task and whether the user typed the escape sequence. */
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
    // Typing the escape character twice sends it once.
    return wasEscaped && byte !== escape ? [escape, byte] : [byte]
  }
}
