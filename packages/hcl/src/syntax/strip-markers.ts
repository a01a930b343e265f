import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import type { Span } from '../text/source.ts'
import type { Expression, ForBinding, TemplatePart } from './ast.ts'

/** A template as a flat list, before directives are nested into a tree. */
export type Piece =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly span: Span
      readonly isAtLineStart: boolean
    }
  | (SequencePiece & { readonly kind: 'interpolation'; readonly expression: Expression })
  | (SequencePiece & { readonly kind: 'if'; readonly condition: Expression })
  | (SequencePiece & { readonly kind: 'for'; readonly binding: ForBinding })
  | (SequencePiece & { readonly kind: 'else' | 'endif' | 'endfor' })

interface SequencePiece {
  readonly stripsBefore: boolean
  readonly stripsAfter: boolean
  readonly span: Span
}

/**
 * Applies the indentation of `<<-` and then the strip markers. A marker strips the adjacent text
 * piece only, which in a heredoc ends with its line: `~}` removes the line break but not the
 * indentation of the next line.
 */
export function applyStripMarkers(
  pieces: readonly Piece[],
  shape: { readonly isIndented: boolean },
): readonly Piece[] {
  const flush = shape.isIndented ? removeIndentation(pieces) : pieces
  return flush.map((piece, index) => {
    if (piece.kind !== 'text') return piece
    const before = flush[index - 1]
    const after = flush[index + 1]
    const stripsStart = before !== undefined && before.kind !== 'text' && before.stripsAfter
    const stripsEnd = after !== undefined && after.kind !== 'text' && after.stripsBefore
    const start = stripsStart ? piece.text.trimStart() : piece.text
    return { ...piece, text: stripsEnd ? start.trimEnd() : start }
  })
}

/** Removes the smallest indentation from all lines; blank lines do not count. */
function removeIndentation(pieces: readonly Piece[]): readonly Piece[] {
  let indentation = Infinity
  let isAtLineStart = true
  for (const piece of pieces) {
    if (isAtLineStart && !isBlankLine(piece))
      indentation = Math.min(indentation, piece.kind === 'text' ? leadingBlankCount(piece.text) : 0)
    isAtLineStart = piece.kind === 'text' && piece.text.endsWith('\n')
  }
  return pieces.map((piece) => {
    if (piece.kind !== 'text' || !piece.isAtLineStart || isBlankLine(piece)) return piece
    return { ...piece, text: piece.text.slice(indentation) }
  })
}

function isBlankLine(piece: Piece): boolean {
  return piece.kind === 'text' && piece.text.endsWith('\n') && piece.text.trim() === ''
}

function leadingBlankCount(text: string): number {
  return text.length - text.trimStart().length
}

interface OpenDirective {
  readonly piece: Extract<Piece, { kind: 'if' | 'for' }>
  readonly parts: TemplatePart[]
  elseParts?: TemplatePart[]
}

/** Nests the pieces inside directives. A template without sequences is a literal. */
export function buildTemplate(
  pieces: readonly Piece[],
  span: Span,
  problems: DiagnosticCollector,
): Expression | undefined {
  const root: TemplatePart[] = []
  const open: OpenDirective[] = []
  for (const piece of pieces) {
    const current = open.at(-1)
    const target = current === undefined ? root : (current.elseParts ?? current.parts)
    switch (piece.kind) {
      case 'text':
        addText(target, piece.text, piece.span)
        break
      case 'interpolation':
        target.push({ kind: 'interpolation', expression: piece.expression, span: piece.span })
        break
      case 'if':
      case 'for':
        open.push({ piece, parts: [] })
        break
      case 'else':
        if (current?.piece.kind !== 'if' || current.elseParts !== undefined)
          return reportUnexpected(piece, problems)
        current.elseParts = []
        break
      case 'endif':
      case 'endfor':
        if (current === undefined || piece.kind !== `end${current.piece.kind}`)
          return reportUnexpected(piece, problems)
        open.pop()
        partsOf(open.at(-1), root).push(closeDirective(current, piece.span))
        break
    }
  }
  const unclosed = open.at(-1)
  if (unclosed !== undefined) return reportUnclosed(unclosed, problems)
  return simplify(root, span)
}

function partsOf(open: OpenDirective | undefined, root: TemplatePart[]): TemplatePart[] {
  return open === undefined ? root : (open.elseParts ?? open.parts)
}

/** Joins the lines of a heredoc. Only appends to the last part, so the cost stays linear. */
function addText(parts: TemplatePart[], text: string, span: Span): void {
  if (text === '') return
  const last = parts.at(-1)
  if (last?.kind !== 'text') {
    parts.push({ kind: 'text', text, span })
    return
  }
  parts[parts.length - 1] = {
    kind: 'text',
    text: last.text + text,
    span: { ...span, start: last.span.start },
  }
}

function closeDirective({ piece, parts, elseParts }: OpenDirective, end: Span): TemplatePart {
  const span = { ...piece.span, end: end.end }
  if (piece.kind === 'for') return { kind: 'for', binding: piece.binding, body: parts, span }
  return {
    kind: 'if',
    condition: piece.condition,
    whenTrue: parts,
    whenFalse: elseParts ?? [],
    span,
  }
}

function simplify(parts: readonly TemplatePart[], span: Span): Expression {
  const [first, second] = parts
  if (first === undefined) return { kind: 'literal', value: '', span }
  if (first.kind === 'text' && second === undefined)
    return { kind: 'literal', value: first.text, span }
  return { kind: 'template', parts, span }
}

function reportUnexpected(piece: Piece, problems: DiagnosticCollector): undefined {
  const detail = `There is no open directive that "${piece.kind}" could belong to here.`
  return report(problems, {
    span: piece.span,
    summary: `Unexpected ${piece.kind} directive`,
    detail,
  })
}

function reportUnclosed({ piece }: OpenDirective, problems: DiagnosticCollector): undefined {
  const detail = `This directive has no "end${piece.kind}" before the end of the template.`
  return report(problems, { span: piece.span, summary: `Unclosed ${piece.kind} directive`, detail })
}
