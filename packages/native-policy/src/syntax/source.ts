/** A position in a policy. Lines and columns count from 1; columns count characters. */
export interface Position {
  readonly file: string
  /** Offset in UTF-16 units. */
  readonly offset: number
  readonly line: number
  readonly column: number
}

/** An error or warning with its position. */
export interface NativeDiagnostic {
  readonly message: string
  readonly position: Position
  /** The source line of the position. */
  readonly sourceLine: string
}

/** The text of a policy with its line starts. */
export class Source {
  readonly file: string
  readonly text: string
  #lineStarts: readonly number[] | undefined

  constructor(file: string, text: string) {
    this.file = file
    this.text = text
  }

  positionAt(offset: number): Position {
    const starts = this.#starts()
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    const start = starts[low] ?? 0
    const column = Array.from(this.text.slice(start, offset)).length + 1
    return { file: this.file, offset, line: low + 1, column }
  }

  problemAt(offset: number, message: string): NativeDiagnostic {
    const position = this.positionAt(offset)
    return { message, position, sourceLine: this.#lineAt(position.line) }
  }

  #lineAt(line: number): string {
    const starts = this.#starts()
    const start = starts[line - 1] ?? 0
    return this.text.slice(start, starts[line] ?? this.text.length).trimEnd()
  }

  #starts(): readonly number[] {
    if (this.#lineStarts !== undefined) return this.#lineStarts
    const starts = [0]
    for (let at = this.text.indexOf('\n'); at !== -1; at = this.text.indexOf('\n', at + 1))
      starts.push(at + 1)
    this.#lineStarts = starts
    return starts
  }
}

/** Aborts parsing or checking; caught by the functions that receive the text. */
export class NativeSyntaxError extends Error {
  readonly problem: NativeDiagnostic

  constructor(problem: NativeDiagnostic) {
    super(problem.message)
    this.problem = problem
  }
}
