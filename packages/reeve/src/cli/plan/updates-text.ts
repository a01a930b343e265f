import type { DesiredUpdates } from '@reeve/contract'
import type { Paint, Tone } from '../output/style.ts'

/** What happens to instances of a group, in the order in which people care. */
const WORDS: readonly (readonly [field: keyof DesiredUpdates, word: string, tone: Tone])[] = [
  ['Place', 'started', 'added'],
  ['Canary', 'started as canaries', 'added'],
  ['DestructiveUpdate', 'replaced', 'changed'],
  ['InPlaceUpdate', 'updated in place', 'changed'],
  ['Migrate', 'moved to another node', 'changed'],
  ['RescheduleNow', 'started again elsewhere', 'changed'],
  ['RescheduleLater', 'started again elsewhere, later', 'changed'],
  ['Disconnect', 'waited for, as their node is away', 'changed'],
  ['Reconnect', 'taken back', 'changed'],
  ['Stop', 'stopped', 'removed'],
  ['Preemptions', 'of other jobs displaced', 'removed'],
  ['Ignore', 'left as they are', 'dim'],
]

interface UpdatesLook {
  readonly paint: Paint
  /** Instances that have no place, which are told by themselves. */
  readonly unplaced: number
}

/** `Group "web": 2 started, 1 left as they are.`; none when nothing of it has a place. */
export function updatesText(
  name: string,
  updates: DesiredUpdates,
  { paint, unplaced }: UpdatesLook,
): readonly string[] {
  const placed = withoutUnplaced(updates, unplaced)
  const parts = WORDS.filter(([field]) => placed[field] > 0).map(([field, word, tone]) =>
    paint(tone, `${placed[field]} ${word}`),
  )
  if (parts.length === 0 && unplaced > 0) return []
  return [`Group "${name}": ${parts.length === 0 ? 'nothing to do' : parts.join(', ')}.`]
}

/** Where instances without a place are counted as well, in the order they are taken from. */
const PLACING = ['Place', 'Canary', 'Migrate', 'DestructiveUpdate'] as const

/** The API counts what the scheduler set out to do; this is what it has places for. */
function withoutUnplaced(updates: DesiredUpdates, unplaced: number): DesiredUpdates {
  const placed = { ...updates }
  let left = unplaced
  for (const field of PLACING) {
    const taken = Math.min(left, updates[field])
    placed[field] -= taken
    left -= taken
  }
  // Those that are started again are among those that are started.
  return { ...placed, RescheduleNow: Math.min(placed.Place, placed.RescheduleNow) }
}

/** Whether anything happens at all. */
export function isChanging(updates: DesiredUpdates): boolean {
  return WORDS.some(([field]) => field !== 'Ignore' && updates[field] > 0)
}
