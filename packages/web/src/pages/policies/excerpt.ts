/** A line of a text with its number, counted from 1. */
export interface NumberedLine {
  readonly number: number
  readonly text: string
}

const AROUND = 2

/** A line and those around it; nothing when the text has no such line. */
export function excerptOf(code: string, line: number): readonly NumberedLine[] {
  const lines = code.split('\n')
  if (line < 1 || line > lines.length) return []
  const first = Math.max(1, line - AROUND)
  return lines
    .slice(first - 1, line + AROUND)
    .map((text, index) => ({ number: first + index, text }))
}
