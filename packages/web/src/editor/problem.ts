/** A fault in a text, with its place counted from 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  readonly endLine: number
  readonly endColumn: number
  readonly message: string
  /** An error when absent. */
  readonly severity?: 'error' | 'warning'
}

/** `input.hcl:4,11-12: text`, or with `4,11-6,2` over several lines. */
const PLACED = /^(?:Failed to parse job: )?[^\s:]*:(\d+),(\d+)-(?:(\d+),)?(\d+): (.*)$/

/**
 * The faults in what the parser said. Words without a place belong to the first line: a fault that
 * is not shown is worse than one in the wrong place.
 */
export function problemsIn(text: string): readonly Problem[] {
  const problems: Problem[] = []
  for (const line of text.split('\n')) {
    const found = PLACED.exec(line)
    const last = problems.at(-1)
    if (found !== null) problems.push(problemOf(found))
    else if (line.trim() !== '' && last !== undefined)
      problems.splice(-1, 1, { ...last, message: `${last.message}\n${line.trim()}` })
    else if (line.trim() !== '')
      problems.push({ line: 1, column: 1, endLine: 1, endColumn: 1, message: line.trim() })
  }
  return problems
}

function problemOf(found: RegExpExecArray): Problem {
  const [, line = '1', column = '1', endLine = line, endColumn = '1', message = ''] = found
  return {
    line: Number(line),
    column: Number(column),
    endLine: Number(endLine),
    endColumn: Number(endColumn),
    message,
  }
}
