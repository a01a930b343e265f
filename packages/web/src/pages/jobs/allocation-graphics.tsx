import { useEffect, useEffectEvent, useRef } from 'react'
import { readPalette, useRedraw, useWidth } from '../../components/canvas.ts'
import { statusStyle } from '../../components/status-badge.tsx'
import { Link } from '../../routing/link.tsx'
import {
  type AllocationCounts,
  countsText,
  SHOWN_STATUSES,
  totalCount,
} from './allocation-counts.ts'
import { drawAllocationGrid, computeGrid, gridTotal } from './allocation-grid.ts'

interface AllocationGridProps {
  readonly counts: AllocationCounts
  readonly unplaced: number
  /** Accessible name: the counts as text. */
  readonly text: string
  /** The page that lists the allocations. */
  readonly href: string
}

/** Draws a square per allocation on a canvas, because thousands of links are slow. */
export function AllocationGrid({ counts, unplaced, text, href }: AllocationGridProps) {
  const frame = useRef<HTMLAnchorElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(frame)
  const grid = computeGrid(gridTotal(counts, unplaced), width)
  const height = grid.rows * grid.stepPx
  const draw = useEffectEvent(() => {
    const context = canvas.current?.getContext('2d')
    if (canvas.current === null || context === null || context === undefined || width === 0) return
    const ratio = window.devicePixelRatio
    canvas.current.width = Math.round(width * ratio)
    canvas.current.height = Math.round(height * ratio)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    drawAllocationGrid(context, grid, { counts, unplaced, palette: readPalette() })
  })
  useEffect(() => draw(), [text, width])
  useRedraw(frame, () => draw())
  return (
    <Link ref={frame} href={href} className="squares-drawn" aria-label={`${text}: list them`}>
      <canvas ref={canvas} aria-hidden="true" style={{ width, height }} />
    </Link>
  )
}

interface AllocationBarProps {
  readonly counts: AllocationCounts
  /** Desired number of allocations. */
  readonly desired: number
}

/** Allocations by status as a bar, with the counts as text. */
export function AllocationBar({ counts, desired }: AllocationBarProps) {
  const shownStatuses = SHOWN_STATUSES.filter((status) => counts[status] > 0)
  const unplaced = Math.max(0, desired - totalCount(counts))
  const text = countsText(counts, unplaced)
  if (text === '') return <span className="quiet">–</span>
  return (
    <span className="alloc-bar" title={text}>
      <span className="alloc-track" aria-hidden="true">
        {shownStatuses.map((status) => (
          <span
            key={status}
            className={`tone-${statusStyle(status).tone}`}
            style={{ flexGrow: counts[status] }}
          />
        ))}
        {unplaced > 0 && <span className="missing" style={{ flexGrow: unplaced }} />}
      </span>
      <span className="alloc-words">{text}</span>
    </span>
  )
}
