import type { GovernanceContext } from '../../governance/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { GracefulShutdown } from '../lifecycle.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'

/** Dependencies of reads that wait for a row. */
export interface WaitDeps {
  readonly context: GovernanceContext
  /** Ends waiting reads when the server stops. */
  readonly lifecycle: GracefulShutdown
  readonly parked: ParkedQueries
}

export interface RowWait {
  readonly tenant: string
  readonly seconds: number
  readonly isDone: () => boolean
}

/** Waits for changes of a row until the condition holds or the time is up. */
export async function waitForRow(
  { lifecycle, parked }: WaitDeps,
  target: WatchTarget,
  { tenant, seconds, isDone }: RowWait,
): Promise<void> {
  if (isDone()) return
  const handle = lifecycle.openHandle()
  try {
    await parked.waitForIndex(tenant, { minIndex: 1, wait: `${seconds}s` }, handle, {
      index: () => (isDone() ? 2 : 1),
      watch: [target],
    })
  } finally {
    lifecycle.release(handle)
  }
}
