import type { Clock, Random } from '@reeve/kit/clock.ts'
import type { CoreReservations } from './core-reservations.ts'
import type { TaskDriver } from './driver.ts'
import type { Logger } from './log.ts'
import type { EventLoopBudget, Semaphore } from './timing.ts'
import type { IncomingMigrations } from './migrate/migrations.ts'
import type { NetworkManager } from './network/allocation-network.ts'
import type { NodeInfo } from './node-info.ts'
import type { CatalogClient } from './services/catalog-client.ts'
import type { NodeServices } from './services/node-services.ts'
import type { AgentStore } from './store/agent-store.ts'
import type { Workspace } from './store/workspace.ts'
import type { TaskHookOrFactory } from './task/task-hook.ts'

/** Dependencies that all runners of this agent share. */
export interface AgentContext {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: AgentStore
  readonly workspace: Workspace
  readonly drivers: ReadonlyMap<string, TaskDriver>
  readonly taskHooks: readonly TaskHookOrFactory[]
  readonly startSlots: Semaphore
  /** Limits the work on large jobs per event loop iteration. */
  readonly loopBudget: EventLoopBudget
  /** Directory in which the drivers keep their records. */
  readonly recordsDir: string
  readonly bootId: string
  /** Upper limit of `kill_timeout`, from kill signal to SIGKILL. */
  readonly killTimeoutMaxMs: number
  /** Catalog of services and variables for templates. */
  readonly catalog?: CatalogClient
  /** Cores that allocations have for themselves. */
  readonly coreReservations?: CoreReservations
  /** Registers services and runs their checks. */
  readonly services?: NodeServices
  /** Creates allocation networks; undefined if the node only has its own network. */
  readonly networks?: NetworkManager
  /** Data migrations from other nodes; undefined if no server can be asked for data. */
  readonly migrations?: IncomingMigrations
  /** The node as last fingerprinted. */
  nodeInfo(): NodeInfo
  /** Resolves when a server has sent the complete list of desired allocations. */
  readonly firstServerContact: Promise<void>
}
