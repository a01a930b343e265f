import { Suspense } from 'react'
import { lazyPart } from '../parts/lazy-part.ts'
import { Loading } from '../parts/loading.tsx'
import type { LineChartProps } from './line-chart.tsx'

const LineChart = lazyPart(async () => (await import('./line-chart.tsx')).LineChart)

/** A chart, loaded when it is first drawn. */
export function Chart(props: LineChartProps) {
  return (
    <Suspense fallback={<Loading what="the chart" />}>
      <LineChart {...props} />
    </Suspense>
  )
}
