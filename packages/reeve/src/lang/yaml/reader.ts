/** A place in the text, and the first thing found wrong with it. */
export interface Reader {
  readonly text: string
  at: number
  line: number
  lineStart: number
  problem: YamlProblem | undefined
}

export interface YamlProblem {
  readonly message: string
  readonly at: number
}

/** Only the first problem counts: those after it are mostly its doing. */
export function fail(reader: Reader, message: string, at = reader.at): undefined {
  reader.problem ??= { message, at }
  return undefined
}

export function peek(reader: Reader, ahead = 0): string {
  return reader.text.charAt(reader.at + ahead)
}

export function columnOf(reader: Reader): number {
  return reader.at - reader.lineStart
}

/** Blank, line end or end of text. */
export function isBreakOrBlank(character: string): boolean {
  return character === '' || character === ' ' || character === '\t' || character === '\n'
}

export function isBlank(character: string): boolean {
  return character === ' ' || character === '\t'
}

/** Passes a line end. */
export function passLineEnd(reader: Reader): void {
  reader.at++
  reader.line++
  reader.lineStart = reader.at
}

export function skipBlanks(reader: Reader): void {
  while (isBlank(peek(reader))) reader.at++
}

/** `---` or `...` at the start of a line. */
export function isDocumentMark(reader: Reader): boolean {
  if (columnOf(reader) !== 0) return false
  const mark = reader.text.slice(reader.at, reader.at + 3)
  return (mark === '---' || mark === '...') && isBreakOrBlank(peek(reader, 3))
}

export interface Place {
  readonly at: number
  readonly line: number
  readonly lineStart: number
}

export function placeOf({ at, line, lineStart }: Reader): Place {
  return { at, line, lineStart }
}

export function goTo(reader: Reader, place: Place): void {
  reader.at = place.at
  reader.line = place.line
  reader.lineStart = place.lineStart
}

/**
 * Passes line ends and the blanks at the start of the lines after them, and tells what they stand
 * for inside a scalar: one line end is a blank, each further one a line end.
 */
export function passFoldedLines(reader: Reader): string {
  let count = 0
  while (peek(reader) === '\n') {
    passLineEnd(reader)
    count++
    if (isDocumentMark(reader)) break
    skipBlanks(reader)
  }
  return count === 1 ? ' ' : '\n'.repeat(Math.max(0, count - 1))
}
