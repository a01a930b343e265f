import type { Clock, Random } from '@reeve/kit/clock.ts'
import type { CoreReservations } from './core-reservations.ts'
import type { TaskDriver } from './driver.ts'
import type { Log } from './log.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { Migrations } from './migrate/migrations.ts'
import type { AllocationNetworks } from './network/allocation-network.ts'
import type { NodeFacts } from './node-facts.ts'
import type { CatalogClient } from './services/catalog-client.ts'
import type { NodeServices } from './services/node-services.ts'
import type { AgentStore } from './store/store.ts'
import type { Workspace } from './store/workspace.ts'
import type { TaskHookSource } from './task/task-hook.ts'
import type { Slots } from './wait.ts'

/** What every runner of this agent shares. */
export interface AgentHost {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly store: AgentStore
  readonly workspace: Workspace
  readonly drivers: ReadonlyMap<string, TaskDriver>
  readonly taskHooks: readonly TaskHookSource[]
  readonly starts: Slots
  /** For steps that take long with a large job. */
  readonly turns: LoopTurns
  /** Below this the drivers keep their records. */
  readonly recordsDir: string
  readonly bootId: string
  /** The longest that a task may ask for between kill signal and forced end. */
  readonly killTimeoutMsMax: number
  /** What templates may ask the servers for. */
  readonly catalog?: CatalogClient
  /** Cores that allocations have for themselves. */
  readonly cores?: CoreReservations
  /** Registers services and runs their checks. */
  readonly services?: NodeServices
  /** Networks of allocations; undefined on a node that has only its own. */
  readonly networks?: AllocationNetworks
  /** Data of allocations that other nodes had; undefined where no server is asked for any. */
  readonly migrations?: Migrations
  /** The node as last fingerprinted. */
  node(): NodeFacts
  /** Settles when a server has said what this node should run. */
  readonly serverContact: Promise<void>
}
