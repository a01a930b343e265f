interface Scrolled {
  readonly scrollLeft: number
  readonly clientWidth: number
  readonly scrollWidth: number
}

type Sides = 'none' | 'start' | 'end' | 'both'

/** Browsers round these numbers, each its own way. */
const ROUNDED_PX = 1

/** At which edges of something that scrolls sideways there is more than is seen. */
export function hiddenSides({ scrollLeft, clientWidth, scrollWidth }: Scrolled): Sides {
  const isMoreBefore = scrollLeft > ROUNDED_PX
  const isMoreAfter = scrollLeft + clientWidth < scrollWidth - ROUNDED_PX
  if (isMoreBefore && isMoreAfter) return 'both'
  if (isMoreBefore) return 'start'
  return isMoreAfter ? 'end' : 'none'
}
