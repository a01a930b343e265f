import { ConnectionError } from '@reeve/sdk'
import { lazy, type ComponentType, type LazyExoticComponent, Suspense } from 'react'
import type { LineChartProps } from '../charts/line-chart.tsx'
import type { CodeEditorProps } from '../editor/code-editor.tsx'
import { Loading } from './notices.tsx'

/** Loads a component on first rendering. `ErrorBoundary` handles failed loads. */
export function lazyComponent<Props>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch (cause) {
      throw new ConnectionError({
        reason: 'unreachable',
        address: window.location.origin,
        message: 'The code of this page could not be loaded.',
        cause,
      })
    }
  })
}

const LineChart = lazyComponent(async () => (await import('../charts/line-chart.tsx')).LineChart)

/** A line chart. Its code is loaded when it is first rendered. */
export function Chart(props: LineChartProps) {
  return (
    <Suspense fallback={<Loading what="the chart" />}>
      <LineChart {...props} />
    </Suspense>
  )
}

const CodeEditor = lazyComponent(async () => (await import('../editor/code-editor.tsx')).CodeEditor)

/** The code editor. Its code is loaded when it is first rendered. */
export function Editor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Loading what="the editor" />}>
      <CodeEditor {...props} />
    </Suspense>
  )
}
