/** The width of a column. */
interface ColumnWidth {
  readonly width?: string
}

/** Minimum width of a column without a width: about twenty characters. */
const FLEXIBLE_COLUMN_PX = 160
/** Steps of table widths at which `table.css` hides columns. */
const STEP_PX = 100
const STEPS_PX_MAX = 1_100

/**
 * Returns the width that a table requires to show all columns, as a step of the style sheet.
 * Columns without a width, mostly names, would otherwise shrink to nothing first.
 */
export function requiredWidth(columns: readonly ColumnWidth[]): number {
  let pixels = 0
  let share = 0
  for (const { width } of columns) {
    if (width === undefined) pixels += FLEXIBLE_COLUMN_PX
    else if (width.endsWith('%')) share += Number.parseFloat(width) / 100
    else pixels += Number.parseFloat(width)
  }
  const needed = pixels / Math.max(1 - share, 0.1)
  return Math.min(Math.ceil(needed / STEP_PX) * STEP_PX, STEPS_PX_MAX)
}

interface ScrollPosition {
  readonly scrollLeft: number
  readonly clientWidth: number
  readonly scrollWidth: number
}

type HiddenSides = 'none' | 'start' | 'end' | 'both'

/** Tolerance, because browsers round these values differently. */
const ROUNDING_PX = 1

/** Returns the edges of a horizontally scrolled element that hide content. */
export function hiddenSides({ scrollLeft, clientWidth, scrollWidth }: ScrollPosition): HiddenSides {
  const isMoreBefore = scrollLeft > ROUNDING_PX
  const isMoreAfter = scrollLeft + clientWidth < scrollWidth - ROUNDING_PX
  if (isMoreBefore && isMoreAfter) return 'both'
  if (isMoreBefore) return 'start'
  return isMoreAfter ? 'end' : 'none'
}
