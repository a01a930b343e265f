/** A text with its name. Tree nodes refer to it by offsets; lines and columns are computed only when they are shown. */
export interface Source {
  readonly file: string
  readonly text: string
  /** Offsets at which lines begin, found on the first call. */
  lineStarts(): readonly number[]
  /** Set when the text was written inside another one, such as a template inside a JSON string. */
  readonly outer?: OuterText
}

export interface OuterText {
  readonly source: Source
  /** Where in the outer text the character at this inner offset was written. */
  offsetOf(inner: number): number
}

/** A piece of a source, from `start` up to but not including `end`. Offsets count UTF-16 units from 0. */
export interface Span {
  readonly source: Source
  readonly start: number
  readonly end: number
}

/** Lines and columns count from 1; a column is a character (code point), `offset` counts UTF-16 units from 0. */
export interface Position {
  readonly line: number
  readonly column: number
  readonly offset: number
}

export interface Range {
  readonly file: string
  readonly start: Position
  readonly end: Position
}

export function makeSource(file: string, text: string, outer?: OuterText): Source {
  let starts: readonly number[] | undefined
  const lineStarts = () => (starts ??= findLineStarts(text))
  return outer === undefined ? { file, text, lineStarts } : { file, text, lineStarts, outer }
}

function findLineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** The text exactly as written. */
export function textOf(span: Span): string {
  return span.source.text.slice(span.start, span.end)
}

/** The span from the start of one to the end of the other, both in the same source. */
export function joinSpans(first: Span, last: Span): Span {
  return { source: first.source, start: first.start, end: last.end }
}

/** Where the span is, for people; in the outermost text when sources are nested. */
export function rangeOf(span: Span): Range {
  const outer = span.source.outer
  if (outer !== undefined) {
    const start = outer.offsetOf(span.start)
    const end = Math.max(start, outer.offsetOf(span.end))
    return rangeOf({ source: outer.source, start, end })
  }
  const { source } = span
  return {
    file: source.file,
    start: positionAt(source, span.start),
    end: positionAt(source, span.end),
  }
}

function positionAt(source: Source, offset: number): Position {
  const starts = source.lineStarts()
  const line = lineIndexAt(starts, offset)
  const column = countCharacters(source.text, starts[line] ?? 0, offset) + 1
  return { line: line + 1, column, offset }
}

function lineIndexAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

function countCharacters(text: string, start: number, end: number): number {
  let count = end - start
  for (let at = start; at + 1 < end; at++) {
    if (!isHighSurrogate(text.charCodeAt(at)) || !isLowSurrogate(text.charCodeAt(at + 1))) continue
    count--
    at++
  }
  return count
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
