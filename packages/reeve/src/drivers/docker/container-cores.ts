import { Fault } from '@reeve/kit/fault.ts'
import { isSuccess, refusalText, type Engine } from './engine.ts'

interface ContainerCoresOptions {
  readonly engine: Engine
  /** Of the machine. */
  readonly coreCount: number
  /** Podman changes running containers by an API of its own. */
  isPodman(): boolean
}

/** Keeps containers that have no cores of their own off those that other tasks have reserved. */
export class ContainerCores {
  readonly #options: ContainerCoresOptions
  /** The cores that each container was last given, by its id; empty: any; undefined: unknown. */
  readonly #containers = new Map<string, string | undefined>()
  /** Undefined until the agent says it: containers stay where they are. */
  #wanted: string | undefined
  /** Changes are applied one after the other. */
  #applied: Promise<void> = Promise.resolve()

  constructor(options: ContainerCoresOptions) {
    this.#options = options
  }

  /** As `TaskDriver.shareCores`. */
  set(cores: readonly number[]): Promise<void> {
    this.#wanted = cores.join(',')
    return this.apply()
  }

  /** A container without cores of its own runs on these; undefined: an agent before started it. */
  add(id: string, cores: readonly number[] | undefined): Promise<void> {
    this.#containers.set(id, cores?.join(','))
    return this.apply()
  }

  delete(id: string): void {
    this.#containers.delete(id)
  }

  /** Moves each container that is elsewhere; an engine that is away is asked again next time. */
  apply(): Promise<void> {
    const next = this.#applied.then(() => this.#moveAll())
    this.#applied = next.catch(() => undefined)
    return next
  }

  async #moveAll(): Promise<void> {
    for (const [id, cores] of this.#containers) {
      const wanted = this.#wanted
      if (wanted !== undefined && cores !== wanted) await this.#move(id, wanted)
    }
  }

  async #move(id: string, cores: string): Promise<void> {
    const { engine, coreCount } = this.#options
    // Engines take an empty text for no change.
    const cpus = cores === '' ? `0-${coreCount - 1}` : cores
    const call = this.#options.isPodman()
      ? { path: `/libpod/containers/${id}/update`, body: { cpu: { cpus } } }
      : { path: `/containers/${id}/update`, body: { CpusetCpus: cpus } }
    const answer = await engine.call({ method: 'POST', ...call })
    if (!isSuccess(answer) && answer.status !== 404) {
      throw new Fault('engine', `a container was not moved to other cores: ${refusalText(answer)}`)
    }
    // Unless it has ended meanwhile.
    if (this.#containers.has(id)) this.#containers.set(id, cores)
  }
}
