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
