import { Suspense } from 'react'
import { lazyPart } from '../parts/lazy-part.ts'
import { Loading } from '../parts/loading.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

const CodeEditor = lazyPart(async () => (await import('./code-editor.tsx')).CodeEditor)

/** The editor, loaded when it is first drawn. */
export function Editor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Loading what="the editor" />}>
      <CodeEditor {...props} />
    </Suspense>
  )
}
