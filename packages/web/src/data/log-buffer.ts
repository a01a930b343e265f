import { visibleText } from '../format.ts'

/** Maximum number of lines kept of a followed log. */
export const LOG_LINES_MAX = 5_000
/** Longer lines are split, so that one without a line feed cannot exhaust memory. */
const LINE_CHARS_MAX = 16_384

/** The last lines of a streamed text; `appendToLog` returns a new buffer. */
export interface LogBuffer {
  readonly lines: readonly string[]
  /** The incomplete last line. */
  readonly partialLine: string
  /** Number of lines dropped from the start. */
  readonly dropped: number
}

export const EMPTY_LOG: LogBuffer = { lines: [], partialLine: '', dropped: 0 }

export function appendToLog(log: LogBuffer, text: string): LogBuffer {
  const parts = (log.partialLine + text).split('\n')
  const partialLine = parts.pop() ?? ''
  const isTooLong = partialLine.length > LINE_CHARS_MAX
  const newLines = [...parts, ...(isTooLong ? [partialLine] : [])].map(displayLine)
  const all = [...log.lines, ...newLines]
  const excess = Math.max(0, all.length - LOG_LINES_MAX)
  return {
    lines: excess === 0 ? all : all.slice(excess),
    partialLine: isTooLong ? '' : partialLine,
    dropped: log.dropped + excess,
  }
}

/** Removes a carriage return and control characters: logs are untrusted text. */
function displayLine(line: string): string {
  return visibleText(line.endsWith('\r') ? line.slice(0, -1) : line)
}
