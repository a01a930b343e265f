import { lazy, Suspense } from 'react'
import { Loading } from '../parts/loading.tsx'
import type { LineChartProps } from './line-chart.tsx'

const LineChart = lazy(async () => ({ default: (await import('./line-chart.tsx')).LineChart }))

/** A chart, loaded when it is first drawn. */
export function Chart(props: LineChartProps) {
  return (
    <Suspense fallback={<Loading what="the chart" />}>
      <LineChart {...props} />
    </Suspense>
  )
}
