import type { DesiredUpdates } from '@reeve/contract'
import { NO_UPDATES } from './outcome.ts'
import type { PlacementReason } from './reconcile/placement.ts'
import { REASONS } from './reconcile/reasons.ts'
import type { GroupChanges } from './reconcile/reconcile-group.ts'

/** What happens to the allocations of a group, in numbers. */
export function desiredUpdates(changes: GroupChanges): DesiredUpdates {
  const { place, stop, update, later, ignored } = changes
  const counts = new Map<PlacementReason, number>()
  for (const { why } of place) counts.set(why, (counts.get(why) ?? 0) + 1)
  const count = (...whys: readonly PlacementReason[]): number =>
    whys.reduce((sum, why) => sum + (counts.get(why) ?? 0), 0)
  const migrating = stop.filter((entry) => entry.reason === REASONS.migrating).length
  return {
    ...NO_UPDATES,
    Ignore: ignored,
    Place: count('missing', 'lost', 'failed', 'stranded'),
    Migrate: migrating,
    Stop: stop.length - migrating,
    InPlaceUpdate: update.length,
    DestructiveUpdate: count('destructive'),
    Canary: count('canary'),
    Disconnect: changes.disconnect.length,
    Reconnect: changes.reconnect.length,
    RescheduleNow: count('failed', 'stranded'),
    RescheduleLater: later.length + changes.strandedLater.length,
  }
}
