import { Suspense } from 'react'
import { lazyComponent } from '../parts/lazy-part.ts'
import { Loading } from '../parts/loading.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

const CodeEditor = lazyComponent(async () => (await import('./code-editor.tsx')).CodeEditor)

/** The code editor. Its code is loaded when it is first rendered. */
export function Editor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Loading what="the editor" />}>
      <CodeEditor {...props} />
    </Suspense>
  )
}
