import type { Key } from './keys.ts'

/** View, selection and scroll position. */
export interface ViewPosition {
  readonly view: 'list' | 'details' | 'help'
  /** ID of the selected node or allocation; undefined initially. */
  readonly selectedId: string | undefined
  /** First visible line of a scrolled text. */
  readonly top: number
}

export const INITIAL_POSITION: ViewPosition = { view: 'list', selectedId: undefined, top: 0 }

const PAGE = 10

const KEY_STEPS: Partial<Readonly<Record<Key, number>>> = {
  up: -1,
  down: 1,
  'page-up': -PAGE,
  'page-down': PAGE,
  first: Number.NEGATIVE_INFINITY,
  last: Number.POSITIVE_INFINITY,
}

interface NavigationLimits {
  /** Selectable IDs in screen order. */
  readonly ids: readonly string[]
  /** Maximum scroll position. */
  readonly topMax: number
}

/** Returns the position after a key press. */
export function handleKey(
  place: ViewPosition,
  key: Key,
  { ids, topMax }: NavigationLimits,
): ViewPosition {
  if (key === 'help') return { ...place, view: place.view === 'help' ? 'list' : 'help', top: 0 }
  if (key === 'back') return { ...place, view: 'list', top: 0 }
  if (key === 'open') return openSelected(place, ids)
  const step = KEY_STEPS[key] ?? 0
  if (place.view !== 'list') return { ...place, top: clamp(place.top + step, topMax) }
  const at = ids.indexOf(place.selectedId ?? '')
  // The first arrow key selects the first row.
  const to = at === -1 && Number.isFinite(step) ? 0 : clamp(at + step, ids.length - 1)
  return { ...place, selectedId: ids[to] }
}

function openSelected(place: ViewPosition, ids: readonly string[]): ViewPosition {
  if (place.view !== 'list') return { ...place, view: 'list', top: 0 }
  const chosen = place.selectedId ?? ids[0]
  return chosen === undefined ? place : { view: 'details', selectedId: chosen, top: 0 }
}

function clamp(wanted: number, max: number): number {
  return Math.max(0, Math.min(wanted, max))
}
