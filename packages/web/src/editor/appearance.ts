import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** Colours of the editor, from the CSS variables of the theme. */
const editorTheme = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--quiet)',
    border: 'none',
    fontFamily: 'var(--mono)',
  },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--accent-soft) 50%, transparent)',
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
  },
  '.cm-diagnostic': { fontFamily: 'var(--font)', whiteSpace: 'pre-wrap' },
})

const highlightStyle = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: tags.keyword, color: 'var(--busy)', fontWeight: '600' },
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.typeName, color: 'var(--good)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.atom, tags.bool], color: 'var(--warn)' },
  { tag: tags.function(tags.variableName), color: 'var(--done)' },
  { tag: tags.operator, color: 'var(--quiet)' },
])

export const editorAppearance: Extension = [editorTheme, syntaxHighlighting(highlightStyle)]
