/** What a column takes of a table's width. */
interface ColumnWidth {
  readonly width?: string
}

/** The least that a column without a width needs to be read: about twenty letters. */
const SHARE_PX = 160
/** Widths of a table at which `table.css` leaves columns out. */
const STEP_PX = 100
const STEPS_PX_MAX = 1_100

/**
 * The width that a table needs to show all of its columns, as a step of the style sheet. Columns
 * with a width take it in any case: those that share the rest, names mostly, would vanish first.
 */
export function roomOf(columns: readonly ColumnWidth[]): number {
  let pixels = 0
  let share = 0
  for (const { width } of columns) {
    if (width === undefined) pixels += SHARE_PX
    else if (width.endsWith('%')) share += Number.parseFloat(width) / 100
    else pixels += Number.parseFloat(width)
  }
  const needed = pixels / Math.max(1 - share, 0.1)
  return Math.min(Math.ceil(needed / STEP_PX) * STEP_PX, STEPS_PX_MAX)
}
