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

/** `Group "web": 2 started, 1 left as they are.` */
export function updatesText(name: string, updates: DesiredUpdates, paint: Paint): string {
  const parts = WORDS.filter(([field]) => updates[field] > 0).map(([field, word, tone]) =>
    paint(tone, `${updates[field]} ${word}`),
  )
  return `Group "${name}": ${parts.length === 0 ? 'nothing to do' : parts.join(', ')}.`
}

/** Whether anything happens at all. */
export function isChanging(updates: DesiredUpdates): boolean {
  return WORDS.some(([field]) => field !== 'Ignore' && updates[field] > 0)
}
