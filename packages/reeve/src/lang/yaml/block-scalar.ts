import { fail, isDocumentMark, passLineEnd, peek, type Reader } from './reader.ts'

interface Header {
  readonly isFolded: boolean
  readonly chomping: 'strip' | 'clip' | 'keep'
  readonly indent: number | undefined
}

const HEADER = /([|>])(?:([1-9])([+-])?|([+-])([1-9])?)?[ \t]*(?:(?<=[ \t])#[^\n]*)?(?=\n|$)/y
const CHOMPING = { '-': 'strip', '+': 'keep' } as const

/** `|` keeps lines as they are, `>` joins them; both end where the indentation does. */
export function scanBlockScalar(reader: Reader, parentIndent: number): string | undefined {
  const header = readHeader(reader, Math.max(0, parentIndent))
  if (header === undefined) return undefined
  if (peek(reader) === '\n') passLineEnd(reader)
  const indent = header.indent ?? detectIndent(reader, parentIndent + 1)
  if (indent === undefined) return undefined
  const lines = takeLines(reader, indent)
  if (lines === undefined) return undefined
  return chomp(header, header.isFolded ? fold(lines.texts) : lines.texts.join('\n'), lines)
}

function readHeader(reader: Reader, parentIndent: number): Header | undefined {
  HEADER.lastIndex = reader.at
  const match = HEADER.exec(reader.text)
  if (match === null)
    return fail(
      reader,
      'after "|" or ">" only "+", "-", a digit from 1 to 9 and a comment may follow',
    )
  const [whole, style, firstDigit, secondSign, firstSign, secondDigit] = match
  const sign = secondSign ?? firstSign
  const digit = firstDigit ?? secondDigit
  reader.at += whole.length
  return {
    isFolded: style === '>',
    chomping: sign === '-' || sign === '+' ? CHOMPING[sign] : 'clip',
    indent: digit === undefined ? undefined : parentIndent + Number(digit),
  }
}

/** That of the first line with text, but at least one more than the block around. */
function detectIndent(reader: Reader, least: number): number | undefined {
  let widest = 0
  for (let at = reader.at; at < reader.text.length;) {
    const end = lineEnd(reader, at)
    const width = countBlanks(reader, at)
    if (at + width < end) {
      if (widest > Math.max(width, least))
        return fail(reader, 'an empty line at the start is indented further than the text', at)
      return Math.max(width, least)
    }
    widest = Math.max(widest, width)
    at = end + 1
  }
  return Math.max(widest, least)
}

function countBlanks(reader: Reader, at: number): number {
  let end = at
  while (reader.text[end] === ' ') end++
  return end - at
}

function lineEnd(reader: Reader, at: number): number {
  const end = reader.text.indexOf('\n', at)
  return end < 0 ? reader.text.length : end
}

interface Lines {
  /** Without indentation; empty ones at the end are only counted. */
  readonly texts: readonly string[]
  readonly emptyCount: number
  /** False when the text ends before the last line does. */
  readonly hasLineEnd: boolean
}

function takeLines(reader: Reader, indent: number): Lines | undefined {
  const texts: string[] = []
  let emptyCount = 0
  let hasLineEnd = false
  while (peek(reader) !== '' && !isDocumentMark(reader)) {
    const end = lineEnd(reader, reader.at)
    const width = Math.min(indent, countBlanks(reader, reader.at))
    const isEmpty = reader.at + width === end
    if (!isEmpty && width < indent) {
      if (reader.text[reader.at + width] === '\t')
        return fail(reader, 'a tab cannot indent; use blanks')
      break
    }
    if (isEmpty) emptyCount++
    else {
      for (; emptyCount > 0; emptyCount--) texts.push('')
      texts.push(reader.text.slice(reader.at + width, end))
    }
    hasLineEnd = end < reader.text.length
    reader.at = end
    if (hasLineEnd) passLineEnd(reader)
    else if (isEmpty) emptyCount--
  }
  return { texts, emptyCount, hasLineEnd }
}

/** A line that starts with a blank, and its neighbours, are not joined: it is a list or a table. */
function fold(texts: readonly string[]): string {
  let folded = ''
  let emptyCount = 0
  let previous: string | undefined
  for (const line of texts) {
    if (line === '') {
      emptyCount++
      continue
    }
    if (previous !== undefined) {
      const isKept = startsBlank(previous) || startsBlank(line)
      folded += isKept ? '\n' : emptyCount === 0 ? ' ' : ''
    }
    folded += '\n'.repeat(emptyCount) + line
    emptyCount = 0
    previous = line
  }
  return folded
}

function startsBlank(line: string): boolean {
  return line.startsWith(' ') || line.startsWith('\t')
}

function chomp({ chomping }: Header, text: string, lines: Lines): string {
  if (chomping === 'strip') return text
  const last = lines.texts.length > 0 && (lines.hasLineEnd || lines.emptyCount > 0) ? '\n' : ''
  return chomping === 'clip' ? text + last : text + last + '\n'.repeat(lines.emptyCount)
}
