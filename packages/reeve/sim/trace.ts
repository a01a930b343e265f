/** Maximum number of lines kept for the report of a failure. */
const KEPT_MAX = 400

/** A log of the events in a world. */
export class Trace {
  readonly #print: ((line: string) => void) | undefined
  readonly #seconds: () => number
  #lines: (() => string)[] = []

  constructor(seconds: () => number, print?: (line: string) => void) {
    this.#seconds = seconds
    this.#print = print
  }

  /** An expensive text is computed only when it is printed. */
  say(text: string | (() => string)): void {
    const seconds = this.#seconds()
    const line = (): string => lineOf(seconds, typeof text === 'string' ? text : text())
    this.#print?.(line())
    this.#lines.push(line)
    if (this.#lines.length > 2 * KEPT_MAX) this.#lines = this.#lines.slice(-KEPT_MAX)
  }

  tail(count: number): readonly string[] {
    return this.#lines.slice(-count).map((line) => line())
  }
}

function lineOf(seconds: number, text: string): string {
  return `${seconds.toFixed(3).padStart(9)}  ${text}`
}

/** A violated invariant. */
export class Violation extends Error {
  readonly invariant: string

  constructor(invariant: string, details: string) {
    super(`${invariant}: ${details}`)
    this.name = 'Violation'
    this.invariant = invariant
  }
}
