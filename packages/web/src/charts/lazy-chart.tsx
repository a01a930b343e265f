import { Suspense } from 'react'
import { lazyComponent } from '../parts/lazy-part.ts'
import { Loading } from '../parts/loading.tsx'
import type { LineChartProps } from './line-chart.tsx'

const LineChart = lazyComponent(async () => (await import('./line-chart.tsx')).LineChart)

/** A line chart. Its code is loaded when it is first rendered. */
export function Chart(props: LineChartProps) {
  return (
    <Suspense fallback={<Loading what="the chart" />}>
      <LineChart {...props} />
    </Suspense>
  )
}
