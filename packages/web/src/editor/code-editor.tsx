import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, indentOnInput, indentUnit } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState, type Extension, type Text } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { useEffect, useEffectEvent, useRef } from 'react'
import { appearance } from './appearance.ts'
import { markedLines, markLines, scrollTo } from './marked-lines.ts'
import { LANGUAGES, type EditorLanguage } from './languages.ts'
import type { Problem } from './problem.ts'

export interface CodeEditorProps {
  /** What is edited, for those who hear the page. */
  readonly label: string
  readonly language: EditorLanguage
  readonly value: string
  readonly onChange?: (text: string) => void
  readonly problems?: readonly Problem[]
  /** Lines to look at, counted from 1: the first one is brought into view. */
  readonly marked?: readonly number[]
  readonly isReadOnly?: boolean
  readonly minHeight?: string
}

const NO_PROBLEMS: readonly Problem[] = []
const NO_LINES: readonly number[] = []

/** A text in one of our languages. Tab leaves it: nobody is caught in it. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, language, value, onChange, problems = NO_PROBLEMS, isReadOnly = false } = props
  const { marked = NO_LINES } = props
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useEffectEvent((text: string) => onChange?.(text))
  const begin = useEffectEvent((parent: HTMLElement) => {
    const extensions = [
      ...BASE,
      LANGUAGES[language] ?? [],
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed(update.state.doc.toString())
      }),
    ]
    return new EditorView({ parent, state: EditorState.create({ doc: value, extensions }) })
  })
  useEffect(() => {
    if (place.current === null) return undefined
    const made = begin(place.current)
    view.current = made
    return () => made.destroy()
  }, [language, isReadOnly])
  useEffect(() => {
    const { current } = view
    if (current === undefined || current.state.doc.toString() === value) return
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } })
  }, [value])
  useEffect(() => {
    const { current } = view
    if (current === undefined) return
    const marks = problems.map((problem) => diagnosticOf(current.state.doc, problem))
    current.dispatch(setDiagnostics(current.state, marks))
  }, [problems])
  useEffect(() => {
    const { current } = view
    if (current === undefined) return
    const [first] = marked
    const move = first === undefined ? [] : [scrollTo(current.state.doc, first)]
    current.dispatch({ effects: [markLines.of(marked), ...move] })
  }, [marked, language, isReadOnly])
  return <div ref={place} className="editor" style={{ minHeight: props.minHeight }} />
}

const BASE: readonly Extension[] = [
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
  markedLines,
  keymap.of([...defaultKeymap, ...historyKeymap]),
  appearance,
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

/** The server's places are of the text that it saw; this one may be shorter by now. */
function offsetOf(document: Text, line: number, column: number): number {
  const found = document.line(Math.min(Math.max(1, line), document.lines))
  return Math.min(found.from + Math.max(0, column - 1), found.to)
}
