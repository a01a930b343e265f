import type { Round } from './round.ts'

/** A row that goes with others. */
export interface Member {
  readonly table: 'allocations' | 'evaluations' | 'deployments'
  readonly id: string
}

/** Rows that go together or not at all, and how far a collection is with them. */
export interface Bundle {
  readonly members: readonly Member[]
  /** How many have been looked at, and may go. */
  readonly checked: number
  readonly removed: number
}

export function newBundle(members: readonly Member[]): Bundle {
  return { members, checked: 0, removed: 0 }
}

/** All of it was removed, something of it is needed, or a later slice goes on from here. */
export type Collected = 'done' | 'needed' | Bundle

/**
 * Looks at every member first and removes them only when none is needed. A large bundle takes
 * several slices for either: what has ended does not begin again meanwhile.
 */
export function collectBundle(
  { slice }: Round,
  bundle: Bundle,
  isNeeded: (member: Member) => boolean,
): Collected {
  const { members } = bundle
  let { checked, removed } = bundle
  for (const member of members.slice(checked)) {
    if (!slice.hasRoom) return { members, checked, removed }
    slice.decode()
    if (isNeeded(member)) return 'needed'
    checked += 1
  }
  for (const member of members.slice(removed)) {
    if (!slice.hasRoom) return { members, checked, removed }
    slice.remove(member.table, member.id)
    removed += 1
  }
  return 'done'
}

/** Removes each member that may go, whatever becomes of the others. */
export function collectEach(
  { slice }: Round,
  bundle: Bundle,
  mayGo: (member: Member) => boolean,
): Collected {
  let { checked } = bundle
  for (const member of bundle.members.slice(checked)) {
    if (!slice.hasRoom) return { ...bundle, checked }
    slice.decode()
    if (mayGo(member)) slice.remove(member.table, member.id)
    checked += 1
  }
  return 'done'
}
