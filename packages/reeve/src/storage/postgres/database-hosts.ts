import type { DatabaseHost, DatabaseTarget } from './database-url.ts'

/**
 * Which of several hosts new connections go to. All connections of a process share it: as soon as
 * one of them has found the primary, the others go there too.
 */
export class DatabaseHosts {
  readonly #hosts: DatabaseTarget['hosts']
  #at = 0

  constructor(hosts: DatabaseTarget['hosts']) {
    this.#hosts = hosts
  }

  get count(): number {
    return this.#hosts.length
  }

  get current(): DatabaseHost {
    return this.#hosts[this.#at] ?? this.#hosts[0]
  }

  /** A host did not answer, or takes no writes: the next one is tried, unless others moved on. */
  leave(host: DatabaseHost): void {
    if (this.current === host) this.#at = (this.#at + 1) % this.#hosts.length
  }
}
