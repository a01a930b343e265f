import { Fault } from '@reeve/kit/fault.ts'
import { areAdjacentMinors, minorVersionOf as minorOf } from '@reeve/kit/release.ts'
import { membersOf } from './roll.ts'
import type { RollEntry, RollFound, RollStore } from './roll-store.ts'

/**
 * Rejects with a Fault where a server of the cluster is more than one minor version away: adjacent
 * versions only are tested together (docs/explanation/compatibility-promise.md).
 */
export async function assertAdjacentVersions(roll: RollStore, own: RollEntry): Promise<void> {
  // A version that is not of a release cannot be compared, as in the simulation.
  if (minorOf(own.build) === undefined) return
  const conflict = distantMember(own, await roll.read())
  if (conflict === undefined) return
  throw new Fault(
    'server-version',
    `The server ${conflict.name} of this cluster runs Reeve ${conflict.build}, and this one is ` +
      `${own.build}: servers of one cluster are at most one minor version apart. ` +
      nextStep(own.build, conflict.build),
  )
}

/** A server that is alive and whose version does not work together with the own one. */
function distantMember(own: RollEntry, found: readonly RollFound[]) {
  return membersOf({ own, found, leader: '' }).find(
    ({ status, address, build }) =>
      status !== 'left' &&
      status !== 'failed' &&
      address !== own.address &&
      !areAdjacent(own.build, build),
  )
}

/** A version that is not of a release is not compared. */
export function areAdjacent(a: string, b: string): boolean {
  const [one, other] = [minorOf(a), minorOf(b)]
  return one === undefined || other === undefined || areAdjacentMinors(one, other)
}

function nextStep(own: string, other: string): string {
  const [from, to] = [minorOf(own), minorOf(other)]
  if (from === undefined || to === undefined || from.major !== to.major)
    return 'Upgrade one minor version at a time.'
  const between = from.minor < to.minor ? to.minor - 1 : to.minor + 1
  return from.minor < to.minor
    ? `Start version ${to.major}.${between} or ${to.major}.${to.minor} here.`
    : `Upgrade all servers to ${to.major}.${between} first.`
}
