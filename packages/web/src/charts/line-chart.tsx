import { useEffect, useEffectEvent, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clockText } from '../parts/time.ts'
import { useRedraw } from '../parts/use-redraw.ts'
import type { Columns } from './samples.ts'

export interface LineChartProps {
  /** What is drawn, for those who hear the page; the numbers stand beside it as text. */
  readonly label: string
  /** Times in seconds, then what is used, then what there is. */
  readonly data: Columns
  readonly names: readonly [used: string, given: string]
  readonly format: (value: number) => string
}

const HEIGHT_PX = 220
/** As all times of the pages: nobody knows whose clock is meant otherwise. */
const TIME_LABEL = 'Time (UTC)'
/** Room for a time and some air beside it. */
const CLOCK_PX = 72
/** The first values stand at the right end of a minute that is still empty. */
const SPAN_S_MIN = 60

/** A value over time against its limit, in the colours of the pages. */
export function LineChart({ label, data, names, format }: LineChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const begin = useEffectEvent((parent: HTMLElement) => {
    const options = optionsOf({ label, data, names, format }, parent.clientWidth)
    return new UPlot(options, toData(data), parent)
  })
  useEffect(() => {
    const { current: parent } = place
    if (parent === null) return undefined
    const made = begin(parent)
    plot.current = made
    const observer = new ResizeObserver(() =>
      made.setSize({ width: parent.clientWidth, height: HEIGHT_PX }),
    )
    observer.observe(parent)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData(toData(data)), [data])
  // Another theme has other colours.
  useRedraw(place, () => plot.current?.redraw())
  return <div ref={place} className="chart" role="img" aria-label={label} />
}

function toData(columns: Columns): UPlot.AlignedData {
  const [times = [], ...rest] = columns
  return [[...times], ...rest.map((column) => [...column])]
}

/** Read when drawn: the theme may have changed since. */
function colour(name: string): () => string {
  return () => getComputedStyle(document.documentElement).getPropertyValue(name)
}

function optionsOf({ names, format }: LineChartProps, width: number): UPlot.Options {
  const axis = {
    stroke: resolved('--quiet'),
    grid: { stroke: resolved('--line'), width: 1 },
    ticks: { stroke: resolved('--line'), width: 1 },
  }
  const value = (_plot: UPlot, raw: number | null) => (raw === null ? '–' : format(raw))
  return {
    width,
    height: HEIGHT_PX,
    cursor: { y: false },
    scales: {
      x: { range: ({ data: [times] }, min, max) => timesFrom(times, [min, max]) },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        label: TIME_LABEL,
        labelSize: 20,
        size: 28,
        space: CLOCK_PX,
        values: (_plot, ticks) => ticks.map(clockText),
      },
      { ...axis, size: 72, values: (_plot, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {
        label: TIME_LABEL,
        value: (_plot, seconds: number | null) => (seconds === null ? '–' : clockText(seconds)),
      },
      { label: names[0], stroke: resolved('--accent'), width: 2, value, points: { show: false } },
      {
        label: names[1],
        stroke: resolved('--warn'),
        dash: [6, 4],
        width: 1,
        value,
        points: { show: false },
      },
    ],
  }
}

/** By the values themselves: around a single one the chart would put years. */
function timesFrom(
  times: ArrayLike<number>,
  otherwise: readonly [number, number],
): [number, number] {
  const first = times[0] ?? otherwise[0]
  const last = times[times.length - 1] ?? otherwise[1]
  return [Math.min(first, last - SPAN_S_MIN), last]
}

/** A canvas knows no `light-dark()`: the browser works out which of the two it is. */
function resolved(name: string): () => string {
  const read = colour(name)
  return () => {
    const probe = document.createElement('span')
    probe.style.color = read()
    document.body.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
