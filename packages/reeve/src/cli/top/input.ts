/** Actions bound to keys. */
export type Key =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'first'
  | 'last'
  | 'open'
  | 'back'
  | 'help'
  | 'quit'

/** Key sequences in both terminal modes, with common alternatives. */
const KEY_BINDINGS: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  k: 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  j: 'down',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  ' ': 'page-down',
  '\u001b[H': 'first',
  '\u001bOH': 'first',
  '\u001b[1~': 'first',
  g: 'first',
  '\u001b[F': 'last',
  '\u001bOF': 'last',
  '\u001b[4~': 'last',
  G: 'last',
  '\r': 'open',
  '\n': 'open',
  '\u001b[C': 'open',
  '\u001bOC': 'open',
  '\u001b': 'back',
  '\u001b[D': 'back',
  '\u001bOD': 'back',
  '\u007f': 'back',
  '\b': 'back',
  '?': 'help',
  h: 'help',
  q: 'quit',
  Q: 'quit',
  // In raw mode, Ctrl-C sends no signal.
  '\u0003': 'quit',
  '\u0004': 'quit',
}

// eslint-disable-next-line no-control-regex -- keys are control characters
const KEY_PATTERN = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])?|[^]/gu

/** Parses typed input; unknown keys are ignored. */
export function parseKeys(typed: string): readonly Key[] {
  return (typed.match(KEY_PATTERN) ?? []).flatMap((one) => KEY_BINDINGS[one] ?? [])
}

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

/** Help screen. */
export const HELP_LINES: readonly string[] = [
  'Keys',
  '',
  '  ↑ ↓  or  k j       choose a node or an allocation',
  '  PgUp PgDn          ten at once',
  '  Home End           the first, the last',
  '  Enter  or  →       look inside what is chosen',
  '  Esc  or  ←         back',
  '  ?                  this help',
  '  q  or  Ctrl-C      leave',
  '',
  'What is shown',
  '',
  '  Bars show the allocated share of the resources of a node.',
  '  "in use" is the measured usage of the machine by all processes.',
  '  Allocations are sorted by CPU usage; "12 of 50" is the usage of the requested amount.',
  '  A large cluster is measured in turns: numbers of idle allocations may be some seconds old.',
]
