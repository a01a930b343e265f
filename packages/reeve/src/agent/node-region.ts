import { GLOBAL_REGION } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from './log.ts'
import type { AgentStorage } from './store/storage.ts'

interface NodeRegionOptions {
  /** Region from the configuration. */
  readonly configured: string
  readonly storage: Pick<AgentStorage, 'saveRegion'>
  readonly log: Logger
}

/** Region of the node: the configured one, otherwise that of its servers. */
export class NodeRegion {
  readonly #options: NodeRegionOptions
  #serverRegion: string | undefined

  constructor(options: NodeRegionOptions) {
    this.#options = options
  }

  /** The configured region; undefined for the default one. */
  get configured(): string | undefined {
    const { configured: region } = this.#options
    return region === GLOBAL_REGION ? undefined : region
  }

  get effective(): string {
    return this.configured ?? this.#serverRegion ?? GLOBAL_REGION
  }

  /** Loads the region that the servers sent to the previous agent. */
  restore(region: string | undefined): void {
    this.#serverRegion = region
  }

  /**
   * Stores the region: tasks are recovered before a server is reached, and templates that render
   * another region until then would restart them.
   */
  onWelcome(region: string | undefined): void {
    if (region === undefined || region === this.#serverRegion) return
    this.#serverRegion = region
    const { storage, log } = this.#options
    storage.saveRegion(region).catch((thrown: unknown) => {
      log.error({ err: errorMessage(thrown) }, 'the region of the servers could not be kept')
    })
  }
}
