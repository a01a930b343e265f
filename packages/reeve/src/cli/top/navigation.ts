import type { Key } from './keys.ts'

/** Where a person is. */
export interface Place {
  readonly view: 'list' | 'details' | 'help'
  /** The node or allocation that the arrows are at; undefined before the first arrow. */
  readonly chosen: string | undefined
  /** The first line that is shown of a long text. */
  readonly top: number
}

export const BEGINNING: Place = { view: 'list', chosen: undefined, top: 0 }

const PAGE = 10

const STEPS: Partial<Readonly<Record<Key, number>>> = {
  up: -1,
  down: 1,
  'page-up': -PAGE,
  'page-down': PAGE,
  first: Number.NEGATIVE_INFINITY,
  last: Number.POSITIVE_INFINITY,
}

interface Around {
  /** What can be chosen, in the order of the screen. */
  readonly ids: readonly string[]
  /** The last line from which a long text can be shown. */
  readonly topMax: number
}

/** Where a key leads. */
export function press(place: Place, key: Key, { ids, topMax }: Around): Place {
  if (key === 'help') return { ...place, view: place.view === 'help' ? 'list' : 'help', top: 0 }
  if (key === 'back') return { ...place, view: 'list', top: 0 }
  if (key === 'open') return opened(place, ids)
  const step = STEPS[key] ?? 0
  if (place.view !== 'list') return { ...place, top: within(place.top + step, topMax) }
  const at = ids.indexOf(place.chosen ?? '')
  // The first arrow chooses the first row, whichever arrow it is.
  const to = at === -1 && Number.isFinite(step) ? 0 : within(at + step, ids.length - 1)
  return { ...place, chosen: ids[to] }
}

function opened(place: Place, ids: readonly string[]): Place {
  if (place.view !== 'list') return { ...place, view: 'list', top: 0 }
  const chosen = place.chosen ?? ids[0]
  return chosen === undefined ? place : { view: 'details', chosen, top: 0 }
}

function within(wanted: number, max: number): number {
  return Math.max(0, Math.min(wanted, max))
}
