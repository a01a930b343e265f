/** A line of a text with its number, counted from 1. */
export interface NumberedLine {
  readonly number: number
  readonly text: string
}

const CONTEXT_LINES = 2

/** Returns a line with its context; empty if the text has no such line. */
export function excerptOf(code: string, line: number): readonly NumberedLine[] {
  const lines = code.split('\n')
  if (line < 1 || line > lines.length) return []
  const first = Math.max(1, line - CONTEXT_LINES)
  return lines
    .slice(first - 1, line + CONTEXT_LINES)
    .map((text, index) => ({ number: first + index, text }))
}
