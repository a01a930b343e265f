import type { RollEntry, RollFound, RollLimits } from './roll-store.ts'

export interface RollSettings extends RollLimits {
  /** Between two signatures: several fit into the time after which a server has failed. */
  readonly signMs: number
}

/** A day is long enough for whoever looks what became of a server, as in peers. */
export const ROLL: RollSettings = { signMs: 1_000, failedMs: 5_000, forgetMs: 24 * 3_600_000 }

/** A server of the cluster as another one sees it. */
export interface Member extends Omit<RollEntry, 'id' | 'state'> {
  readonly status: 'alive' | 'leaving' | 'left' | 'failed'
  readonly isLeader: boolean
}

/** Reports whether `text` names a server, with or without its region. */
export function isNamed({ name, region }: Pick<Member, 'name' | 'region'>, text: string): boolean {
  return text === name || text === `${name}.${region}`
}

export interface MembersView {
  /** The server that tells; it knows better than the roll how it is. */
  readonly own: RollEntry
  /** The roll as it was read last. */
  readonly found: readonly RollFound[]
  /** `host:port`; empty when nobody leads. */
  readonly leader: string
}

/** Every server of the cluster, by name. */
export function membersOf(
  { own, found, leader }: MembersView,
  { failedMs }: Pick<RollLimits, 'failedMs'> = ROLL,
): readonly Member[] {
  // Its own address on the roll is its own, or that of a process before it.
  const others = found.filter(({ id, address }) => id !== own.id && address !== own.address)
  return [{ ...own, silentMs: 0 }, ...others]
    .map(({ id: _id, state, silentMs, ...entry }): Member => {
      const isSilent = silentMs > failedMs
      const status = state === 'left' ? 'left' : isSilent ? 'failed' : STATUS[state]
      return { ...entry, status, isLeader: leader !== '' && entry.address === leader }
    })
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.address, b.address))
}

const STATUS = { serving: 'alive', leaving: 'leaving' } as const

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
