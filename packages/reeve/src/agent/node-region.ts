import { GLOBAL_REGION } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Log } from './log.ts'
import type { AgentStorage } from './store/storage.ts'

interface NodeRegionOptions {
  /** What the operator set. */
  readonly setting: string
  readonly storage: Pick<AgentStorage, 'keepRegion'>
  readonly log: Log
}

/** Where a node is: in the region that it was told, else in the one of its servers. */
export class NodeRegion {
  readonly #options: NodeRegionOptions
  #ofServers: string | undefined

  constructor(options: NodeRegionOptions) {
    this.#options = options
  }

  /** Most nodes are told none, and have the default one. */
  get told(): string | undefined {
    const { setting } = this.#options
    return setting === GLOBAL_REGION ? undefined : setting
  }

  get name(): string {
    return this.told ?? this.#ofServers ?? GLOBAL_REGION
  }

  /** What the servers told an agent before this one. */
  recall(region: string | undefined): void {
    this.#ofServers = region
  }

  /**
   * Kept: tasks are taken over before a server is reached, and templates that would tell another
   * region until then would restart them.
   */
  welcomed(region: string | undefined): void {
    if (region === undefined || region === this.#ofServers) return
    this.#ofServers = region
    const { storage, log } = this.#options
    storage.keepRegion(region).catch((thrown: unknown) => {
      log.error({ err: errorMessage(thrown) }, 'the region of the servers could not be kept')
    })
  }
}
