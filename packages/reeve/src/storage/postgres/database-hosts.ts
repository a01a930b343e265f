import type { DatabaseHost, DatabaseTarget } from './database-url.ts'

/**
 * Selects the host for new connections. All connections of a process share it: as soon as one has
 * found the primary, the others use it too.
 */
export class DatabaseHosts {
  readonly #hosts: DatabaseTarget['hosts']
  #position = 0

  constructor(hosts: DatabaseTarget['hosts']) {
    this.#hosts = hosts
  }

  get count(): number {
    return this.#hosts.length
  }

  get current(): DatabaseHost {
    return this.#hosts[this.#position] ?? this.#hosts[0]
  }

  /**
   * Switches to the next host after this one did not respond or is read-only, unless another
   * connection already switched.
   */
  tryNext(host: DatabaseHost): void {
    if (this.current === host) this.#position = (this.#position + 1) % this.#hosts.length
  }
}
