import {
  columnOf,
  goTo,
  isBlank,
  isBreakOrBlank,
  isDocumentMark,
  passFoldedLines,
  peek,
  placeOf,
  type Reader,
} from './reader.ts'

const FLOW = ',[]{}'

/** YAML specification, section 7.3.3: no indicator, except `-?:` right before other text. */
export function canStartPlain(reader: Reader, isFlow: boolean): boolean {
  const character = peek(reader)
  if ('-?:'.includes(character)) {
    const next = peek(reader, 1)
    return !isBreakOrBlank(next) && !(isFlow && FLOW.includes(next))
  }
  return !',[]{}#&*!|>\'"%@`'.includes(character)
}

/**
 * Text without quotes, over as many lines as are indented further than the block around it. Without
 * an indent it stands in a flow collection, where its signs end it.
 */
export function scanPlain(reader: Reader, indent: number | undefined): string {
  const isFlow = indent === undefined
  const pieces: string[] = []
  let gap = ''
  for (;;) {
    const piece = takePiece(reader, isFlow)
    if (piece === '') break
    pieces.push(gap, piece)
    const end = placeOf(reader)
    gap = takeGap(reader)
    const isOutside = !isFlow && reader.line > end.line && columnOf(reader) <= indent
    const isOver = peek(reader) === '#' || peek(reader) === '' || isDocumentMark(reader)
    if (gap === '' || isOutside || isOver) {
      goTo(reader, end)
      break
    }
    if (!startsPiece(reader, isFlow)) {
      goTo(reader, end)
      break
    }
  }
  return pieces.join('')
}

function startsPiece(reader: Reader, isFlow: boolean): boolean {
  const start = reader.at
  const piece = takePiece(reader, isFlow)
  reader.at = start
  return piece !== ''
}

/** Up to a blank, a `:` that ends a key, or a sign of a flow collection. */
function takePiece(reader: Reader, isFlow: boolean): string {
  const start = reader.at
  for (;;) {
    const character = peek(reader)
    if (isBreakOrBlank(character)) break
    if (isFlow && FLOW.includes(character)) break
    if (character === ':') {
      const next = peek(reader, 1)
      if (isBreakOrBlank(next) || (isFlow && FLOW.includes(next))) break
    }
    reader.at++
  }
  return reader.text.slice(start, reader.at)
}

/** Blanks inside a line stay; with line ends they are folded. */
function takeGap(reader: Reader): string {
  const start = reader.at
  while (isBlank(peek(reader))) reader.at++
  const blanks = reader.text.slice(start, reader.at)
  return peek(reader) === '\n' ? passFoldedLines(reader) : blanks
}
