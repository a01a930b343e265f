import type { DesiredUpdates } from '@reeve/contract'
import { NO_UPDATES } from './outcome.ts'
import type { PlacementCause } from './reconcile/placement.ts'
import { STOP_DESCRIPTIONS } from './reconcile/reasons.ts'
import type { ReconcileResult } from './reconcile/reconcile-group.ts'

/** Counts the changes to the allocations of a group by kind. */
export function desiredUpdates(changes: ReconcileResult): DesiredUpdates {
  const { placements, stops, inPlaceUpdates, rescheduleLater, ignoredCount } = changes
  const counts = new Map<PlacementCause, number>()
  for (const { cause } of placements) counts.set(cause, (counts.get(cause) ?? 0) + 1)
  const count = (...causes: readonly PlacementCause[]): number =>
    causes.reduce((sum, why) => sum + (counts.get(why) ?? 0), 0)
  const migrateCount = stops.filter((entry) => entry.reason === STOP_DESCRIPTIONS.migrating).length
  return {
    ...NO_UPDATES,
    Ignore: ignoredCount,
    Place: count('missing', 'lost', 'failed', 'stranded'),
    Migrate: migrateCount,
    Stop: stops.length - migrateCount,
    InPlaceUpdate: inPlaceUpdates.length,
    DestructiveUpdate: count('destructive'),
    Canary: count('canary'),
    Disconnect: changes.disconnecting.length,
    Reconnect: changes.reconnected.length,
    RescheduleNow: count('failed', 'stranded'),
    RescheduleLater: rescheduleLater.length + changes.disconnectReplaceLater.length,
  }
}
