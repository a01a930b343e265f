/** A named text. Tree nodes refer to it by offsets; lines and columns are computed on demand. */
export interface Source {
  readonly file: string
  readonly text: string
  /** Offsets of line starts, computed on first use. */
  lineStarts(): readonly number[]
  /** Offsets of characters with two UTF-16 units, computed on first use. */
  wideCharacters(): readonly number[]
  /** Set for a text inside another one, such as a template in a JSON string. */
  readonly outer?: OuterText
}

interface OuterText {
  readonly source: Source
  /** Maps an inner offset to an offset in the outer text. */
  offsetOf(inner: number): number
}

/** A range of a source, excluding `end`. Offsets count UTF-16 units from 0. */
export interface Span {
  readonly source: Source
  readonly start: number
  readonly end: number
}

/**
 * Lines and columns count from 1. A column is a code point; `offset` counts UTF-16 units from 0.
 */
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
  const lineStarts = once(() => findLineStarts(text))
  const wideCharacters = once(() => findWideCharacters(text))
  const source = { file, text, lineStarts, wideCharacters }
  return outer === undefined ? source : { ...source, outer }
}

function once<T extends object>(compute: () => T): () => T {
  let value: T | undefined
  return () => (value ??= compute())
}

function findLineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function findWideCharacters(text: string): readonly number[] {
  const offsets: number[] = []
  for (let at = 0; at + 1 < text.length; at++) {
    if ((text.codePointAt(at) ?? 0) <= 0xffff) continue
    offsets.push(at)
    at++
  }
  return offsets
}

/** The source text of a span. */
export function textOf(span: Span): string {
  return span.source.text.slice(span.start, span.end)
}

/** The span from the start of the first to the end of the last, both in the same source. */
export function joinSpans(first: Span, last: Span): Span {
  return { source: first.source, start: first.start, end: last.end }
}

/** Line and column range of a span; in the outermost text if sources are nested. */
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

/** Logarithmic: a hostile text may have all its errors on one line of eight megabytes. */
function positionAt(source: Source, offset: number): Position {
  const starts = source.lineStarts()
  const line = countUpTo(starts, offset)
  const lineStart = starts[line - 1] ?? 0
  const wide = source.wideCharacters()
  const wideCount = countUpTo(wide, offset - 1) - countUpTo(wide, lineStart - 1)
  return { line, column: offset - lineStart - wideCount + 1, offset }
}

/** Number of sorted offsets that are at most `limit`. */
function countUpTo(sorted: readonly number[], limit: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) <= limit) low = middle + 1
    else high = middle
  }
  return low
}
