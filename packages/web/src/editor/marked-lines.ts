import { StateEffect, StateField, type Text } from '@codemirror/state'
import { Decoration, EditorView, type DecorationSet } from '@codemirror/view'

/** Sets the highlighted lines, counted from 1; they move with the text. */
export const setMarkedLines = StateEffect.define<readonly number[]>()

const lineDecoration = Decoration.line({ class: 'marked-line' })

export const markedLinesField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects, newDoc }) =>
    effects.reduce<DecorationSet>(
      (all, effect) => (effect.is(setMarkedLines) ? decorationsOf(newDoc, effect.value) : all),
      marks.map(changes),
    ),
  provide: (field) => EditorView.decorations.from(field),
})

function decorationsOf(document: Text, lines: readonly number[]): DecorationSet {
  const validLines = [...new Set(lines)].filter((line) => line >= 1 && line <= document.lines)
  const sorted = validLines.toSorted((a, b) => a - b)
  return Decoration.set(sorted.map((line) => lineDecoration.range(document.line(line).from)))
}

export function scrollTo(document: Text, line: number): StateEffect<unknown> {
  const { from } = document.line(Math.min(Math.max(1, line), document.lines))
  return EditorView.scrollIntoView(from, { y: 'nearest' })
}
