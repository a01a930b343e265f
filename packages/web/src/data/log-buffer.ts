import { visibleText } from '../parts/visible-text.ts'

/** Of a log that is followed: more than anybody scrolls through, few enough to draw. */
export const LOG_LINES_MAX = 5_000
/** A line without end must not fill the memory either. */
const LINE_CHARS_MAX = 16_384

/** The last lines of a text that comes in pieces. `appendToLog` gives a new one. */
export interface LogBuffer {
  readonly lines: readonly string[]
  /** What has come of the line that is not over yet. */
  readonly rest: string
  /** How many lines went out at the other end. */
  readonly dropped: number
}

export const EMPTY_LOG: LogBuffer = { lines: [], rest: '', dropped: 0 }

export function appendToLog(log: LogBuffer, text: string): LogBuffer {
  const parts = (log.rest + text).split('\n')
  const rest = parts.pop() ?? ''
  const isEndless = rest.length > LINE_CHARS_MAX
  const fresh = [...parts, ...(isEndless ? [rest] : [])].map(shownLine)
  const all = [...log.lines, ...fresh]
  const excess = Math.max(0, all.length - LOG_LINES_MAX)
  return {
    lines: excess === 0 ? all : all.slice(excess),
    rest: isEndless ? '' : rest,
    dropped: log.dropped + excess,
  }
}

/** Whoever writes a log must not decide how the page shows it. */
function shownLine(line: string): string {
  return visibleText(line.endsWith('\r') ? line.slice(0, -1) : line)
}
