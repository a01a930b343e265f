/** Position in a module; rows and columns count from 1. */
export interface Location {
  readonly file: string
  readonly row: number
  readonly column: number
}

export const REGO_CODES = [
  'rego_parse_error',
  'rego_compile_error',
  'rego_type_error',
  'rego_unsafe_var_error',
  'rego_recursion_error',
] as const

/** An error in a module. */
export interface RegoDiagnostic {
  readonly code: (typeof REGO_CODES)[number]
  readonly message: string
  readonly location: Location
}

/** A named text, for locations. */
export class Source {
  readonly file: string
  readonly text: string
  #lineStarts: readonly number[] | undefined

  constructor(file: string, text: string) {
    this.file = file
    this.text = text
  }

  locate(at: number): Location {
    this.#lineStarts ??= lineStartsOf(this.text)
    const starts = this.#lineStarts
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return { file: this.file, row: low + 1, column: at - (starts[low] ?? 0) + 1 }
  }
}

function lineStartsOf(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/**
 * Aborts parsing or compiling of a module. Thrown only within the package, because it crosses the
 * recursive descent; the public functions catch it and return a Result.
 */
export class RegoCompileError extends Error {
  override readonly name = 'ProblemFound'
  readonly problem: RegoDiagnostic
  constructor(problem: RegoDiagnostic) {
    super(problem.message)
    this.problem = problem
  }
}
