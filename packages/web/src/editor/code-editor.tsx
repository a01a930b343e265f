import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState, type Extension, StateEffect, StateField, type Text } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useEffectEvent, useRef } from 'react'
import { LANGUAGES, type EditorLanguage } from './languages.ts'
import type { Problem } from './problem.ts'

export interface CodeEditorProps {
  /** Accessible name of the editor. */
  readonly label: string
  readonly language: EditorLanguage
  readonly value: string
  readonly onChange?: (text: string) => void
  readonly problems?: readonly Problem[]
  /** Highlighted lines, counted from 1; the first one is scrolled into view. */
  readonly markedLineNumbers?: readonly number[]
  readonly isReadOnly?: boolean
  readonly minHeight?: string
}

const NO_PROBLEMS: readonly Problem[] = []
const NO_LINES: readonly number[] = []

/** A code editor. Tab leaves it, as WCAG 2.1.2 requires. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, language, value, onChange, problems = NO_PROBLEMS, isReadOnly = false } = props
  const { markedLineNumbers = NO_LINES } = props
  const container = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const onDocumentChange = useEffectEvent((text: string) => onChange?.(text))
  const createView = useEffectEvent((parent: HTMLElement) => {
    const extensions = [
      ...BASE_EXTENSIONS,
      LANGUAGES[language] ?? [],
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onDocumentChange(update.state.doc.toString())
      }),
    ]
    return new EditorView({ parent, state: EditorState.create({ doc: value, extensions }) })
  })
  useEffect(() => {
    if (container.current === null) return undefined
    const created = createView(container.current)
    view.current = created
    return () => created.destroy()
  }, [language, isReadOnly])
  useEffect(() => {
    const { current } = view
    if (current === undefined || current.state.doc.toString() === value) return
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } })
  }, [value])
  useEffect(() => {
    const { current } = view
    if (current === undefined) return
    const diagnostics = problems.map((problem) => diagnosticOf(current.state.doc, problem))
    current.dispatch(setDiagnostics(current.state, diagnostics))
  }, [problems])
  useEffect(() => {
    const { current } = view
    if (current === undefined) return
    const [first] = markedLineNumbers
    const scrollEffects = first === undefined ? [] : [scrollTo(current.state.doc, first)]
    current.dispatch({ effects: [setMarkedLines.of(markedLineNumbers), ...scrollEffects] })
  }, [markedLineNumbers, language, isReadOnly])
  return <div ref={container} className="editor" style={{ minHeight: props.minHeight }} />
}

/** Sets the highlighted lines, counted from 1; they move with the text. */
const setMarkedLines = StateEffect.define<readonly number[]>()

const lineDecoration = Decoration.line({ class: 'marked-line' })

const markedLinesField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects, newDoc }) =>
    effects.reduce<DecorationSet>(
      (all, effect) => (effect.is(setMarkedLines) ? decorationsOf(newDoc, effect.value) : all),
      marks.map(changes),
    ),
  provide: (field) => EditorView.decorations.from(field),
})

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

const editorAppearance: Extension = [editorTheme, syntaxHighlighting(highlightStyle)]

const BASE_EXTENSIONS: readonly Extension[] = [
  lineNumbers(),
  lintGutter(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  drawSelection(),
  history(),
  bracketMatching(),
  indentOnInput(),
  indentUnit.of('  '),
  EditorView.lineWrapping,
  markedLinesField,
  keymap.of([...defaultKeymap, ...historyKeymap]),
  editorAppearance,
]

function diagnosticOf(document: Text, problem: Problem): Diagnostic {
  const { line, column, endLine, endColumn, message, severity = 'error' } = problem
  const from = offsetOf(document, line, column)
  return {
    from,
    to: Math.max(from, offsetOf(document, endLine, endColumn)),
    severity,
    message,
  }
}

/** Clamps a position of the server to the text, which may have become shorter since. */
function offsetOf(document: Text, line: number, column: number): number {
  const found = document.line(Math.min(Math.max(1, line), document.lines))
  return Math.min(found.from + Math.max(0, column - 1), found.to)
}

function decorationsOf(document: Text, lines: readonly number[]): DecorationSet {
  const validLines = [...new Set(lines)].filter((line) => line >= 1 && line <= document.lines)
  const sorted = validLines.toSorted((a, b) => a - b)
  return Decoration.set(sorted.map((line) => lineDecoration.range(document.line(line).from)))
}

function scrollTo(document: Text, line: number): StateEffect<unknown> {
  const { from } = document.line(Math.min(Math.max(1, line), document.lines))
  return EditorView.scrollIntoView(from, { y: 'nearest' })
}
