import { useEffect, useEffectEvent, useRef } from 'react'
import { readPalette } from '../../parts/palette.ts'
import { useRedraw, useWidth } from '../../parts/use-redraw.ts'
import { Link } from '../../routing/link.tsx'
import type { AllocationCounts } from './allocation-counts.ts'
import { drawSquares, gridOf, squaresTotal } from './squares.ts'

interface SquaresCanvasProps {
  readonly counts: AllocationCounts
  readonly missing: number
  /** The same in words, for those who do not see the picture. */
  readonly text: string
  /** The list of them. */
  readonly href: string
}

/** A square for each of very many allocations: a picture, because so many links are a slow page. */
export function SquaresCanvas({ counts, missing, text, href }: SquaresCanvasProps) {
  const frame = useRef<HTMLAnchorElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(frame)
  const grid = gridOf(squaresTotal(counts, missing), width)
  const height = grid.rows * grid.stepPx
  const draw = useEffectEvent(() => {
    const context = canvas.current?.getContext('2d')
    if (canvas.current === null || context === null || context === undefined || width === 0) return
    const ratio = window.devicePixelRatio
    canvas.current.width = Math.round(width * ratio)
    canvas.current.height = Math.round(height * ratio)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    drawSquares(context, grid, { counts, missing, palette: readPalette() })
  })
  useEffect(() => draw(), [text, width])
  useRedraw(frame, () => draw())
  return (
    <Link ref={frame} href={href} className="squares-drawn" aria-label={`${text}: list them`}>
      <canvas ref={canvas} aria-hidden="true" style={{ width, height }} />
    </Link>
  )
}
