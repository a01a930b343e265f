import type { DesiredUpdates } from '@reeve/contract'
import type { Paint, TextStyle } from '../output/style.ts'

/** Texts for the updates of a group, ordered by importance. */
const UPDATE_TEXTS: readonly (readonly [
  field: keyof DesiredUpdates,
  word: string,
  tone: TextStyle,
])[] = [
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

interface UpdatesOptions {
  readonly paint: Paint
  /** Placement failures, which are reported separately. */
  readonly unplaced: number
}

/** Formats the updates of a group; empty if all of its allocations fail to be placed. */
export function formatUpdates(
  name: string,
  updates: DesiredUpdates,
  { paint, unplaced }: UpdatesOptions,
): readonly string[] {
  const placed = subtractUnplaced(updates, unplaced)
  const parts = UPDATE_TEXTS.filter(([field]) => placed[field] > 0).map(([field, word, tone]) =>
    paint(tone, `${placed[field]} ${word}`),
  )
  if (parts.length === 0 && unplaced > 0) return []
  return [`Group "${name}": ${parts.length === 0 ? 'nothing to do' : parts.join(', ')}.`]
}

/** Fields that include placement failures, in the order in which they are subtracted. */
const PLACEMENT_FIELDS = ['Place', 'Canary', 'Migrate', 'DestructiveUpdate'] as const

/** Subtracts placement failures: the API counts all intended placements. */
function subtractUnplaced(updates: DesiredUpdates, unplaced: number): DesiredUpdates {
  const placed = { ...updates }
  let remaining = unplaced
  for (const field of PLACEMENT_FIELDS) {
    const subtracted = Math.min(remaining, updates[field])
    placed[field] -= subtracted
    remaining -= subtracted
  }
  // Reschedules are included in the placements.
  return { ...placed, RescheduleNow: Math.min(placed.Place, placed.RescheduleNow) }
}

/** Whether there are updates besides ignored allocations. */
export function hasUpdates(updates: DesiredUpdates): boolean {
  return UPDATE_TEXTS.some(([field]) => field !== 'Ignore' && updates[field] > 0)
}
