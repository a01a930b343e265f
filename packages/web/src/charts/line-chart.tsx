import { useEffect, useEffectEvent, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatClock } from '../format.ts'
import { useRedraw } from '../components/canvas.ts'
import type { Columns } from './samples.ts'

export interface LineChartProps {
  /** Accessible name of the chart; the current values are shown as text beside it. */
  readonly label: string
  /** Columns: times in seconds, usage, limit. */
  readonly data: Columns
  readonly seriesNames: readonly [used: string, given: string]
  readonly format: (value: number) => string
}

const HEIGHT_PX = 220
/** All times of the UI are in UTC and say so. */
const TIME_LABEL = 'Time (UTC)'
/** Space for one label of the time axis. */
const TIME_LABEL_PX = 72
/** Shortest time span shown; until then the left part of the chart is empty. */
const TIME_SPAN_MIN_S = 60

/** A value over time and its limit, in the colours of the theme. */
export function LineChart({ label, data, seriesNames, format }: LineChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot>(undefined)
  const createChart = useEffectEvent((parent: HTMLElement) => {
    const options = chartOptions({ label, data, seriesNames, format }, parent.clientWidth)
    return new UPlot(options, toData(data), parent)
  })
  useEffect(() => {
    const { current: parent } = container
    if (parent === null) return undefined
    const created = createChart(parent)
    chart.current = created
    const observer = new ResizeObserver(() =>
      created.setSize({ width: parent.clientWidth, height: HEIGHT_PX }),
    )
    observer.observe(parent)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [])
  useEffect(() => chart.current?.setData(toData(data)), [data])
  // Redraws when the theme changes, because the colours are resolved while drawing.
  useRedraw(container, () => chart.current?.redraw())
  return <div ref={container} className="chart" role="img" aria-label={label} />
}

function toData(columns: Columns): UPlot.AlignedData {
  const [times = [], ...rest] = columns
  return [[...times], ...rest.map((column) => [...column])]
}

/** Reads a CSS variable while drawing, because the theme may change. */
function cssVariable(name: string): () => string {
  return () => getComputedStyle(document.documentElement).getPropertyValue(name)
}

function chartOptions({ seriesNames, format }: LineChartProps, width: number): UPlot.Options {
  const axis = {
    stroke: resolvedColour('--quiet'),
    grid: { stroke: resolvedColour('--line'), width: 1 },
    ticks: { stroke: resolvedColour('--line'), width: 1 },
  }
  const value = (_plot: UPlot, raw: number | null) => (raw === null ? '–' : format(raw))
  return {
    width,
    height: HEIGHT_PX,
    cursor: { y: false },
    scales: {
      x: { range: ({ data: [times] }, min, max) => timeRange(times, [min, max]) },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        label: TIME_LABEL,
        labelSize: 20,
        size: 28,
        space: TIME_LABEL_PX,
        values: (_plot, ticks) => ticks.map(formatClock),
      },
      { ...axis, size: 72, values: (_plot, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {
        label: TIME_LABEL,
        value: (_plot, seconds: number | null) => (seconds === null ? '–' : formatClock(seconds)),
      },
      {
        label: seriesNames[0],
        stroke: resolvedColour('--accent'),
        width: 2,
        value,
        points: { show: false },
      },
      {
        label: seriesNames[1],
        stroke: resolvedColour('--warn'),
        dash: [6, 4],
        width: 1,
        value,
        points: { show: false },
      },
    ],
  }
}

/** Range of the time axis. With a single value the library would show years. */
function timeRange(
  times: ArrayLike<number>,
  fallback: readonly [number, number],
): [number, number] {
  const first = times[0] ?? fallback[0]
  const last = times[times.length - 1] ?? fallback[1]
  return [Math.min(first, last - TIME_SPAN_MIN_S), last]
}

/** Lets the browser resolve `light-dark()`, which a canvas does not support. */
function resolvedColour(name: string): () => string {
  const read = cssVariable(name)
  return () => {
    const probe = document.createElement('span')
    probe.style.color = read()
    document.body.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
