/**
 * Who belongs to the cluster: each server signs a roll in the same storage as the log, again and
 * again. Times are the storage's. One shared suite (test/suites/roll-store.ts) holds every
 * implementation to these comments. Faults are the storage's.
 */
export interface RollStore {
  /**
   * Notes a server as of now, and forgets whom it stands for: whoever had its address, whoever had
   * its name and has left or failed, and whoever nobody has heard of for `forgetMs`.
   */
  sign(entry: RollEntry, limits: RollLimits): Promise<void>

  /**
   * Marks the servers of this name that have left or failed as left, or removes them with `prune`.
   * Servers that are alive are not changed.
   */
  retire(name: string, retirement: Retirement): Promise<void>

  /** Every server that is noted, in any order. */
  read(): Promise<readonly RollFound[]>
}

export interface Retirement extends Pick<RollLimits, 'failedMs'> {
  readonly prune: boolean
}

/** A server as it tells of itself. */
export interface RollEntry {
  /** One process: a server that starts again is another. */
  readonly id: string
  readonly name: string
  /** `host:port` where the others reach it over HTTP. */
  readonly address: string
  readonly region: string
  readonly datacenter: string
  /** The version of its program. */
  readonly build: string
  readonly state: RollState
}

export const ROLL_STATES = ['serving', 'leaving', 'left'] as const
export type RollState = (typeof ROLL_STATES)[number]

export interface RollFound extends RollEntry {
  /** Since it signed last, as of the answer. */
  readonly silentMs: number
}

export interface RollLimits {
  /** Who is silent for longer has failed. */
  readonly failedMs: number
  /** Who is silent for longer is forgotten. */
  readonly forgetMs: number
}
