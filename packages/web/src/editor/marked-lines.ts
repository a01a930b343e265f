import { StateEffect, StateField, type Text } from '@codemirror/state'
import { Decoration, EditorView, type DecorationSet } from '@codemirror/view'

/** Says which lines to look at, counted from 1; the marks move with the text. */
export const markLines = StateEffect.define<readonly number[]>()

const mark = Decoration.line({ class: 'marked-line' })

export const markedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects, newDoc }) =>
    effects.reduce<DecorationSet>(
      (all, effect) => (effect.is(markLines) ? decorationsOf(newDoc, effect.value) : all),
      marks.map(changes),
    ),
  provide: (field) => EditorView.decorations.from(field),
})

function decorationsOf(document: Text, lines: readonly number[]): DecorationSet {
  const known = [...new Set(lines)].filter((line) => line >= 1 && line <= document.lines)
  const sorted = known.toSorted((a, b) => a - b)
  return Decoration.set(sorted.map((line) => mark.range(document.line(line).from)))
}

export function scrollTo(document: Text, line: number): StateEffect<unknown> {
  const { from } = document.line(Math.min(Math.max(1, line), document.lines))
  return EditorView.scrollIntoView(from, { y: 'nearest' })
}
