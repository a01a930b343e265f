import type { Clock, IdSource, Random } from '../kit/clock.ts'
import type { Store } from '../state/index.ts'
import type { Sealer } from './sealer.ts'

/** What every use case may use. Made once by the composition root. */
export interface WorkloadContext {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  readonly sealer: Sealer
  readonly region: string
  readonly aclEnabled: boolean
  /** What lets an unknown node in (architecture §9). */
  readonly joinToken: string
  /** Reads the operator's bootstrap reset file; undefined when there is none (reference §6.2). */
  readonly readBootstrapReset: () => Promise<string | undefined>
}
