/** An error or warning in a text; lines and columns are counted from 1. */
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
const PROBLEM_PATTERN = /^(?:Failed to parse job: )?[^\s:]*:(\d+),(\d+)-(?:(\d+),)?(\d+): (.*)$/

/**
 * Parses the error text of the job parser. Messages without a position are shown at the first line
 * instead of being dropped.
 */
export function parseProblems(text: string): readonly Problem[] {
  const problems: Problem[] = []
  for (const line of text.split('\n')) {
    const found = PROBLEM_PATTERN.exec(line)
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
