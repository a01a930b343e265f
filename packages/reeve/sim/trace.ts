/** Maximum number of lines kept for the report of a failure. */
const LINES_MAX = 400

/** A log of the events in a world. */
export class Trace {
  readonly #print: ((line: string) => void) | undefined
  readonly #elapsedSeconds: () => number
  #lines: (() => string)[] = []

  constructor(seconds: () => number, print?: (line: string) => void) {
    this.#elapsedSeconds = seconds
    this.#print = print
  }

  /** An expensive text is computed only when it is printed. */
  log(text: string | (() => string)): void {
    const seconds = this.#elapsedSeconds()
    const line = (): string => formatLine(seconds, typeof text === 'string' ? text : text())
    this.#print?.(line())
    this.#lines.push(line)
    if (this.#lines.length > 2 * LINES_MAX) this.#lines = this.#lines.slice(-LINES_MAX)
  }

  tail(count: number): readonly string[] {
    return this.#lines.slice(-count).map((line) => line())
  }
}

function formatLine(seconds: number, text: string): string {
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
