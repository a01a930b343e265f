import type { GovernanceContext } from '../../governance/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'

/** Dependencies of reads that wait for a row. */
export interface WaitHost {
  readonly context: GovernanceContext
  /** Ends waiting reads when the server stops. */
  readonly lifecycle: Lifecycle
  readonly parked: ParkedQueries
}

export interface RowWait {
  readonly tenant: string
  readonly seconds: number
  readonly isOver: () => boolean
}

/** Waits for changes of a row until the condition holds or the time is up. */
export async function waitForRow(
  { lifecycle, parked }: WaitHost,
  target: WatchTarget,
  { tenant, seconds, isOver }: RowWait,
): Promise<void> {
  if (isOver()) return
  const hold = lifecycle.hold()
  try {
    await parked.waitForIndex(tenant, { minIndex: 1, wait: `${seconds}s` }, hold, {
      index: () => (isOver() ? 2 : 1),
      watch: [target],
    })
  } finally {
    lifecycle.release(hold)
  }
}
