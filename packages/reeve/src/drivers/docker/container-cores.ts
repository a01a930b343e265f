import { Fault } from '@reeve/kit/fault.ts'
import { isSuccess, errorMessageOf, type EngineClient } from './engine-client.ts'

interface ContainerCoresOptions {
  readonly engine: EngineClient
  /** Number of cores of the machine. */
  readonly coreCount: number
  /** Podman has its own API to update running containers. */
  isPodman(): boolean
}

/** Keeps containers without reserved cores off the reserved ones. */
export class ContainerCores {
  readonly #options: ContainerCoresOptions
  /** Last cores of each container by ID; empty: any; undefined: unknown. */
  readonly #coresByContainer = new Map<string, string | undefined>()
  /** Undefined until the agent sets it: containers stay where they are. */
  #sharedCores: string | undefined
  /** Changes are serialized. */
  #lastChange: Promise<void> = Promise.resolve()

  constructor(options: ContainerCoresOptions) {
    this.#options = options
  }

  /** As `TaskDriver.shareCores`. */
  setSharedCores(cores: readonly number[]): Promise<void> {
    this.#sharedCores = cores.join(',')
    return this.apply()
  }

  /**
   * Adds a container without reserved cores and its current cores; undefined: an earlier agent
   * started it.
   */
  add(id: string, cores: readonly number[] | undefined): Promise<void> {
    this.#coresByContainer.set(id, cores?.join(','))
    return this.apply()
  }

  delete(id: string): void {
    this.#coresByContainer.delete(id)
  }

  /** Updates containers with other cores; an unavailable engine is retried with the next change. */
  apply(): Promise<void> {
    const next = this.#lastChange.then(() => this.#moveAll())
    this.#lastChange = next.catch(() => undefined)
    return next
  }

  async #moveAll(): Promise<void> {
    for (const [id, cores] of this.#coresByContainer) {
      const sharedCores = this.#sharedCores
      if (sharedCores !== undefined && cores !== sharedCores) await this.#move(id, sharedCores)
    }
  }

  async #move(id: string, cores: string): Promise<void> {
    const { engine, coreCount } = this.#options
    // Engines interpret an empty string as no change.
    const cpus = cores === '' ? `0-${coreCount - 1}` : cores
    const call = this.#options.isPodman()
      ? { path: `/libpod/containers/${id}/update`, body: { cpu: { cpus } } }
      : { path: `/containers/${id}/update`, body: { CpusetCpus: cpus } }
    const response = await engine.call({ method: 'POST', ...call })
    if (!isSuccess(response) && response.status !== 404) {
      throw new Fault(
        'engine',
        `a container was not moved to other cores: ${errorMessageOf(response)}`,
      )
    }
    // Unless the container has ended meanwhile.
    if (this.#coresByContainer.has(id)) this.#coresByContainer.set(id, cores)
  }
}
