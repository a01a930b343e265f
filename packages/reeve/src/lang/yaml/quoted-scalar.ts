import {
  fail,
  isBlank,
  isDocumentMark,
  passFoldedLines,
  peek,
  skipBlanks,
  passLineEnd,
  type Reader,
} from './reader.ts'

/** `'text'`, in which a doubled quote stands for one. */
export function scanSingleQuoted(reader: Reader): string | undefined {
  return scanQuoted(reader, "'", (inner) => {
    if (peek(inner) !== "'" || peek(inner, 1) !== "'") return undefined
    inner.at += 2
    return "'"
  })
}

/** `"text"` with the escapes of a backslash. */
export function scanDoubleQuoted(reader: Reader): string | undefined {
  return scanQuoted(reader, '"', (inner) => (peek(inner) === '\\' ? takeEscape(inner) : undefined))
}

/** Line ends are folded, and the blanks around them dropped; escaped ones are kept. */
function scanQuoted(
  reader: Reader,
  quote: string,
  takeSpecial: (reader: Reader) => string | undefined,
): string | undefined {
  const start = reader.at
  const pieces: string[] = []
  reader.at++
  while (reader.problem === undefined) {
    pieces.push(takeRun(reader))
    const special = takeSpecial(reader)
    if (special !== undefined) pieces.push(special)
    else if (peek(reader) === '')
      return fail(reader, 'the closing quote of this text is missing', start)
    else if (peek(reader) === quote) {
      reader.at++
      return pieces.join('')
    } else if (peek(reader) === '\n') {
      pieces.push(passFoldedLines(reader))
      if (isDocumentMark(reader))
        return fail(reader, 'the closing quote of this text is missing', start)
    } else pieces.push(takeBlanks(reader))
  }
  return undefined
}

const RUN = /[^ \t\n'"\\]*/y

/** Characters that mean themselves in both kinds; a sign of the other kind ends the run too. */
function takeRun(reader: Reader): string {
  RUN.lastIndex = reader.at
  const run = RUN.exec(reader.text)?.[0] ?? ''
  reader.at += run.length
  return run
}

/** Blanks before a line end are dropped; another sign that ends a run is taken as it is. */
function takeBlanks(reader: Reader): string {
  if (!isBlank(peek(reader))) {
    reader.at++
    return peek(reader, -1)
  }
  const start = reader.at
  skipBlanks(reader)
  return peek(reader) === '\n' ? '' : reader.text.slice(start, reader.at)
}

/** YAML specification, section 5.7. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['0', '\0'],
  ['a', '\x07'],
  ['b', '\b'],
  ['t', '\t'],
  ['\t', '\t'],
  ['n', '\n'],
  ['v', '\v'],
  ['f', '\f'],
  ['r', '\r'],
  ['e', '\x1b'],
  [' ', ' '],
  ['"', '"'],
  ['/', '/'],
  ['\\', '\\'],
  ['N', '\x85'],
  ['_', '\xa0'],
  ['L', '\u2028'],
  ['P', '\u2029'],
])
const CODE_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
])

function takeEscape(reader: Reader): string | undefined {
  const letter = peek(reader, 1)
  if (letter === '\n') return takeJoinedLine(reader)
  const simple = ESCAPES.get(letter)
  if (simple !== undefined) {
    reader.at += 2
    return simple
  }
  const length = CODE_LENGTHS.get(letter)
  if (length === undefined)
    return fail(
      reader,
      `there is no escape ${JSON.stringify(`\\${letter}`)}; write \\\\ for a backslash`,
    )
  const digits = reader.text.slice(reader.at + 2, reader.at + 2 + length)
  const code =
    /^[0-9a-fA-F]+$/.test(digits) && digits.length === length
      ? Number.parseInt(digits, 16)
      : Infinity
  if (code > 0x10ffff)
    return fail(reader, `\\${letter} needs ${length} hexadecimal digits of a character`)
  reader.at += 2 + length
  return String.fromCodePoint(code)
}

/** A backslash at the end of a line joins it with the next; empty lines between stay line ends. */
function takeJoinedLine(reader: Reader): string {
  reader.at++
  passLineEnd(reader)
  skipBlanks(reader)
  return peek(reader) === '\n' ? passJoinedBreaks(reader) : ''
}

function passJoinedBreaks(reader: Reader): string {
  let breaks = ''
  while (peek(reader) === '\n') {
    passLineEnd(reader)
    skipBlanks(reader)
    breaks += '\n'
  }
  return breaks
}
